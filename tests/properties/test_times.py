"""Times of all years and zones, written as programs write them, against `datetime` and `zoneinfo`."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from consumers.columns import string_column
from consumers.decode.found import NO_TIME
from consumers.decode.from_line import LineHeaders
from consumers.decode.rules import Clock
from consumers.decode.times import iso_times, parse_times

FIRST, LAST = datetime(1970, 1, 2), datetime(2262, 4, 10)  # noqa: DTZ001 - clock times, in any zone
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
ZONES = [
    ZoneInfo(name) for name in ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Monrovia", "UTC")
]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905
DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()  # noqa: SIM905

clocks = st.datetimes(FIRST, LAST)
offsets = st.integers(-14 * 60, 14 * 60)
many = settings(deadline=None, max_examples=100)
few = settings(deadline=None, max_examples=30)


def milliseconds(moment: datetime) -> int:
    """Return an aware time in milliseconds since 1970, rounded down."""
    return (moment - EPOCH) // MILLISECOND


def parse(texts: list[str], zone: ZoneInfo | None = None, *, year: int | None = None, kafka_ms: int = 0) -> set[int]:
    """Return the times that texts are, and check that they are also found at the beginning of lines."""
    kafka = np.full(len(texts), kafka_ms)
    parsed = parse_times(string_column(texts), kafka, Clock(zone, year)).tolist()
    lines = string_column([f"[{text}] [main] started" for text in texts])
    assert LineHeaders(Clock(zone, year)).times(lines, kafka).tolist() == parsed
    return set(parsed)


def in_zone(clock: datetime, zone: ZoneInfo | None) -> int:
    """Return when a clock of a zone shows this: the first time, or as if it had not been moved forward yet."""
    return milliseconds(clock.replace(tzinfo=zone or UTC).astimezone(UTC))


@many
@given(clocks, offsets, st.sampled_from("T _"), st.integers(0, 9), st.sampled_from(".,"), st.sampled_from([":", ""]))
@example(datetime(2000, 2, 29, 23, 59, 59, 999_999), -1, "T", 9, ".", ":")  # noqa: DTZ001
def test_iso_8601_with_any_fraction_and_zone(clock: datetime, offset: int, joiner: str, digits: int, mark: str, colon: str) -> None:
    text = clock.strftime(f"%Y-%m-%d{joiner}%H:%M:%S")
    nanoseconds = f"{clock.microsecond:06}789"[:digits]
    hours, minutes = divmod(abs(offset), 60)
    written = f"{text}{mark if digits else ''}{nanoseconds}{'-' if offset < 0 else '+'}{hours:02}{colon}{minutes:02}"
    kept_ms = int(f"{nanoseconds:<03}"[:3].replace(" ", "0"))
    moment = clock.replace(microsecond=kept_ms * 1000, tzinfo=timezone(timedelta(minutes=offset)))

    assert parse([written]) == {milliseconds(moment)}
    assert iso_times(string_column([written])).tolist() == [milliseconds(moment)]


@few
@given(clocks, st.sampled_from([*ZONES, None]))
@example(datetime(2026, 10, 25, 2, 30), ZONES[0])  # noqa: DTZ001
@example(datetime(2026, 3, 29, 2, 30), ZONES[0])  # noqa: DTZ001
@example(datetime(1972, 1, 7, 0, 44, 29), ZONES[4])  # noqa: DTZ001 - Liberia went forward by 44 minutes and 30 seconds
@example(datetime(1972, 1, 7, 0, 44, 30), ZONES[4])  # noqa: DTZ001
def test_every_shape_without_a_zone_is_of_the_zone_that_is_given(clock: datetime, zone: ZoneInfo | None) -> None:
    month, weekday = MONTHS[clock.month - 1], DAYS[clock.weekday()]
    whole = clock.replace(microsecond=0)
    with_ms = whole.replace(microsecond=clock.microsecond // 1000 * 1000)
    expected, expected_ms = in_zone(whole, zone), in_zone(with_ms, zone)
    assume(expected >= 0)
    ms = f"{clock.microsecond // 1000:03}"
    hour = f"{clock.hour % 12 or 12}"

    whole_seconds = [
        f"{weekday} {month} {clock.day:02} {clock:%H:%M:%S} {clock.year}",
        f"{weekday} {month} {clock.day:2} {clock:%H:%M:%S} {clock.year}",
        f"{month} {clock.day:2} {clock.year} {clock:%H:%M:%S}",
        f"{month} {clock.day}, {clock.year} {hour}:{clock:%M:%S} {'PM' if clock.hour >= 12 else 'AM'}",
        f"{clock.month}/{clock.day}/{clock.year} {hour}:{clock:%M:%S} {'PM' if clock.hour >= 12 else 'AM'}",
        f"{clock.day:02}/{month}/{clock.year}:{clock:%H:%M:%S}",
        f"{weekday}, {clock.day} {month} {clock.year} {clock:%H:%M:%S}",
        f"{clock.day}-{month}-{clock.year} {clock:%H:%M:%S}",
        clock.strftime("%d.%m.%Y %H:%M:%S"),
        clock.strftime("%Y%m%dT%H%M%S"),
        clock.strftime("I%Y%m%d %H:%M:%S"),
    ]
    with_milliseconds = [
        f"{clock:%Y-%m-%d %H:%M:%S},{ms}",
        f"{clock:%Y/%m/%d %H:%M:%S}.{clock.microsecond:06}",
        f"{clock:%Y-%m-%d-%H.%M.%S}.{clock.microsecond:06}",
        f"{clock:%Y%m%d}-{clock.hour}:{clock.minute}:{clock.second}:{clock.microsecond // 1000}",
        f"{weekday} {month} {clock.day:02} {clock:%H:%M:%S}.{clock.microsecond:06} {clock.year}",
    ]
    if 1970 <= clock.year < 2070:
        whole_seconds += [clock.strftime("%y/%m/%d %H:%M:%S"), clock.strftime("%y%m%d %H%M%S")]

    assert parse(whole_seconds, zone) == {expected}
    assert parse(with_milliseconds, zone) == {expected_ms}
    compact = string_column([clock.strftime("%Y%m%d%H%M%S")])
    assert parse_times(compact, np.zeros(1, np.int64), Clock(zone)).tolist() == [expected]


@many
@given(st.integers(10**8 * 10**9, 2**63 - 1))
def test_numbers_are_seconds_milliseconds_microseconds_or_nanoseconds(nanoseconds: int) -> None:
    steps = (10**9, 10**6, 10**3, 1)
    seconds, fraction = divmod(nanoseconds, 10**9)
    texts = [*(f"{nanoseconds // step}" for step in steps), f"{seconds}.{fraction:09}"]

    assert iso_times(string_column(texts)).tolist() == [*(nanoseconds // step * step // 10**6 for step in steps), nanoseconds // 10**6]


@few
@given(st.datetimes(datetime(1980, 1, 1), LAST), st.integers(-86_400_000, 363 * 86_400_000), st.sampled_from([*ZONES, None]))  # noqa: DTZ001
@example(datetime(2024, 2, 29, 12), 1_095 * 86_400_000, None)  # noqa: DTZ001
def test_a_year_that_is_not_written_is_found_again_for_a_year(clock: datetime, age_ms: int, zone: ZoneInfo | None) -> None:
    clock = clock.replace(microsecond=clock.microsecond // 1000 * 1000)
    moment = in_zone(clock, zone)
    # A time that the clock skips or shows twice, and one a whole year away, have another that fits as well.
    assume(zone is None or clock.replace(tzinfo=zone).utcoffset() == clock.replace(tzinfo=zone, fold=1).utcoffset())
    kafka_ms = moment + age_ms
    ms = f"{clock.microsecond // 1000:03}"

    texts = [
        f"{MONTHS[clock.month - 1]} {clock.day:2} {clock:%H:%M:%S}.{ms}",
        f"{clock:%m-%d %H:%M:%S}.{ms}",
        f"{clock:%m.%d %H:%M:%S}.{ms}",
        f"E{clock:%m%d %H:%M:%S}.{ms}",
    ]

    assert parse(texts, zone, kafka_ms=kafka_ms) == {moment}
    assert parse(texts, zone, year=clock.year) == {moment}


SHAPES = ("2026-11-23T10:00:00.123Z", "Dec 10 06:55:46", "10/Oct/2000:13:55:36 -0700", "Sun Dec 04 04:47:44 2005", "1700000000.123")


def test_every_digit_counts() -> None:
    for shape in SHAPES:
        others = [
            shape[:place] + digit + shape[place + 1 :]
            for place, character in enumerate(shape)
            for digit in "0123456789"
            if character.isdigit() and digit != character
        ]
        kafka_ms = np.full(len(others) + 1, 1_795_435_200_000)
        first, *changed = parse_times(string_column([shape, *others]), kafka_ms, Clock()).tolist()
        assert first != NO_TIME
        assert first not in changed


texts = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from([*SHAPES, "[", "]", " ", "-", "ERROR", "info", "level=", "host", "é", "\x00", "9" * 40, "sshd[1]: "]), max_size=8
    ).map("".join),
)


@few
@given(st.lists(texts, max_size=6))
def test_any_texts_are_read_alike_alone_and_together(lines: list[str]) -> None:
    kafka = np.full(len(lines), 1_795_435_200_000)
    headers, column = LineHeaders(), string_column(lines)
    levels, services = headers.levels(column), headers.services(column)
    together = list(
        zip(
            headers.times(column, kafka).tolist(),
            map(levels.text, range(len(lines))),
            map(services.text, range(len(lines))),
            strict=True,
        )
    )
    for line, found in zip(lines, together, strict=True):
        alone = string_column([line])
        assert found == (headers.times(alone, kafka[:1]).item(), headers.levels(alone).text(0), headers.services(alone).text(0))
