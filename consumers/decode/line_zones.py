"""From what a clock showed to milliseconds since 1970: the days of the calendar, zones, and years that were not written.

`consumers.decode.times` calls it with columns. Zones are asked (`zoneinfo`) twice for each day that occurs, not for each line.
"""

from datetime import datetime, timedelta, tzinfo
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.decode.found import NO_TIME
from consumers.decode.rules import Clock

DAY_MS: Final = 24 * 3600 * 1000
NO_ZONE: Final = np.iinfo(np.int16).max
NAMED_ZONE: Final = NO_ZONE - 1
"""The zone is written as `Europe/Berlin`; `consumers.decode.times` puts its offset in place."""
UNSURE_ZONE: Final = NO_ZONE - 2
"""The zone is an abbreviation that several have, as `IST`: only the topic's settings can say which."""
FIRST_YEAR, LAST_YEAR = 1970, 2262
_LAST_MS: Final = np.iinfo(np.int64).max // 10**6
"""The last millisecond that nanoseconds in int64 reach: in April 2262."""
_MINUTE_MS = 60_000
_STEPS_S: Final = (24 * 3600, 900, 1)
_YEARS_TO_LEAP_YEAR: Final = 8
"""From 29 February back to the one before: 8 years around 1900 and 2100, else 4."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock in some zone shows
_MONTH_STARTS = np.arange(np.datetime64("1970-01"), np.datetime64(f"{LAST_YEAR + 1}-02")).astype("datetime64[D]").astype(np.int64)
"""The first day of each month, in days since 1970."""


def days_of(year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the days since 1970 of n dates, months 1 to 12, and where the date exists and is from 1970 to 2262."""
    is_year = (year >= FIRST_YEAR) & (year <= LAST_YEAR)
    place = np.where(is_year, year - FIRST_YEAR, 0) * 12 + (month - 1)
    start = _MONTH_STARTS[place]
    return start + (day - 1), is_year & (day >= 1) & (day <= _MONTH_STARTS[place + 1] - start)


class LineTimes:
    """Times in n texts, as columns of length n; where `end` is 0 there is none, and of the others only `start` says anything.

    Thread: one.
    """

    def __init__(self, size: int) -> None:
        self.local_ms: NDArray[np.int64] = np.empty(size, np.int64)
        """Milliseconds since 1970 as a clock in the time's own zone shows them; where `has_year` is false, month * 32 + day in days."""
        self.zone_min: NDArray[np.int16] = np.empty(size, np.int16)
        """Minutes that the zone is ahead of UTC; `NO_ZONE` where none is written."""
        self.has_year: NDArray[np.bool_] = np.empty(size, np.bool_)
        self.end: NDArray[np.uint8] = np.empty(size, np.uint8)
        """Where in the text the time ends, below 128."""
        self.start: NDArray[np.uint8] = np.empty(size, np.uint8)
        """Where it begins; of a line without a time, where the last one begins that does not count there, else 0."""
        self.kind: NDArray[np.uint8] = np.empty(size, np.uint8)

    def resolved(self, kafka_ms: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
        """Return the times, milliseconds since 1970: int64[n]. `NO_TIME` where there is none, and beyond 1970 to 2262.

        `kafka_ms`: Kafka's times, int64[n].
        """
        is_unsure = self.zone_min == UNSURE_ZONE
        is_time = (self.end > 0) & ~is_unsure if clock.timezone is None else self.end > 0
        zone_min = np.where(is_unsure, NO_ZONE, self.zone_min)
        time_ms = np.where(is_time, self.local_ms, NO_TIME)
        without_year = np.flatnonzero(is_time & ~self.has_year)
        if len(without_year):
            parts = (self.local_ms[without_year], zone_min[without_year], kafka_ms[without_year])
            time_ms[without_year] = _times_without_year(*parts, clock)
        zoned = np.flatnonzero(is_time & self.has_year & (zone_min != NO_ZONE) & (zone_min != 0))
        time_ms[zoned] -= zone_min[zoned].astype(np.int64) * _MINUTE_MS
        if clock.timezone is not None:
            local = np.flatnonzero(is_time & self.has_year & (zone_min == NO_ZONE))
            time_ms[local] = times_in_zone(self.local_ms[local], clock.timezone)
        time_ms[(time_ms < 0) | (time_ms > _LAST_MS)] = NO_TIME
        return time_ms


def times_in_zone(local_ms: NDArray[np.int64], timezone: tzinfo) -> NDArray[np.int64]:
    """Return n clock times of a zone as milliseconds since 1970: int64[n].

    Of an hour that the clock shows twice it is the first one; a time that the clock skips moves forward by what is skipped.
    """
    if not len(local_ms):
        return local_ms
    return local_ms - _offsets_at(local_ms // 1000, timezone, _STEPS_S) * 1000


def _offsets_at(local_s: NDArray[np.int64], timezone: tzinfo, steps_s: tuple[int, ...]) -> NDArray[np.int64]:
    """Return how many seconds a zone is ahead of UTC at n clock times: int64[n].

    A zone changes its offset at most once a day, so a day that begins and ends with the same one has no other. The days that do not are
    looked at in shorter steps.
    """
    step_s, *shorter = steps_s
    periods, period_of = _distinct(local_s // step_s)
    first = _offsets(periods * step_s, timezone)
    offset = first[period_of]
    if shorter:
        changes = first != _offsets(periods * step_s + step_s - 1, timezone)
        rows = np.flatnonzero(changes[period_of])
        if len(rows):
            offset[rows] = _offsets_at(local_s[rows], timezone, tuple(shorter))
    return offset


def _offsets(local_s: NDArray[np.int64], timezone: tzinfo) -> NDArray[np.int64]:
    """Return how many seconds a zone is ahead of UTC at these clock times."""
    found = [(_EPOCH + timedelta(seconds=second)).replace(tzinfo=timezone).utcoffset() for second in local_s.tolist()]
    return np.array([0 if one is None else one // timedelta(seconds=1) for one in found], np.int64)


def _distinct(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct numbers and the place of each among them. Neighbours are mostly alike, so that little is sorted."""
    begins = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    distinct, places = np.unique(numbers[begins], return_inverse=True)
    return distinct, np.repeat(places, np.diff(begins, append=len(numbers)))


def _times_without_year(
    local_ms: NDArray[np.int64], zone_min: NDArray[np.int16], kafka_ms: NDArray[np.int64], clock: Clock
) -> NDArray[np.int64]:  # fmt: skip
    """Return times without a year, of zones that may be written."""
    is_zoned = zone_min != NO_ZONE
    if not is_zoned.any():
        return _times_of_last_year(local_ms, kafka_ms, clock)
    time_ms = np.where(is_zoned, NO_TIME, _times_of_last_year(local_ms, kafka_ms, clock))
    rows = np.flatnonzero(is_zoned)
    ahead_ms = zone_min[rows].astype(np.int64) * _MINUTE_MS
    found = _times_of_last_year(local_ms[rows], np.where(kafka_ms[rows] > 0, kafka_ms[rows] + ahead_ms, 0), Clock(year=clock.year))
    time_ms[rows] = np.where(found == NO_TIME, NO_TIME, found - ahead_ms)
    return time_ms


def _times_of_last_year(local_ms: NDArray[np.int64], kafka_ms: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
    """Return times in the given year, or in the one that puts them last, but at most a day after Kafka's time.

    Without that year and without Kafka's time there is none.
    """
    days, of_day = np.divmod(local_ms, DAY_MS)
    month, day = np.divmod(days, 32)
    if clock.year is not None:
        return _times_in_year(np.full(len(days), clock.year), month, day, of_day, clock.timezone)
    time_ms = np.full(len(days), NO_TIME)
    latest = kafka_ms + DAY_MS
    # A clock may be a day ahead of UTC, so that its year is that of a day later.
    last_year = ((latest + DAY_MS) // 1000).astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + FIRST_YEAR
    open_rows = np.flatnonzero(kafka_ms > 0)
    for back in range(_YEARS_TO_LEAP_YEAR + 2):
        if not len(open_rows):
            break
        year = last_year[open_rows] - back
        found = _times_in_year(year, month[open_rows], day[open_rows], of_day[open_rows], clock.timezone)
        is_good = (found != NO_TIME) & (found <= latest[open_rows])
        time_ms[open_rows[is_good]] = found[is_good]
        open_rows = open_rows[~is_good]
    return time_ms


def _times_in_year(
    year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64], of_day: NDArray[np.int64], timezone: tzinfo | None
) -> NDArray[np.int64]:
    days, is_day = days_of(year, month, day)
    local_ms = np.where(is_day, days * DAY_MS + of_day, 0)
    return np.where(is_day, local_ms if timezone is None else times_in_zone(local_ms, timezone), NO_TIME)
