"""What `benchmarks.growth` makes of its measurements: a row for each point, and the worst of each axis against its goal. Pure."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from benchmarks.growth_index import IndexRan
from benchmarks.growth_topics import Point
from benchmarks.growth_turns import Ran

MOST_FALL = 0.25
"""Goal: bytes/s lost at one doubling of an axis."""
MOST_RSS_SPREAD = 0.10
"""Goal: how far memory may be from that of the smallest lag."""
MOST_PAUSES_PER_MINUTE = 2
"""Goal: of intake, at the largest lag."""


def row_of(point: Point, rounds: Sequence[Ran]) -> dict[str, Any]:
    """Return the figures of one point: medians over its rounds, and of rates the least and the most."""
    ages_s = [age_s for ran in rounds for age_s in ran.ages_s]
    return {
        "at": point.at,
        **_rates([(ran.records, ran.value_bytes, ran.wall_s, ran.cpu_s, ran.rss_bytes) for ran in rounds]),
        "start_s": median(ran.start_s for ran in rounds),
        "lines_per_block": median(ran.records / max(ran.blocks, 1) for ran in rounds),
        "pauses_per_minute": median(60 * ran.pauses / ran.wall_s for ran in rounds),
        **({"open_records": list(rounds[0].open_records)} if point.axis == "lag" else {}),
        **({f"acknowledged_p{percent}_s": float(np.percentile(ages_s, percent)) for percent in (50, 95)} if ages_s else {}),
    }


def index_row_of(ran: IndexRan) -> dict[str, Any]:
    """Return the figures of one size of the index."""
    rates = _rates([(ran.lines, ran.value_bytes, ran.wall_s, ran.cpu_s, ran.rss_bytes)])
    return {"at": ran.lines, **rates, "question_p50_s": ran.question_p50_s, "question_p95_s": ran.question_p95_s}


def _rates(rounds: Sequence[tuple[int, int, float, float, int]]) -> dict[str, Any]:
    """Return what lines, bytes, seconds, processor seconds and memory of each round come to."""
    bytes_per_s = sorted(value_bytes / wall_s for _, value_bytes, wall_s, _, _ in rounds)
    return {
        "lines": rounds[0][0],
        "lines_per_s": median(lines / wall_s for lines, _, wall_s, _, _ in rounds),
        "bytes_per_s": median(bytes_per_s),
        "bytes_per_s_range": [bytes_per_s[0], bytes_per_s[-1]],
        "bytes_per_cpu_s": median(value_bytes / cpu_s for _, value_bytes, _, cpu_s, _ in rounds),
        "cpu_us_per_line": median(1e6 * cpu_s / lines for lines, _, _, cpu_s, _ in rounds),
        "rss_bytes": median(rss_bytes for *_, rss_bytes in rounds),
    }


def axis_figures(axis: str, points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what `--json` prints of one axis, its points in ascending order."""
    fall, at = worst_fall(points, "bytes_per_s")
    cpu_fall, cpu_at = worst_fall(points, "bytes_per_cpu_s")
    found: dict[str, Any] = {
        "points": [{name: value for name, value in point.items() if name != "open_records"} for point in points],
        "worst_fall": fall,
        "worst_fall_from": at,
        "worst_cpu_fall": cpu_fall,
        "worst_cpu_fall_from": cpu_at,
        "holds": fall is None or fall <= MOST_FALL,
    }
    if axis == "lag":
        found |= {name: points[-1][name] for name in ("pauses_per_minute", "open_records")}
        found["rss_spread"] = rss_spread(points)
        found["holds"] &= found["rss_spread"] <= MOST_RSS_SPREAD and found["pauses_per_minute"] <= MOST_PAUSES_PER_MINUTE
    return found


def worst_fall(points: Sequence[Mapping[str, Any]], rate: str) -> tuple[float | None, float | None]:
    """Return the largest share of a rate that is lost at one doubling, and the point from where; negative if it rises everywhere.

    A wider step counts as several equal doublings. A point at 0 has no doubling. (None, None): there are fewer than two other points.
    """
    placed = [point for point in points if point["at"] > 0]
    falls = [
        (1 - (after[rate] / before[rate]) ** (1 / math.log2(after["at"] / before["at"])), before["at"])
        for before, after in pairwise(placed)
    ]
    if not falls:
        return None, None
    fall, at = max(falls)
    return fall, at


def rss_spread(points: Sequence[Mapping[str, Any]]) -> float:
    """Return how far memory is from that of the first point at most, as a share of it."""
    sizes = [float(point["rss_bytes"]) for point in points]
    return max(abs(size / sizes[0] - 1) for size in sizes)
