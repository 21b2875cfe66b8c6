"""The live tail: lines appear as they are indexed, wait while it is paused, and are filtered by words."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.stub_lines import DISK, PAYMENT, REQUEST, raw_line
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched
from worker.querying.tail import FIRST_LINES

pytestmark = pytest.mark.process


def live(page: Page) -> Locator:
    return page.get_by_role("log", name="Live lines")


def connected(world: StubWorld, watched: Watched, more: str = "") -> Page:
    """Open the tab; return once it follows."""
    page = watched.open(f"{world.url}/?tab=live{more}")
    expect(page.locator("#view").get_by_role("status").first).to_contain_text(re.compile("Connected|Live"))
    return page


def test_new_lines_appear_by_themselves_and_a_click_opens_the_line(world: StubWorld, watched: Watched) -> None:
    page = connected(world, watched)
    (line,) = world.write(1, DISK, text="disk /dev/sdb1 is 99 % full, and nobody looks")
    expect(live(page)).to_contain_text("and nobody looks")
    live(page).get_by_role("listitem").filter(has_text="and nobody looks").get_by_role("link").first.click()
    expect(page.get_by_role("article").get_by_role("region", name="Text of the line")).to_have_text(line.text or "")
    expect(page).to_have_url(re.compile(re.escape(f"line={line.topic}%2F{line.partition}%40{line.offset}") + "$"))


def test_while_it_is_paused_lines_are_counted_and_shown_when_it_goes_on(world: StubWorld, watched: Watched) -> None:
    page = connected(world, watched)
    lines = live(page).get_by_role("listitem")
    expect(lines).to_have_count(FIRST_LINES)
    page.get_by_role("button", name="Pause").click()
    world.write(7, REQUEST)
    expect(page.get_by_role("button", name=re.compile("^7 new lines"))).to_be_visible()
    expect(lines).to_have_count(FIRST_LINES)
    page.get_by_role("button", name=re.compile("^7 new lines")).click()
    expect(lines).to_have_count(FIRST_LINES + 7)


def test_a_filter_by_words_lets_only_such_lines_pass(world: StubWorld, watched: Watched) -> None:
    page = connected(world, watched, "&q=declined&level=ERROR")
    world.write(3, REQUEST)
    world.write(1, PAYMENT, text="payment 4711 was declined at last")
    expect(live(page)).to_contain_text("4711")
    expect(live(page).get_by_role("listitem").filter(has_text="/cart/")).to_have_count(0)
    expect(live(page).locator("mark").filter(has_text="declined").first).to_be_visible()
    asked = world.asked_for("tail")[-1]
    assert (asked.text, asked.mode, asked.filters.level) == ("declined", "words", ["ERROR"])


def test_more_lines_than_the_page_keeps_are_bounded_and_told(world: StubWorld, watched: Watched) -> None:
    page = connected(world, watched)
    for _ in range(4):
        world.write(150, REQUEST)
        expect(live(page).get_by_role("listitem").last).to_contain_text(re.compile(re.escape(world.lines[-1].text or "")))
    expect(live(page).get_by_role("listitem")).to_have_count(500)
    expect(page.get_by_text("the newest 500 are kept here")).to_be_visible()


def test_of_lines_that_come_too_fast_all_errors_are_shown_and_of_the_others_the_rate_is_told(world: StubWorld, watched: Watched) -> None:
    page = connected(world, watched)
    with world.holding(lambda query: query.form == "tail"):
        world.wait_held()
        world.write(5, PAYMENT, text="refund failed for good")
        world.write(2_000, REQUEST)
    expect(live(page).get_by_role("listitem").last).to_contain_text(world.lines[-1].text or "")
    expect(live(page).get_by_role("listitem").filter(has_text="refund failed for good")).to_have_count(5)
    told = page.get_by_text("more came too fast")
    expect(told).to_contain_text(re.compile(r"1,8\d\d more came too fast; in the last minute shown: about 1 in \d+ of INFO.*; all ERROR"))


def test_lines_of_several_partitions_are_shown_by_their_time(world: StubWorld, watched: Watched) -> None:
    page = connected(world, watched)
    now_ms = max(line.time for line in world.lines)
    for number, (text, time_ms) in enumerate(
        (("third", now_ms + 300), ("first", now_ms + 100), ("second", now_ms + 200)), len(world.lines)
    ):
        world.store([raw_line(text, text, REQUEST, number, time_ms, {})])
        expect(live(page)).to_contain_text(text)
    expect(live(page).get_by_role("listitem").locator(".log").nth(-3)).to_have_text("first")
    expect(live(page).get_by_role("listitem").locator(".log").nth(-2)).to_have_text("second")
    expect(live(page).get_by_role("listitem").locator(".log").nth(-1)).to_have_text("third")


def test_an_outage_is_told_and_the_stream_goes_on_where_it_was(world: StubWorld, watched: Watched) -> None:
    watched.allow()
    watched.allow("ERR_")
    page = connected(world, watched)
    world.write(1, DISK, text="before the outage")
    expect(live(page)).to_contain_text("before the outage")
    with world.failing("unavailable", "the index does not answer"):
        expect(page.locator("#view").get_by_role("status").first).to_contain_text(re.compile("does not answer"))
        world.write(1, DISK, text="during the outage")
    world.write(1, DISK, text="after the outage")
    expect(live(page)).to_contain_text("after the outage")
    expect(live(page).get_by_role("listitem").filter(has_text="during the outage")).to_have_count(1)
    expect(live(page).get_by_role("listitem").filter(has_text="before the outage")).to_have_count(1)
    expect(page.locator("#view").get_by_role("status").first).not_to_contain_text("does not answer")


def test_a_screen_reader_is_not_told_every_line(world: StubWorld, watched: Watched) -> None:
    page = connected(world, watched)
    expect(live(page)).to_have_attribute("aria-live", "off")
