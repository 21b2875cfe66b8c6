"""Moments and places as people write them."""

import pytest

from worker.asking.moments import moment_ms, shown_time, since_ms
from worker.asking.places import RecordPlace

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "ago_s"), [("90s", 90), ("15m", 900), ("1h", 3_600), ("1.5h", 5_400), ("7d", 604_800), ("2w", 1_209_600), ("0s", 0)]
)
def test_a_span_is_counted_back_from_now(text: str, ago_s: int) -> None:
    assert moment_ms(text, NOW_MS) == NOW_MS - ago_s * 1000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01", 0),
        ("1970-01-02T00:00", 86_400_000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01 00:00:01.5Z", 1_500),
        ("1969-12-31T23:59:59", -1_000),
    ],
)
def test_a_moment_is_utc_unless_it_says_otherwise_and_is_read_as_it_is_shown(text: str, ms: int) -> None:
    assert moment_ms(text, NOW_MS) == ms
    assert moment_ms(shown_time(ms), NOW_MS) == ms


@pytest.mark.parametrize("text", ["", "1", "1 hour", "yesterday", "-1h", "1h30m", "2026-13-01"])
def test_anything_else_is_refused_with_what_to_give(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time: give a span such as 90s, .* 2026-01-31T12:00$"):
        moment_ms(text, NOW_MS)
    with pytest.raises(ValueError, match=r"2026-01-31T12:00, or all$"):
        since_ms(text, NOW_MS)


def test_all_has_no_beginning_and_a_span_longer_than_time_begins_where_the_index_does() -> None:
    assert since_ms("all", NOW_MS) is None
    assert moment_ms("99999999999999999w", NOW_MS) == -(1 << 62)
    assert shown_time(-(1 << 62)) == str(-(1 << 62))


@pytest.mark.parametrize("place", [RecordPlace("logs", 0, 123), RecordPlace("a.b_c-d", 15, 10**17)])
def test_a_place_is_read_as_it_is_written(place: RecordPlace) -> None:
    assert RecordPlace.read(f" {place} ") == place


@pytest.mark.parametrize(
    "text", ["", "logs", "logs/0", "logs@3", "logs/0@", "logs/-1@3", "logs/0@3/4", "logs/0@1e3", "/0@3", "logs/0@" + "9" * 30]
)
def test_anything_else_is_no_place(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as logs/0@123$"):
        RecordPlace.read(text)
