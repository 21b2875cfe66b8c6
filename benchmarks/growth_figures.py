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

_COLUMNS = (
    *(("lines/s", 12), ("MB/s", 9), ("least", 9), ("most", 9)),
    *(("µs a line", 12), ("RSS, MB", 10), ("start, s", 10), ("p50, s", 9), ("p95, s", 9)),
)


def row_of(point: Point, rounds: Sequence[Ran]) -> dict[str, Any]:
    """Return the figures of one point: medians over its rounds, and of rates the least and the most."""
    ages_s = [age_s for ran in rounds for age_s in ran.ages_s]
    bytes_per_s = sorted(ran.value_bytes / ran.wall_s for ran in rounds)
    return {
        "at": point.at,
        "lines": rounds[0].records,
        "lines_per_s": round(median(ran.records / ran.wall_s for ran in rounds)),
        "bytes_per_s": round(median(bytes_per_s)),
        "bytes_per_s_range": [round(bytes_per_s[0]), round(bytes_per_s[-1])],
        "bytes_per_cpu_s": round(median(ran.value_bytes / ran.cpu_s for ran in rounds)),
        "cpu_us_per_line": round(median(1e6 * ran.cpu_s / ran.records for ran in rounds), 2),
        "rss_bytes": round(median(ran.rss_bytes for ran in rounds)),
        "start_s": round(median(ran.start_s for ran in rounds), 2),
        "lines_per_block": round(median(ran.records / max(ran.blocks, 1) for ran in rounds), 1),
        "pauses_per_minute": round(median(60 * ran.pauses / ran.wall_s for ran in rounds), 1),
        **({"open_records": list(rounds[0].open_records)} if point.axis == "lag" else {}),
        **_ages(ages_s),
    }


def index_row_of(rounds: Sequence[IndexRan]) -> dict[str, Any]:
    """Return the figures of one size of the index."""
    bytes_per_s = sorted(ran.value_bytes / ran.wall_s for ran in rounds)
    return {
        "at": rounds[0].lines,
        "lines": rounds[0].lines,
        "lines_per_s": round(median(ran.lines / ran.wall_s for ran in rounds)),
        "bytes_per_s": round(median(bytes_per_s)),
        "bytes_per_s_range": [round(bytes_per_s[0]), round(bytes_per_s[-1])],
        "bytes_per_cpu_s": round(median(ran.value_bytes / ran.cpu_s for ran in rounds)),
        "cpu_us_per_line": round(median(1e6 * ran.cpu_s / ran.lines for ran in rounds), 2),
        "rss_bytes": round(median(ran.rss_bytes for ran in rounds)),
        "question_p50_s": round(median(ran.question_p50_s for ran in rounds), 4),
        "question_p95_s": round(median(ran.question_p95_s for ran in rounds), 4),
    }


def _ages(ages_s: Sequence[float]) -> dict[str, float]:
    if not ages_s:
        return {}
    return {f"acknowledged_p{percent}_s": round(float(np.percentile(ages_s, percent)), 3) for percent in (50, 95)}


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
    return round(fall, 3), at


def rss_spread(points: Sequence[Mapping[str, Any]]) -> float:
    """Return how far memory is from that of the first point at most, as a share of it."""
    sizes = [float(point["rss_bytes"]) for point in points]
    return round(max(abs(size / sizes[0] - 1) for size in sizes), 3)


def table_of(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the figures as lines that a person reads."""
    shown: list[str] = []
    for axis, found in figures.items():
        if "no_server" in found:
            shown.append(f"{axis:<12} no server: {found['no_server']}")
            continue
        shown.append(f"{axis:<12}" + "".join(f"{name:>{width}}" for name, width in _COLUMNS))
        for point in found["points"]:
            least, most = point["bytes_per_s_range"]
            rates = f"{point['lines_per_s']:>12,}" + "".join(f"{rate / 1e6:>9.2f}" for rate in (point["bytes_per_s"], least, most))
            times = [point.get(f"acknowledged_{which}_s", point.get(f"question_{which}_s")) for which in ("p50", "p95")]
            start = f"{point['start_s']:>10.2f}" if "start_s" in point else f"{'':>10}"
            said = "".join(f"{'':>9}" if one is None else f"{one:>9.3f}" for one in times)
            shown.append(f"{point['at']:<12g}{rates}{point['cpu_us_per_line']:>12.2f}{point['rss_bytes'] / 1e6:>10.0f}{start}{said}")
        if found["worst_fall"] is not None:
            shown.append(f"largest fall of bytes/s at a doubling: {found['worst_fall']:.1%}, from {found['worst_fall_from']:g}")
            shown.append(f"of bytes per processor second: {found['worst_cpu_fall']:.1%}, from {found['worst_cpu_fall_from']:g}")
        if "rss_spread" in found:
            shown.append(f"memory differs by at most {found['rss_spread']:.1%}; {found['pauses_per_minute']:g} pauses a minute")
    return shown
