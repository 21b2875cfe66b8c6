"""Whoever writes a log line writes nothing into the page: no script, no markup, no order of characters, no layout."""

import pytest
from playwright.sync_api import expect

from tests.page.hostile import CONTROLS, LONG, MARKS, SCRIPT, make_hostile
from tests.page.parts import TABS, hit, hits, opener, ready, tab
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched, sideways

pytestmark = pytest.mark.process


@pytest.mark.parametrize("width", [1280, 360])
def test_hostile_lines_are_text_wherever_they_are_shown(width: int, world: StubWorld, watched: Watched) -> None:
    make_hostile(world)
    page = watched.open(f"{world.url}/?since=15m&level=ERROR&k=20", width=width)
    expect(hit(page, SCRIPT[:30])).to_be_visible()
    watched.settle(page)
    for at in range(hits(page).count()):
        opener(hits(page).nth(at)).click()
        expect(hits(page).nth(at).get_by_role("region", name="Text of the line")).to_be_visible()
        expect(hits(page).nth(at).get_by_role("region", name="Neighbours").get_by_role("listitem").first).to_be_visible()
        watched.settle(page)
        assert sideways(page) <= 0, f"hit {at} makes the page wider than its window"
    expect(page.locator("#view script, #view img, #view iframe, #view object, #view [onerror], #view [onload]")).to_have_count(0)
    assert set(page.evaluate("[...document.querySelectorAll('a')].map((one) => new URL(one.href).origin)")) == {world.url}
    for name in TABS[1:]:
        tab(page, name)
        ready(watched, page, name)
        assert sideways(page) <= 0, f"the tab {name} is wider than its window"
        watched.picture(page, f"hostile-{name}-{width}")


def test_marks_that_turn_text_stay_inside_their_line_and_can_be_seen(world: StubWorld, watched: Watched) -> None:
    make_hostile(world)
    page = watched.open(f"{world.url}/?since=15m&q=admin+nested")
    line = hit(page, "user").first.locator(".hit-line bdi").first
    expect(line).to_contain_text("U+202E")
    expect(line).to_have_css("unicode-bidi", "isolate")
    watched.settle(page)
    assert "\u202e" not in page.locator("#view").inner_text()
    assert "\u202e" in MARKS


def test_control_characters_have_a_name(world: StubWorld, watched: Watched) -> None:
    make_hostile(world)
    page = watched.open(f"{world.url}/?since=15m&q=bell+escape")
    expect(hit(page, "bell").first).to_contain_text(r"\x1b[31mred")
    assert "\x1b" in CONTROLS


def test_sixty_kilobytes_without_a_space_are_cut_and_all_of_it_is_there_when_opened(world: StubWorld, watched: Watched) -> None:
    make_hostile(world)
    page = watched.open(f"{world.url}/?since=15m&level=ERROR&k=20")
    long = hit(page, "A" * 300)
    expect(long).to_contain_text("more characters")
    watched.settle(page)
    box = long.bounding_box()
    assert box is not None
    assert box["height"] < 400
    opener(long).click()
    text = long.get_by_role("region", name="Text of the line")
    expect(text).to_be_visible()
    watched.settle(page)
    assert len(text.inner_text()) >= len(LONG)
    opened = text.bounding_box()
    assert opened is not None
    assert opened["height"] < 900, "a long line pushes all else off the screen"
    assert sideways(page) <= 0
