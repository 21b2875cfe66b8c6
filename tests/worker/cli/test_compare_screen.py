"""`vectail counts --compare`: which spans are asked for, and what a person sees of the answer."""

from collections.abc import Callable

import pytest

from tests.worker.cli.conftest import NewScreen
from worker.cli.compare_screen import show_compared
from worker.cli.exits import CommandFailed
from worker.cli.question_options import compared

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
NOW_MS = 1_795_000_000_000


def group(service: str, change: str, lines: int, before: int, ratio: float | None) -> dict[str, object]:
    return {"service": service, "change": change, "lines": lines, "before": before, "ratio": ratio, "first": 0, "last": 0}


@pytest.fixture
def told(new_screen: NewScreen) -> Callable[..., list[str]]:
    def show(*groups: dict[str, object], **more: object) -> list[str]:
        screen, written = new_screen(80)
        show_compared(screen, {"compare": [*groups], "totals": {"lines": 0, "before": 0}, "complete": True, **more}, "service")
        return written.getvalue().splitlines()

    return show


def test_each_value_has_both_numbers_and_what_became_of_it(told: Callable[..., list[str]]) -> None:
    rows = told(
        group("payments", "up", 2_000, 200, 10.0),
        group("", "new", 4, 0, None),
        group("mailer", "gone", 0, 9, 0.0),
        group("shop", "same", 5, 5, 1.0),
    )
    assert [row.split() for row in rows if row.split()[0] in ("payments", "-", "mailer", "shop")] == [
        ["payments", "2,000", "200", "↑", "10", "times"],
        ["-", "4", "0", "new"],
        ["mailer", "0", "9", "gone"],
        ["shop", "5", "5", "1", "times"],
    ]


def test_why_there_is_nothing_to_compare_is_said(told: Callable[..., list[str]]) -> None:
    assert told(begins_ms=NOW_MS) == ["The index begins at 2026-11-18T11:06:40.000Z: too late to compare with."]
    assert told(complete=False) == [
        "Neither span has lines, or none that the filters leave.",
        "The count is incomplete: a limit or the time-out cut it short.",
    ]


@pytest.mark.parametrize(
    ("filters", "span", "since_ms", "until_ms"),
    [
        ({}, "1d", NOW_MS - DAY_MS, NOW_MS),
        ({"since_ms": NOW_MS - HOUR_MS}, "1d", NOW_MS - HOUR_MS, NOW_MS),
        ({"since_ms": 5, "until_ms": 9}, "7d", 5, 9),
    ],
)
def test_the_window_is_compared_with_itself_so_long_before(
    filters: dict[str, object], span: str, since_ms: int, until_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: NOW_MS / 1000)
    span_ms = (7 if span == "7d" else 1) * DAY_MS
    asked = compared({**filters, "level": ["ERROR"]}, span)
    assert asked == {
        "filters": {"level": ["ERROR"], "since_ms": since_ms, "until_ms": until_ms},
        "compare": {"since_ms": since_ms - span_ms, "until_ms": until_ms - span_ms},
    }


@pytest.mark.parametrize(
    ("span", "reason"),
    [("soon", "--compare 'soon' is not a time"), ("2999-01-01", "--compare needs a span"), ("0s", "--compare needs a span")],
)
def test_what_is_no_span_is_refused(span: str, reason: str) -> None:
    with pytest.raises(CommandFailed, match=reason):
        compared({}, span)
