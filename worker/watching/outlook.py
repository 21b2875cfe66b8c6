"""When a lag will be gone: decided here for `vectail lag`, the page, the doctor, the metrics and the alerts, and put into words here.

*Theory of operation*
1. What waits for less than `KEEPS_UP_S` is no lag: the group keeps up.
2. Rates are slopes by least squares, of what is committed and of what is produced, over a span that ends now. The shortest span is half a
   minute, because commits come in steps; a longer one replaces it only where it says the same, and then says it more exactly.
3. A span counts only where both lines are straight, and where its last third goes on as what was before it: else a feed that has just
   stopped would count for minutes. Without such a span nothing is known, and that is what is said.
4. So for up to half a minute after a change the answer may still be of before.

Not taken: the rate between two looks (a commit or none falls between them), and one average over minutes (wrong for minutes after each
change). Pure: time is passed in.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from worker.watching.lag_history import LagPoint

OutlookKind = Literal["caught_up", "keeps_up", "catches_up", "falls_behind", "stands_still", "unknown"]

KEEPS_UP_S: Final = 10.0
"""Records that wait for less are on their way: the index may take as long."""
STILL_S: Final = 120.0
"""A group that is behind and has committed nothing for so long stands still."""
_SPANS_S: Final = (36.0, 54.0, 80.0, 120.0, 180.0)
_LEAST_S: Final = 30.0
_LEAST_POINTS: Final = 6
_TAIL_S: Final = 10.0
_WOBBLE: Final = 0.12
"""How far the lines may be off in a span, as a share of what is gained in it."""
_SAME: Final = 0.1
"""Gains of two spans that differ by less are the same."""
_TURN: Final = 0.3
"""A rate that departs from that of before by more of the gain has changed."""
_EVEN: Final = 0.03
"""A gain that is a smaller share of the rates cannot be told from none."""
_ROOM: Final = 0.15
"""How far the lines may be off now, as a share of what is left to gain, unless that is less than `_SHORT_S`."""
_SHORT_S: Final = 1.5
_LEAST_RANGE: Final = 0.1
_MOST_RANGE: Final = 0.5
_RANK: Final[Sequence[OutlookKind]] = ("stands_still", "falls_behind", "unknown", "catches_up", "keeps_up", "caught_up")
"""Of several partitions the first of these is that of the group."""
_SAID: Final[dict[OutlookKind, str]] = {
    "caught_up": "nothing waits",
    "keeps_up": "keeps up",
    "falls_behind": "falls behind",
    "stands_still": "stands still",
    "unknown": "not known yet",
}
_UNITS: Final = (("d", 86_400.0, 3.0), ("h", 3_600.0, 3.0), ("min", 60.0, 3.0))


class Outlook(NamedTuple):
    """What becomes of a lag."""

    kind: OutlookKind
    in_s: tuple[float, float] | None = None
    """Seconds until it keeps up, at least and at most; only of `catches_up`."""
    gain: float = 0.0
    """Records a second by which the lag shrinks then."""
    of: tuple[int, int] | None = None
    """In how many partitions of how many; None: of one."""

    @property
    def text(self) -> str:
        """In words: `caught up in 3 to 5 min`."""
        if self.in_s is not None:
            return f"caught up in {range_of(*self.in_s)}"
        where = "" if self.of is None or self.of[0] == self.of[1] else f" in {self.of[0]} of {self.of[1]} partitions"
        return f"{_SAID[self.kind]}{where}"

    @property
    def middle_s(self) -> float | None:
        """Seconds until it keeps up as one number: 0 where it does, infinite where the lag does not shrink, None where nothing is known."""
        if self.in_s is not None:
            return math.sqrt(self.in_s[0] * self.in_s[1])
        return {"caught_up": 0.0, "keeps_up": 0.0, "unknown": None}.get(self.kind, math.inf)


class _Trend(NamedTuple):
    """What a span says."""

    gain: float
    """Records a second by which the lag shrinks; negative: grows."""
    comes: float
    """Records a second that are produced."""
    wobble: float
    """Records by which both lines are off."""


def outlook_of(course: Sequence[LagPoint], age_s: float | None) -> Outlook:
    """Return the outlook of one partition.

    `course` is not empty, its oldest point first and the present last; `age_s` is the age of the oldest record that waits, by its own time.
    """
    now = course[-1]
    if not now.records:
        return Outlook("caught_up")
    if min(math.inf if age_s is None else age_s, now.at_s - seen_after(course)) < KEEPS_UP_S:
        return Outlook("keeps_up")
    points = _unbroken(course)
    if now.at_s - next(one.at_s for one in points if one.committed == now.committed) >= STILL_S:
        return Outlook("stands_still")
    return _of_trend(now, _trend(np.array([(one.at_s, one.committed or 0, one.end_offset) for one in points], dtype=float).T))


def total_outlook(outlooks: Iterable[Outlook]) -> Outlook:
    """Return the outlook of all partitions: the worst of them.

    Partitions that catch up take as long as the slowest, or less: what is ready early makes room for the others, if one worker reads both.
    """
    known = list(outlooks)
    kinds = {one.kind for one in known}
    kind: OutlookKind = next((one for one in _RANK if one in kinds), "caught_up")
    worst = [one for one in known if one.kind == kind]
    if kind != "catches_up":
        return Outlook(kind, of=(len(worst), len(known)))
    ranges = [one.in_s for one in worst if one.in_s is not None]
    gain = sum(one.gain for one in worst)
    least_s = sum(one.gain * at_least for one, (at_least, _) in zip(worst, ranges, strict=True)) / gain
    return Outlook(kind, (least_s, max(at_most for _, at_most in ranges)), gain, (len(worst), len(known)))


def range_of(least_s: float, most_s: float) -> str:
    """Return a span between two numbers of seconds in one unit: `3 to 5 min`, `about 40 s`."""
    unit, length_s = next(((name, length) for name, length, many in _UNITS if most_s >= many * length), ("s", 1.0))
    step = 5 if unit == "s" else 1
    least, most = (max(step, step * round(seconds / length_s / step)) for seconds in (least_s, most_s))
    return f"about {least:,} {unit}" if least == most else f"{least:,} to {most:,} {unit}"


def _of_trend(now: LagPoint, trend: _Trend | None) -> Outlook:
    if trend is None:
        return Outlook("unknown")
    if trend.gain < 0:
        return Outlook("falls_behind")
    left = max(now.records - max(trend.comes, 0.0) * KEEPS_UP_S, trend.gain)
    share = max(trend.wobble / left, _LEAST_RANGE)
    if share > _ROOM and trend.wobble / trend.gain > _SHORT_S:
        return Outlook("unknown")
    share, middle_s = min(share, _MOST_RANGE), left / trend.gain
    return Outlook("catches_up", (middle_s / (1 + share), middle_s / (1 - share)), trend.gain)


def seen_after(course: Sequence[LagPoint]) -> float:
    """Return the last look before the oldest record that waits was there, whatever time it names: seconds on the monotonic clock.

    The last look if none waits; -infinity if it came before the first look.
    """
    now, seen_s = course[-1], -math.inf
    for one in course:
        if one.end_offset > now.end_offset - now.records:
            break
        seen_s = one.at_s
    return seen_s


def _unbroken(course: Sequence[LagPoint]) -> Sequence[LagPoint]:
    """Return the points of the longest span in which nothing went back and the group did not begin to commit."""
    now = course[-1]
    first = len(course) - 1
    while first and _goes_on(course[first - 1], course[first]) and now.at_s - course[first - 1].at_s <= _SPANS_S[-1]:
        first -= 1
    return course[first:]


def _goes_on(one: LagPoint, later: LagPoint) -> bool:
    if one.committed is None or later.committed is None:
        return one.committed is later.committed and one.end_offset <= later.end_offset
    return one.committed <= later.committed and one.end_offset <= later.end_offset


def _trend(series: Any) -> _Trend | None:  # noqa: ANN401 - an array of three rows: seconds, committed, end
    """Return the trend of the present; None if it cannot be told."""
    found: _Trend | None = None
    first_gain, last_s = 0.0, 0.0
    for span_s in _SPANS_S:
        at_s, *lines = series[:, series[0] >= series[0, -1] - span_s - 1e-6]
        length_s = at_s[-1] - at_s[0]
        if len(at_s) < _LEAST_POINTS or length_s < _LEAST_S:
            continue
        if found is not None and length_s <= last_s + 1.0:
            break
        (done, done_off), (comes, comes_off) = (_slope(at_s, line) for line in lines)
        gain, wobble = done - comes, done_off + comes_off
        is_told = done > 0 and abs(gain) > _EVEN * max(done, comes) and wobble <= _WOBBLE * abs(gain) * length_s
        if found is not None:
            if not is_told or abs(gain - first_gain) > _SAME * abs(first_gain):
                break
        elif not is_told or _has_turned(at_s, lines, gain):
            continue
        else:
            first_gain = gain
        found, last_s = _Trend(gain, comes, wobble), length_s
    return found


def _has_turned(at_s: Any, lines: Sequence[Any], gain: float) -> bool:  # noqa: ANN401 - arrays
    """Whether the last third of a span departs from what the rest says."""
    tail_s = max(_TAIL_S, (at_s[-1] - at_s[0]) / 3)
    head = max(min(int(np.searchsorted(at_s, at_s[-1] - tail_s - 1e-6, side="right")), len(at_s) - 2), 3)
    off, wobble = np.zeros(len(at_s) - head), 0.0
    for line in lines:
        slope, within = _slope(at_s[:head], line[:head])
        wobble += within
        off += np.abs(line[head:] - line[:head].mean() - slope * (at_s[head:] - at_s[:head].mean()))
    return bool((off > 1.5 * wobble + _TURN * abs(gain) * (at_s[-1] - at_s[head - 1])).any())


def _slope(at_s: Any, values: Any) -> tuple[float, float]:  # noqa: ANN401 - arrays
    """Return the change per second by least squares, and how far a value is from that line at most."""
    away_s, away = at_s - at_s.mean(), values - values.mean()
    slope = float((away_s * away).sum() / (away_s**2).sum())
    return slope, float(np.abs(away - slope * away_s).max())
