"""Sides that take turns, and what their rounds say: every comparison of two things runs here.

A round runs every side once; every other round goes backwards, so that a load that grows or falls meets all alike. A ratio is taken within
a round, then the median over the rounds; the worst round shows how much the machine was disturbed.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

Side = TypeVar("Side")
Ran = TypeVar("Ran")
Clock = Callable[[], float]


class Wrong(Exception):
    """Other work was done than was asked for: figures would be worth nothing. The message is one line for the user."""


class Missing(Exception):
    """Without it nothing can be measured here. The message is one line for the user."""


class LeftOut(Wrong):
    """A side is not installed or has failed; others may go on. The message is its reason."""


def in_turn(sides: Iterable[Side], number: int) -> list[Side]:
    """Return the sides in the order of that round."""
    return list(sides) if number % 2 == 0 else list(sides)[::-1]


def race(
    sides: Mapping[str, Callable[[], Ran]],
    rounds: int,
    *,
    warm_ups: int = 0,
    prepare: Callable[[], object] = tuple,
    left_out: dict[str, str] | None = None,
) -> dict[str, list[Ran]]:
    """Run every side once a round; return what each returned, by round. Rounds that warm up come first and are not kept.

    `prepare` is called before every round. With `left_out` a side that raises LeftOut is noted there with its reason, and has no turns.
    """
    found: dict[str, list[Ran]] = {name: [] for name in sides}
    for number in range(-warm_ups, rounds):
        prepare()
        for name in in_turn(found, number):
            try:
                ran = sides[name]()
            except LeftOut as reason:
                if left_out is None:
                    raise
                left_out[name] = str(reason)
                del found[name]
                continue
            if number >= 0:
                found[name].append(ran)
    return found


def seconds_of(work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    """Do the work once; return how long it took on that clock."""
    began_s = clock()
    work()
    return clock() - began_s


def ratios(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return one side over another, by round."""
    return [one / other for one, other in zip(ones, others, strict=True)]


def spread(found: Mapping[str, Sequence[float]], costs: Collection[str] = ()) -> dict[str, Any]:
    """Return the median of each figure over the rounds, and the rounds' ends as `worst` and `best`; of `costs` the worst is the most."""
    ends = {name: sorted(values, reverse=name in costs) for name, values in found.items()}
    return {
        **{name: median(values) for name, values in found.items()},
        "worst": {name: values[0] for name, values in ends.items()},
        "best": {name: values[-1] for name, values in ends.items()},
    }


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that `percent` per cent of the values do not exceed (nearest rank). Raises Wrong without values."""
    if not values:
        raise Wrong("nothing was measured")
    return sorted(values)[max(-int(-len(values) * percent // 100), 1) - 1]


def rounded(figures: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return figures with four digits that count; of integers all digits stay, of shares and cosines near 1 six behind the point."""
    if isinstance(figures, Mapping):
        return {key: rounded(value) for key, value in figures.items()}
    if isinstance(figures, list | tuple):
        return [rounded(value) for value in figures]
    if not isinstance(figures, float):
        return figures
    return round(figures, 6) if 0.99 < abs(figures) < 1 else float(f"{figures:.4g}") if abs(figures) < 1000 else round(figures)  # noqa: PLR2004
