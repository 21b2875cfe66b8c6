"""Values of `--since` and `--until`."""

import pytest

from worker.cli.exits import CommandFailed
from worker.cli.options import since_ms, until_ms

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "ago_s"), [("90s", 90), ("15m", 900), ("1h", 3_600), ("1.5h", 5_400), ("7d", 604_800), ("2w", 1_209_600), ("0s", 0)]
)
def test_a_span_is_counted_back_from_now(text: str, ago_s: int) -> None:
    assert since_ms(text, now_ms=NOW_MS) == NOW_MS - ago_s * 1000


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
def test_a_moment_is_utc_unless_it_says_otherwise(text: str, ms: int) -> None:
    assert since_ms(text, now_ms=NOW_MS) == ms


def test_all_has_no_beginning() -> None:
    assert since_ms("all", now_ms=NOW_MS) is None


@pytest.mark.parametrize("text", ["", "1", "1 hour", "yesterday", "-1h", "1h30m", "2026-13-01"])
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(CommandFailed, match=r"^--since .* give a span such as 90s") as failed:
        since_ms(text, now_ms=NOW_MS)
    assert failed.value.exit_code == 2


def test_a_span_longer_than_time_begins_where_the_index_does() -> None:
    assert since_ms("99999999999999999w", now_ms=NOW_MS) == -(1 << 62)


@pytest.mark.parametrize(("text", "ms"), [("1h", NOW_MS - 3_600_000), ("1970-01-01T00:00:01", 1_000)])
def test_until_is_said_the_same_way(text: str, ms: int) -> None:
    assert until_ms(text, now_ms=NOW_MS) == ms


@pytest.mark.parametrize("text", ["all", "now", ""])
def test_until_needs_an_end(text: str) -> None:
    with pytest.raises(CommandFailed, match=r"^--until .* give a span such as 90s, .* or a time such as 2026-01-31T12:00$") as failed:
        until_ms(text, now_ms=NOW_MS)
    assert failed.value.exit_code == 2
