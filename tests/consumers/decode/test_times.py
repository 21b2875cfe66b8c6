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


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-23t10:00:00z", "2026-11-23T10:00:00"),
        ("2026-11-23T10:00", "2026-11-23T10:00:00"),
        ("2026-11-23T10:00:00.999999999Z", "2026-11-23T10:00:00.999"),
        ("2026-11-23T10:00:00+01:00", "2026-11-23T09:00:00"),
        ("2026-11-23 10:00:00+02", "2026-11-23T08:00:00"),
        ("2026-11-23 10:00:00 +0200", "2026-11-23T08:00:00"),
        ("2026-11-23 10:00:00 UTC", "2026-11-23T10:00:00"),
        ("2026-11-23 13:00:00.123 +03", "2026-11-23T10:00:00.123"),
        ("2026-11-23 07:00:00 -03", "2026-11-23T10:00:00"),
        ("2026-11-23 13:00:00.123456789 +0300 MSK m=+0.5", "2026-11-23T10:00:00.123"),
        ("2026-11-23 13:00:00 +0300 +03", "2026-11-23T10:00:00"),
        ("2026-11-23 13:00:00 UTC+3", "2026-11-23T10:00:00"),
        ("Mon Nov 23 2026 15:30:00 GMT+0530", "2026-11-23T10:00:00"),
        ("2026-11-23T11:00:00+01:00[Europe/Berlin]", "2026-11-23T10:00:00"),
        ("2026-11-23T10:00:00Z[UTC]", "2026-11-23T10:00:00"),
        ("2026-11-23 11:00:00 CET", "2026-11-23T10:00:00"),
        ("2026-07-23 11:00:00,5 Europe/Berlin", "2026-07-23T09:00:00.500"),
        ("2026-11-23 05:00:00 America/Argentina/Ushuaia", "2026-11-23T08:00:00"),
        ("2026-11-23 10:00:00 Europe/Atlantis", "2026-11-23T10:00:00"),
        ("[2026-11-23 07:00:00 -03]", "2026-11-23T10:00:00"),
        ("[10/Oct/2000:13:55:36 -0700]", "2000-10-10T20:55:36"),
        ("Nov 23 11:00:00 CET", "2026-11-23T10:00:00"),
        ("Nov 23 10:00:00.5 2025", "2025-11-23T10:00:00.500"),
        ("Nov 23, 2026 @ 10:00:00.123", "2026-11-23T10:00:00.123"),
        ("2026 Nov 23 10:00:00 UTC", "2026-11-23T10:00:00"),
        ("2026:11:23-10:00:00", "2026-11-23T10:00:00"),
        ("11/23/2026:10:00:00 GMT", "2026-11-23T10:00:00"),
        ("11/23/26 10:00:00 PM", "2026-11-23T22:00:00"),
        ("11/10/26 10:00:00", "2011-10-26T10:00:00"),
        ("23-Nov-26 10.00.00.123456 AM +00:00", "2026-11-23T10:00:00.123"),
        ("Mon Nov 23 10:00:00 AM UTC 2026", "2026-11-23T10:00:00"),
        ("Mon Nov 23 10:00:00 CET 2026", "2026-11-23T09:00:00"),
        ("Mon 23 Nov 2026 10:00:00 PM UTC", "2026-11-23T22:00:00"),
        ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00"),
        ("20261123T100000Z", "2026-11-23T10:00:00"),
        ("20261123100000123", "2026-11-23T10:00:00.123"),
        ("2026/11/23 10:00:00", "2026-11-23T10:00:00"),
        ("70/01/01 00:00:00", "1970-01-01T00:00:00"),
        ("69/12/31 00:00:00", "2069-12-31T00:00:00"),
        ("081109  9:36:15", "2008-11-09T09:36:15"),
        ("10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36"),
        ("23/Nov/2026 10:00:00", "2026-11-23T10:00:00"),
        ("Mon Nov 23 10:00:00 UTC 2026", "2026-11-23T10:00:00"),
        ("Mon, 23 Nov 2026 10:00:00 +0100", "2026-11-23T09:00:00"),
        ("Mon, 2 Nov 2026 10:00:00 GMT", "2026-11-02T10:00:00"),
        ("23 Nov 2026 10:00:00.123", "2026-11-23T10:00:00.123"),
        ("Nov 23, 2026 10:00:00 PM", "2026-11-23T22:00:00"),
        ("Nov 23, 2026 12:00:00\u202fAM", "2026-11-23T00:00:00"),
        ("1/3/2026 1:00:00 am", "2026-01-03T01:00:00"),
        ("Nov 23 2026 10:00:00", "2026-11-23T10:00:00"),
        ("999999999", "2001-09-09T01:46:39"),
        ("1700000000123.9", "2023-11-14T22:13:20.123"),
    ],
)
def test_a_time_is_read_in_every_shape(text: str, time: str) -> None:
    assert parse(text) == time


@pytest.mark.parametrize(
    "text",
    [
        None, "", " ", "yesterday", "2026-11-23", "10:00:00", "2026-13-23T10:00:00Z", "2026-02-29T10:00:00Z", "2026-11-23T24:00:00Z",
        "2026-11-23T10:60:00Z", "2026-11-23T10:00:61Z", "2026-11-23T10:00:0", "2026-11-23T10:00:00Zx", "2026-11-23T10:00:00.1234567890Z",
        "2026-11-23T10:00:00+1", "2026-11-23 10:00:00 +15", "2026-11-23 10:00:00 -1234", "x2026-11-23T10:00:00Z", "2026-11-23T10:00:00Z ",
        "٢٠٢٦-11-23T10:00:00Z", "Foo 23 10:00:00", "Nov 31 10:00:00", "Nov -1 10:00:00", "Sun Dec 04 04:47:4", "13/13/2026 10:00:00",
        "11/23/2026 13:00:00 PM",
        "2026-11-23 10:00:00 CST", "Nov 23 10:00:00 IST",
        "[2026-11-23 10:00:00", "2026-11-23T10:00:00Z[main]", "2026-11-23 10:00:00 EUROPE", "2026-11-23 10:00:00 Z-1", "23/23/26 10:00:00",
        "11/23/2026 0:00:00 AM", "12345678", "12345678901", "9999999999999999999", "20261323100000", "-1700000000",
        "1.7e9", "0", "Z1123 10:00:00", "2026-11-23T10:00:00" + "Z" * 200, "2026-11-23T10:00:00." + "1" * 200,
    ],
)  # fmt: skip
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("03/04/2026 10:00:00", None),
        ("03/04/2026 10:00:00 AM", "2026-03-04T10:00:00"),
        ("04/04/2026 10:00:00", "2026-04-04T10:00:00"),
        ("03/14/2026 10:00:00", "2026-03-14T10:00:00"),
        ("14/03/2026 10:00:00", "2026-03-14T10:00:00"),
        ("14/03/2026 10:00:00 PM", "2026-03-14T22:00:00"),
        ("03-04-2026 10:00:00", None),
        ("14-03-2026 10:00:00", "2026-03-14T10:00:00"),
    ],
)
def test_a_date_counts_only_where_day_and_month_are_told_apart(text: str, time: str | None) -> None:
    assert parse(text) == time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Nov 23 11:00:00", "2026-11-23T11:00:00"),
        ("Nov 24 11:59:59", "2026-11-24T11:59:59"),
        ("Nov 24 12:00:00", "2026-11-24T12:00:00"),
        ("Nov 24 12:00:01", "2025-11-24T12:00:01"),
        ("Dec 31 23:59:59", "2025-12-31T23:59:59"),
        ("Jan  1 00:00:00", "2026-01-01T00:00:00"),
        ("Feb 29 00:00:00", "2024-02-29T00:00:00"),
        ("I1123 10:00:00.123456", "2026-11-23T10:00:00.123"),
        ("03-17 16:13:38.811", "2026-03-17T16:13:38.811"),
        ("10.30 16:49:06", "2026-10-30T16:49:06"),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-07-01T00:00:00", "2026-06-30T22:00:00"),
        ("2026-11-23T10:00:00", "2026-11-23T09:00:00"),
        ("Jul 01 00:00:00", "2026-06-30T22:00:00"),
        ("2026-10-25T02:30:00", "2026-10-25T00:30:00"),  # the clock shows it twice
        ("2026-03-29T02:30:00", "2026-03-29T01:30:00"),  # the clock skips it: 03:30
        ("2026-07-01T00:00:00Z", "2026-07-01T00:00:00"),
        ("2026-07-01T00:00:00+05:00", "2026-06-30T19:00:00"),
        ("1700000000", "2023-11-14T22:13:20"),
        ("20260701000000", "2026-06-30T22:00:00"),
    ],
)
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
