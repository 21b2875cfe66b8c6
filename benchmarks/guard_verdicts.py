"""Whether a ratio has fallen, by the range that was seen when it was committed. Pure.

A ratio may leave its range by as much as the range is wide, relative to its median, and by LEAST_SLACK at least: rounds of one machine
within minutes differ less than runs of two days.

Two revisions differ if every round of one is better than every round of the other. Without any change, chance separates them downwards once
in 70 comparisons of 4 rounds, once in 252 of 5; with 19 measures that is about one run of 5 rounds in 13, less what SURE rejects.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.guard_measures import Figures, Measure

LEAST_SLACK = 0.1
SURE = 0.05
"""Against a revision: a change is at least this large."""
LEAST_ROUNDS = 4
"""Against a revision: with fewer there is no verdict, for chance alone often separates them."""


class Verdict(NamedTuple):
    """One ratio of now beside the committed ones."""

    name: str
    committed: float | None
    """The median of its rounds."""
    now: float | None
    bound: float | None
    """What it must not fall below; of a cost, not exceed."""
    says: str
    """`ok`, `better`, `fell`, or why there is no verdict."""

    @property
    def fell(self) -> bool:
        """Whether the guard fails."""
        return self.says == "fell"


class Compared(NamedTuple):
    """One ratio of ours over that of another revision; above 1 ours is better."""

    name: str
    median: float | None
    low: float | None
    high: float | None
    says: str

    @property
    def fell(self) -> bool:
        """Whether ours is worse in every round, by SURE at least."""
        return self.says == "fell"


def bounds_of(rounds: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and the highest value that is no change: the range of the rounds with its slack."""
    slack = max((max(rounds) - min(rounds)) / median(rounds), LEAST_SLACK)
    return min(rounds) * (1 - min(slack, 0.9)), max(rounds) * (1 + slack)


def verdicts(measures: Sequence[Measure], committed: Mapping[str, Sequence[float]], now: Figures) -> list[Verdict]:
    """Judge every measure."""
    return [_verdict(measure, committed.get(measure.name, ()), now.get(measure.name, "not measured")) for measure in measures]


def _verdict(measure: Measure, rounds: Sequence[float], now: float | str) -> Verdict:
    middle = median(rounds) if rounds else None
    if isinstance(now, str):
        return Verdict(measure.name, middle, None, None, now)
    if middle is None:
        return Verdict(measure.name, None, now, None, "not committed")
    low, high = bounds_of(rounds)
    worst, is_worse, is_better = (low, now < low, now > high) if measure.higher_is_better else (high, now > high, now < low)
    return Verdict(measure.name, middle, now, worst, "fell" if is_worse else "better" if is_better else "ok")


def compared(measures: Sequence[Measure], ours: Sequence[Figures], theirs: Sequence[Figures]) -> list[Compared]:
    """Compare the rounds of two revisions, round by round."""
    return [_compared(measure, [one[measure.name] for one in ours], [one[measure.name] for one in theirs]) for measure in measures]


def _compared(measure: Measure, ours: Sequence[float | str], theirs: Sequence[float | str]) -> Compared:
    reason = next((f"here: {one}" for one in ours if isinstance(one, str)), "")
    reason = reason or next((f"there: {one}" for one in theirs if isinstance(one, str)), "")
    if reason:
        return Compared(measure.name, None, None, None, reason)
    mine, other = [one for one in ours if isinstance(one, float)], [one for one in theirs if isinstance(one, float)]
    if not measure.higher_is_better:
        mine, other = other, mine
    ratios = [one / another for one, another in zip(mine, other, strict=True)]
    middle = median(ratios)
    if len(ratios) < LEAST_ROUNDS:
        says = f"no verdict: fewer than {LEAST_ROUNDS} rounds"
    elif max(mine) < min(other) and middle < 1 - SURE:
        says = "fell"
    elif min(mine) > max(other) and middle > 1 + SURE:
        says = "better"
    else:
        says = "no change seen"
    return Compared(measure.name, middle, min(ratios), max(ratios), says)
