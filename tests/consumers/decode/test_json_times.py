"""Times of fields: numbers by their magnitude, texts of any common shape, and what is no time."""

from datetime import timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.decode.found import NO_TIME
from consumers.decode.json_text import Scalar
from consumers.decode.json_times import times_of
from consumers.decode.rules import Clock

MS = 1_767_323_045_678


def times(*values: Scalar | None) -> list[int]:
    found = times_of(values, np.full(len(values), MS), Clock())
    return [int(time_ms) for time_ms in found]


def test_numbers_are_seconds_milliseconds_microseconds_or_nanoseconds_by_their_magnitude() -> None:
    assert times(MS // 1000, MS, MS * 1000 + 999, MS * 10**6 + 999_999) == [MS // 1000 * 1000, MS, MS, MS]
    assert times(MS / 1000, float(MS), MS * 1000.0, MS * 1e6) == [MS] * 4
    assert times(1_000_000_000, 9_999_999_999, 100_000_000_000) == [1_000_000_000_000, 9_999_999_999_000, 100_000_000_000]


@pytest.mark.parametrize(
    "value", [None, True, 0, -1, 12, 0.034, 999_999_999, 10**10, 10**13, 10**16, 10**19, -MS, "", "soon", "12ms", 1e300, False]
)
def test_what_is_no_time_is_none(value: Scalar | None) -> None:
    assert times(value) == [NO_TIME]


def test_values_of_several_types_are_each_read() -> None:
    found = times(*("2026-01-02T03:04:05.678Z", MS, None, MS / 1000, "soon", True, "1767323045", "2026-01-02 03:04:05,678"))
    assert found == [MS, MS, NO_TIME, MS, NO_TIME, NO_TIME, MS // 1000 * 1000, MS]


def test_zone_and_year_are_those_of_the_settings_where_a_text_names_none() -> None:
    two_hours = timezone(timedelta(hours=2))
    found = times_of(["2026-01-02 03:04:05", "Jan  2 03:04:05", 1], np.full(3, MS), Clock(two_hours, 2025))
    assert found.tolist() == [1_767_315_845_000, 1_735_779_845_000, NO_TIME]


@given(st.lists(st.integers(1_000_000_000_000, 9_999_999_999_999), min_size=1))
def test_seconds_with_milliseconds_as_a_binary_fraction_come_back(moments: list[int]) -> None:
    assert times(*(ms / 1000 for ms in moments)) == moments
