"""What a hit shows: its message, its service, chosen fields, whose time it is; opened, the line as it is, or as JSON."""

import json
import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from sinks.line import Line
from tests.page.parts import hit, hits, open_hit, parameters, status
from tests.page.stub_lines import DISK, PAYMENT, Kind, raw_line, shop_lines
from tests.page.stub_world import StubWorld
from tests.page.test_page_modules import call
from tests.page.watched import Watched

pytestmark = pytest.mark.process

CHARGE = Kind(("cannot charge card ending in {n}",), "billing", "ERROR")
FRAMES = [f"    at com.example.Charge.step{place}(Charge.java:{place})" for place in range(30)]
TRACE = "\n".join(["2026-11-28 17:31:30.660 ERROR billing: cannot charge card ending in 3972", *FRAMES])


def odd_lines(now_ms: int) -> list[Line]:
    """Return a stack trace with its head, and a line whose time is Kafka's."""
    trace = raw_line(TRACE, "cannot charge card ending in <num>", CHARGE, 5_000, now_ms - 2_000, {"duration_ms": 12.5, "host": "h1"})
    untimed = raw_line("parity error corrected", "parity error corrected", DISK, 5_002, now_ms - 1_000, {})
    return [trace, untimed._replace(kafka_time=untimed.time)]


HEADS = [
    ("2026-11-28 17:31:30.660 WARN gateway: TLS certificate expires", "WARN", "gateway", "TLS certificate expires"),
    ("2026-11-28T17:31:30Z\tinfo\tstarted", "INFO", "", "started"),
    ("[2026-11-28 17:31:30,660] [ERROR] [main] failed", "ERROR", "", "[main] failed"),
    ("INFO 2026-11-28 17:31:30 ready", "INFO", "", "ready"),
    ("Nov 28 17:31:30 sshd[42]: Failed password", "INFO", "sshd", "Failed password"),
    ("17:31:30.660 WARNING | slow", "WARN", "", "slow"),
    ("2026-11-28 17:31:30 - INFO - -5 degrees", "INFO", "", "-5 degrees"),
    ("ERROR: relation does not exist", "ERROR", "", "relation does not exist"),
    ("error reading the file", "ERROR", "", "error reading the file"),
    ("INFO is what it says", "ERROR", "", "INFO is what it says"),
    ("2026-11-28 17:31:30", "INFO", "", "2026-11-28 17:31:30"),
    ("10.0.0.1:8080 answers", "INFO", "", "10.0.0.1:8080 answers"),
    ("12:30:45Zulu and 2026-11-28 later", "INFO", "", "12:30:45Zulu and 2026-11-28 later"),
    ("gateway is gone", "WARN", "gateway", "gateway is gone"),
    (None, "INFO", "", None),
]
"""Texts with the level and the service that are shown beside them, and what is left."""


@pytest.fixture
def traced(fresh_world: Callable[..., StubWorld]) -> StubWorld:
    now_ms = int(time.time() * 1000)
    return fresh_world(lines=[*shop_lines(now_ms), *odd_lines(now_ms)])


def test_of_a_head_goes_what_is_shown_beside_it_and_nothing_else(world: StubWorld, watched: Watched) -> None:
    heads = "(await page('line_head')).withoutHead"
    script = (
        f"async (page, all) => {{ const left = {heads}; return all.map(([text, level, service]) => left(text, {{ level, service }})); }}"
    )
    assert call(watched, world, script, [row[:3] for row in HEADS]) == [row[3] for row in HEADS]


def test_a_stack_trace_keeps_its_lines_and_the_line_as_it_is_comes_with_a_click(traced: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{traced.url}/?since=all&level=ERROR")
    found = hit(page, "cannot charge card")
    opener = found.locator(".hit-line")
    expect(opener).to_have_text(re.compile("^cannot charge card ending in 3972\n +at com.*step0.*\n +at com.*step1.*28 more lines$"))
    expect(found.locator(".hit-meta")).to_contain_text("billing")
    whole = open_hit(page, "cannot charge card").get_by_role("region", name="Text of the line")
    expect(whole).to_have_text(re.compile(r"^2026-11-28 17:31:30\.660 ERROR billing: cannot charge"))
    expect(whole).not_to_contain_text("step19")
    whole.get_by_role("button", name="11 more lines").click()
    expect(whole).to_contain_text("step29")
    expect(whole.get_by_role("button")).to_have_count(0)


def test_a_line_is_shown_as_json_and_copied(traced: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{traced.url}/?since=all&q=cannot+charge+card")
    found = open_hit(page, "cannot charge card")
    found.get_by_role("button", name="JSON", exact=True).click()
    shown = found.get_by_role("region", name="The line as JSON")
    expect(found.get_by_role("region", name="Text of the line")).to_have_count(0)
    expect(found.get_by_role("table", name="Fields of the line")).to_have_count(0)
    assert json.loads(shown.inner_text())["fields"] == {"duration_ms": 12.5, "host": "h1"}
    found.get_by_role("button", name="Copy JSON").click()
    expect(status(page)).to_contain_text("Copied: Line as JSON.")
    assert json.loads(page.evaluate("navigator.clipboard.readText()")) == json.loads(shown.inner_text())
    found.get_by_role("button", name="JSON", exact=True).click()
    expect(found.get_by_role("region", name="Text of the line")).to_be_visible()


def test_long_lines_run_on_where_wrap_is_off_and_this_browser_remembers_it(traced: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{traced.url}/?since=all")
    line = hits(page).first.locator(".log").first
    expect(line).to_have_css("white-space-collapse", "preserve")
    expect(line).to_have_css("text-wrap-mode", "wrap")
    page.get_by_role("button", name="Wrap").click()
    expect(line).to_have_css("text-wrap-mode", "nowrap")
    page.reload()
    expect(page.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "false")
    expect(line).to_have_css("text-wrap-mode", "nowrap")


def test_a_field_that_is_chosen_stands_with_each_hit_and_in_the_link(traced: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{traced.url}/?since=all&q=cannot+charge+card")
    page.locator("summary", has_text="Fields").click()
    page.get_by_role("button", name="Show duration_ms with each hit").click()
    meta = hit(page, "cannot charge card").locator(".hit-meta")
    expect(meta).to_contain_text("duration_ms 12.5")
    assert parameters(page)["column"] == ["duration_ms"]
    watched.settle(page)
    asked = len(traced.asked)
    page.get_by_role("button", name="Show host with each hit").click()
    expect(meta).to_contain_text("host h1")
    watched.settle(page)
    assert len(traced.asked) == asked, "the hits have their fields"
    page.get_by_role("button", name="Show host with each hit").click()
    expect(meta).not_to_contain_text("host h1")
    page.goto(f"{traced.url}/?since=all&level=ERROR&column=http.response.status_code")
    expect(hit(page, "was declined").locator(".hit-meta")).to_contain_text(re.compile("http.response.status_code 50[23], 50[23]"))
    expect(hit(page, "cannot charge card").locator(".hit-meta")).not_to_contain_text("status_code")


def test_a_time_that_the_line_does_not_name_is_marked_as_kafka_s(traced: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{traced.url}/?since=all")
    mark = page.get_by_title("This is when it reached Kafka: the line names no time")
    expect(hit(page, "parity error corrected").locator(".hit-meta").get_by_title(re.compile("the line names no time"))).to_be_visible()
    expect(mark).to_have_count(1)
    found = open_hit(page, "parity error corrected")
    expect(found.get_by_role("row", name=re.compile("^time"))).to_contain_text("when it reached Kafka: the line names none")
    expect(found.get_by_role("region", name="Neighbours").get_by_title(re.compile("the line names no time"))).to_have_count(1)
    page.goto(f"{traced.url}/?tab=live")
    live = page.get_by_role("log", name="Live lines").get_by_role("listitem")
    expect(live.filter(has=mark)).to_have_text(re.compile("Kafka.*parity error corrected"))
    expect(live.filter(has_text="cannot charge").locator(".log").last).to_have_text(re.compile("^cannot charge card ending"))


def test_families_show_service_and_level_without_a_question(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&level=ERROR")
    found = hit(page, "was declined")
    expect(found.locator(".service")).to_have_text(PAYMENT.service)
    expect(found.locator(".level")).to_have_text("ERROR")


def test_a_family_that_is_listed_for_its_errors_opens_on_one(fresh_world: Callable[..., StubWorld], watched: Watched) -> None:
    now_ms = int(time.time() * 1000)
    error = raw_line("charge 1 ended", "charge <num> ended", CHARGE, 5_000, now_ms - 2_000, {})
    newer = raw_line("charge 2 ended", "charge <num> ended", CHARGE._replace(level="INFO"), 5_002, now_ms - 1_000, {})
    world = fresh_world(lines=[*shop_lines(now_ms), error, newer])
    page = watched.open(f"{world.url}/?since=all")
    expect(open_hit(page, "charge 1 ended").get_by_role("region", name="Text of the line")).to_have_text("charge 1 ended")
