"""Times on the page: in which zone they are shown and typed, and what may be typed as one."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from tests.page.parts import hits, parameters, ready, tab
from tests.page.stub_lines import PAYMENT
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched

pytestmark = pytest.mark.process
BERLIN = "Europe/Berlin"
BERLIN_11_MS = int(datetime(2026, 11, 28, 11, tzinfo=ZoneInfo(BERLIN)).timestamp() * 1000)


def clock(time_ms: int, zone: str) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, tz=UTC).astimezone(ZoneInfo(zone)):%H:%M:%S}"


def type_range(page: Page, since: str, until: str = "") -> None:
    """Type both ends of the range, and apply them."""
    page.get_by_role("group", name="Time range").locator("summary").click()
    page.get_by_label("From", exact=True).fill(since)
    page.get_by_label("To", exact=True).fill(until)
    page.get_by_role("button", name="Apply").click()


def test_the_zone_is_shown_and_what_is_chosen_holds_on_every_tab_and_after_a_reload(world: StubWorld, watched: Watched) -> None:
    last_ms = max(line.time for line in world.lines if line.service == PAYMENT.service)
    page = watched.open(f"{world.url}/?since=all", context=watched.context(zone="Asia/Kolkata"))
    declined = hits(page).filter(has_text="was declined by the bank")
    switch = page.get_by_role("button", name="Times are in")
    expect(switch).to_have_text("UTC+5:30")
    expect(declined).to_contain_text(f"last seen {clock(last_ms, 'Asia/Kolkata')}")
    expect(page.get_by_role("region", name="Lines over time")).to_contain_text("UTC+5:30")
    switch.click()
    expect(switch).to_have_text("UTC")
    expect(declined).to_contain_text(f"last seen {clock(last_ms, 'UTC')}")
    page.reload()
    expect(declined).to_contain_text(f"last seen {clock(last_ms, 'UTC')}")
    type_range(page, "2026-11-28 11:00")
    expect(page).to_have_url(re.compile(f"since={BERLIN_11_MS + 3_600_000}"))
    tab(page, "Live")
    ready(watched, page, "Live")
    expect(page.get_by_role("log").get_by_role("listitem").last).to_contain_text(clock(world.lines[-1].time, "UTC"))


@pytest.mark.parametrize(
    ("since", "until", "asked"),
    [
        ("-3h", "", ["3h", ""]),
        ("now-3h", "now", ["3h", ""]),
        ("15m", "-5m", ["15m", "5m"]),
        ("2026-11-28 11:00", "2026-11-28T10:30Z", [str(BERLIN_11_MS), str(BERLIN_11_MS + 30 * 60_000)]),
        ("", "2026-11-28 11:00", ["all", str(BERLIN_11_MS)]),
    ],
)
def test_a_span_or_a_time_is_typed_into_the_range(since: str, until: str, asked: list[str], world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/", context=watched.context(zone=BERLIN))
    type_range(page, since, until)
    expect(page).to_have_url(re.compile("since="))
    found = parameters(page)
    assert [found["since"][0], found.get("until", [""])[0]] == asked


def test_what_is_no_time_is_said_and_a_link_to_a_span_says_when_it_was(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/")
    type_range(page, "yesterday")
    expect(page.get_by_role("alert").filter(has_text="Not a time: write -3h")).to_be_visible()
    page.get_by_label("From", exact=True).fill("2026-11-28 11:00")
    page.get_by_label("To", exact=True).fill("2026-11-28 10:00")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("alert").filter(has_text="It ends before it begins.")).to_be_visible()
    page.get_by_label("From", exact=True).fill("-3h")
    page.get_by_label("To", exact=True).fill("")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("group", name="Time range").locator("summary")).to_have_text("in the last 3 hours")
    watched.settle(page)  # an answer that comes later has the status line
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    assert re.search(r"since=\d{13}&until=\d{13}$", page.evaluate("navigator.clipboard.readText()"))
