"""Texts that are a time: every shape that programs write, what is none, and where zones and years come from."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from consumers.columns import string_column
from consumers.decode.found import NO_TIME
from consumers.decode.rules import Clock
from consumers.decode.syslog_patterns import ZONE_NAMES
from consumers.decode.times import iso_times, parse_times
from tests.rows import rows

KAFKA_MS = 1_795_435_200_000
"""2026-11-23 12:00 UTC."""
BERLIN = ZoneInfo("Europe/Berlin")


def parse(
    text: str | None, *, timezone: tzinfo | None = None, year: int | None = None, kafka_ms: int = KAFKA_MS
) -> str | None:  # fmt: skip
    """Return the time that one text is, UTC in ISO 8601."""
    (time_ms,) = parse_times(string_column([text]), np.array([kafka_ms]), Clock(timezone, year)).tolist()
    if time_ms == NO_TIME:
        return None
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S") + (f".{time_ms % 1000:03}" if time_ms % 1000 else "")


@pytest.mark.parametrize(("text", "time"), rows("times/shapes"))
def test_a_time_is_read_in_every_shape(text: str, time: str) -> None:
    assert parse(text) == time


@pytest.mark.parametrize("text", rows("times/none"))
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(("text", "time"), rows("times/days_and_months"))
def test_a_date_counts_only_where_day_and_month_are_told_apart(text: str, time: str | None) -> None:
    assert parse(text) == time


@pytest.mark.parametrize(("text", "time"), rows("times/years"))
def test_a_year_that_is_not_written_is_the_last_one_up_to_a_day_after_kafkas_time(text: str, time: str) -> None:
    assert parse(text) == time


def test_a_line_of_new_years_eve_is_of_the_old_year_and_one_of_a_clock_ahead_of_the_new_one() -> None:
    new_year_ms = 1_767_225_600_000  # 2026-01-01T00:00:00Z

    assert parse("Dec 31 23:59:59", kafka_ms=new_year_ms + 5_000) == "2025-12-31T23:59:59"
    assert parse("Jan  1 00:00:01", kafka_ms=new_year_ms - 5_000) == "2026-01-01T00:00:01"
    assert parse("Jan  1 08:00:00", kafka_ms=new_year_ms - 5_000, timezone=ZoneInfo("Asia/Tokyo")) == "2025-12-31T23:00:00"
    assert parse("Dec 31 15:00:00", kafka_ms=new_year_ms + 5_000, timezone=ZoneInfo("America/Los_Angeles")) == "2025-12-31T23:00:00"


def test_the_year_of_the_rules_wins_and_a_day_that_it_lacks_is_none() -> None:
    assert parse("Dec 10 06:55:46", year=2019) == "2019-12-10T06:55:46"
    assert parse("Dec 10 06:55:46", year=2019, kafka_ms=0) == "2019-12-10T06:55:46"
    assert parse("Feb 29 06:55:46", year=2019) is None
    assert parse("Feb 29 06:55:46", year=2020) == "2020-02-29T06:55:46"
    assert parse("2026-12-10T06:55:46", year=2019) == "2026-12-10T06:55:46"


@pytest.mark.parametrize(("text", "time"), rows("times/berlin"))
def test_the_zone_of_the_rules_is_that_of_times_without_one(text: str, time: str) -> None:
    assert parse(text, timezone=BERLIN) == time


def test_times_count_from_1970_to_the_last_one_that_nanoseconds_reach() -> None:
    assert parse("1970-01-01T00:00:00Z") == "1970-01-01T00:00:00"
    assert parse("1970-01-01T00:00:00+00:01") is None
    assert parse("1969-12-31T23:59:59Z") is None
    assert parse("2262-04-11T23:47:16.854Z") == "2262-04-11T23:47:16.854"
    assert parse("2262-04-11T23:47:16.855Z") is None
    assert parse("9999-12-31T23:59:59Z") is None


def test_a_slice_of_a_column_is_read_from_its_own_beginning() -> None:
    column = string_column(["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"])

    assert iso_times(column.slice(1, 1)).tolist() == [1_609_459_200_000]
    assert iso_times(column.slice(3)).tolist() == []


def test_an_abbreviation_of_several_zones_is_the_one_of_the_rules() -> None:
    assert parse("2026-11-23 10:00:00 CST", timezone=ZoneInfo("Asia/Shanghai")) == "2026-11-23T02:00:00"
    assert parse("Nov 23 10:00:00 CST", timezone=ZoneInfo("Asia/Shanghai")) == "2026-11-23T02:00:00"
    assert parse("2026-11-23 10:00:00 CET", timezone=ZoneInfo("Asia/Shanghai")) == "2026-11-23T09:00:00"


def test_the_zones_that_are_no_hosts_are_those_that_are_read() -> None:
    for name in ZONE_NAMES.split("|"):
        assert parse(f"2026-11-23 10:00:00 {name}", timezone=ZoneInfo("Asia/Tokyo")), name
