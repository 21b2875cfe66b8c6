"""Where times begin and end in lines, of what kind they are, behind what they count, and that no text is read beyond its end."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import Column, null_column, string_column
from consumers.decode.found import NO_TIME
from consumers.decode.line_zones import NO_ZONE, UNSURE_ZONE
from consumers.decode.times import ACCESS, GLOG, NUMBER, OTHER, SYSLOG, find_times, iso_times
from tests.rows import rows

ISO = "2026-11-23T10:00:00Z"
ISO_MS = 1_795_428_000_000
DAY_MS = 86_400_000
ACCESS_TIME = "10/Oct/2000:13:55:36 -0700]"
MOST_BYTES = 127
"""How many bytes of a text are looked at."""


class Seen(NamedTuple):
    local_ms: int
    zone_min: int
    has_year: int
    start: int
    end: int
    kind: int


def find(column: Column) -> list[Seen]:
    times = find_times(column)
    assert [one.dtype for one in (times.end, times.start, times.kind)] == [np.uint8] * 3
    columns = (times.local_ms, times.zone_min, times.has_year, times.start, times.end, times.kind)
    return [Seen(*row) for row in zip(*(one.tolist() for one in columns), strict=True)]


def has_time(line: str) -> bool:
    return find(string_column([line]))[0].end > 0


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (f"{ISO} x", Seen(ISO_MS, 0, 1, 0, 20, OTHER)),
        (ISO, Seen(ISO_MS, 0, 1, 0, 20, OTHER)),
        ("[2026-11-23 10:00:00,5 -0030] x", Seen(ISO_MS + 500, -30, 1, 1, 28, OTHER)),
        ("2026-11-23 10:00:00:5 x", Seen(ISO_MS + 5, NO_ZONE, 1, 0, 21, OTHER)),
        ("2026-11-23 10:00:00:1234 x", Seen(ISO_MS, NO_ZONE, 1, 0, 19, OTHER)),
        ("2026-11-23 10:00:00 +1445 x", Seen(ISO_MS, 14 * 60 + 45, 1, 0, 25, OTHER)),
        ("2026-11-23 10:00:00 +1500 x", Seen(ISO_MS, NO_ZONE, 1, 0, 19, OTHER)),
        ("2026-11-23 10:00:00+01 30 x", Seen(ISO_MS, 60, 1, 0, 22, OTHER)),
        ("2026-11-23 10:00:00 +03 x", Seen(ISO_MS, 180, 1, 0, 23, OTHER)),
        ("2026-11-23 10:00:00 -10 ERROR", Seen(ISO_MS, -600, 1, 0, 23, OTHER)),
        ("2026-11-23 10:00:00 -10 degrees", Seen(ISO_MS, NO_ZONE, 1, 0, 19, OTHER)),
        ("2026-11-23 10:00:00 -10% less", Seen(ISO_MS, NO_ZONE, 1, 0, 19, OTHER)),
        ("2026-11-23 10:00:00 +03:10.0.0.7(1):", Seen(ISO_MS, 180, 1, 0, 23, OTHER)),
        ("2026-11-23 10:00:00 +03:LOG:", Seen(ISO_MS, 180, 1, 0, 23, OTHER)),
        ("[2026-11-23T10:00:00+01:00[Europe/Berlin]] x", Seen(ISO_MS, 60, 1, 1, 41, OTHER)),
        (f"{ISO}[main] x", Seen(ISO_MS, 0, 1, 0, 20, OTHER)),
        ("2026-11-23 10:00:00 CET: x", Seen(ISO_MS, 60, 1, 0, 23, OTHER)),
        ("2026-11-23 10:00:00 CST x", Seen(ISO_MS, UNSURE_ZONE, 1, 0, 23, OTHER)),
        ("2026-11-23 10:00:00 GMT x", Seen(ISO_MS, 0, 1, 0, 23, OTHER)),
        ("2026-11-23 10:00:00 GMT+3 x", Seen(ISO_MS, 180, 1, 0, 25, OTHER)),
        ("2026-11-23 10:00:00 WARN x", Seen(ISO_MS, NO_ZONE, 1, 0, 19, OTHER)),
        ("[23-Nov-2026 10:00:00 Europe/Berlin] x", Seen(ISO_MS, 60, 1, 1, 35, OTHER)),
        ("Feb 29 00:00:00 CET: x", Seen((2 * 32 + 29) * DAY_MS, 60, 0, 0, 19, SYSLOG)),
        ("Feb 29 00:00:00 CET-1 x", Seen((2 * 32 + 29) * DAY_MS, NO_ZONE, 0, 0, 15, SYSLOG)),
        ("type=A msg=audit(1795428000.123:45): x", Seen(ISO_MS + 123, 0, 1, 17, 31, NUMBER)),
        ("type=A msg=audit(1795428000.123): x", Seen(NO_TIME, NO_ZONE, 1, 0, 0, OTHER)),
        (f"# Time: {ISO}\n# User@Host: a", Seen(ISO_MS, 0, 1, 8, 28, OTHER)),
        ("web-1 | 2026-11-23 10:00:00 x", Seen(ISO_MS, NO_ZONE, 1, 8, 27, OTHER)),
        ("Feb 29 00:00:00 web-1 x", Seen((2 * 32 + 29) * DAY_MS, NO_ZONE, 0, 0, 15, SYSLOG)),
        ("I0229 00:00:00.001 x", Seen((2 * 32 + 29) * DAY_MS + 1, NO_ZONE, 0, 0, 18, GLOG)),
        ("I20261123 10:00:00 x", Seen(ISO_MS, NO_ZONE, 1, 0, 18, GLOG)),
        (f"::1 - - [{ACCESS_TIME} x", Seen(971_186_136_000, -420, 1, 9, 35, ACCESS)),
        ("- 1795428000 2026.11.23 x", Seen(ISO_MS, 0, 1, 2, 12, NUMBER)),
        ("[20261123100000] x", Seen(ISO_MS, NO_ZONE, 1, 1, 15, NUMBER)),
        ("x", Seen(NO_TIME, NO_ZONE, 1, 0, 0, OTHER)),
        ("", Seen(NO_TIME, NO_ZONE, 1, 0, 0, OTHER)),
        # A time that was read and does not count leaves its place.
        (f"[V {ISO}] x", Seen(NO_TIME, NO_ZONE, 1, 3, 0, OTHER)),
        ("1795428000 bytes", Seen(NO_TIME, NO_ZONE, 1, 0, 0, OTHER)),
        ("(1795428000 bytes", Seen(NO_TIME, NO_ZONE, 1, 1, 0, OTHER)),
    ],
)
def test_a_time_is_told_by_its_place_its_kind_and_what_is_written(line: str, seen: Seen) -> None:
    assert find(string_column([line])) == [seen]


@pytest.mark.parametrize(("rule", "line", "expected"), rows("times/of_lines"))
def test_every_rule_says_which_lines_have_a_time(rule: str, line: str, *, expected: bool) -> None:
    assert has_time(line) is expected, rule


def test_only_the_first_127_bytes_of_a_line_are_looked_at() -> None:
    for size in range(MOST_BYTES - 10, MOST_BYTES + 10):
        for last in ("1", "é", "€", "😀"):
            line = "1795428000".ljust(size - len(last.encode())) + last
            assert has_time(line) == (size <= MOST_BYTES), (size, last)
            assert has_time(f"{line} and more") == (size <= MOST_BYTES), (size, last)


def test_a_text_that_is_longer_than_what_is_looked_at_is_no_time() -> None:
    for size in (1, MOST_BYTES - 20, MOST_BYTES - 19, 200):
        assert iso_times(string_column([ISO + " " * size])).tolist() == [NO_TIME]


TIMES = (
    "2026-11-23T10:00:00.123456+01:00", "Mon Nov 23 10:00:00 UTC 2026", "Mon, 23 Nov 2026 10:00:00 GMT", "Nov 23, 2026 10:00:00\u202fPM",
    "10/Oct/2000:13:55:36 -0700", "1795428000.123", "20171224-0:7:20:4", "I1123 10:00:00.123456", "081109  9:36:15", "20261123100000123",
)  # fmt: skip


def test_columns_with_an_offset_with_nulls_and_without_rows_are_read() -> None:
    column = pa.concat_arrays([string_column([ISO, None, f"x {ISO}"]), string_column(["", f"- {ISO}", None])])
    expected = [20, 0, 0, 0, 22, 0]

    assert [seen.end for seen in find(column)] == expected
    for first in range(len(expected) + 1):
        for size in range(len(expected) - first + 1):
            part = column.slice(first, size)
            assert [seen.end for seen in find(part)] == expected[first : first + size]
            assert (iso_times(part) == ISO_MS).tolist() == [end == 20 for end in expected[first : first + size]]
    assert find(null_column(3)) == find(string_column(["", "", ""]))
    assert find(string_column([])) == []


@given(st.lists(st.one_of(st.sampled_from([*TIMES, ISO, "- ", "[", "INFO ", "\x00", "é", " "]), st.text(max_size=140)), max_size=5))
def test_a_line_is_read_alike_whatever_stands_before_and_behind_it(parts: list[str]) -> None:
    lines = ["".join(parts), *parts]
    together = find(string_column(lines))

    assert together == [find(string_column([line]))[0] for line in lines]
