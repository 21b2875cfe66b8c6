"""Samples of a worker during a soak, as a table and a chart, and the verdict on its memory."""

import csv
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

WARM_S = 20.0
"""A worker first loads code and opens connections; its memory after this time is its baseline."""


class Sample(NamedTuple):
    """One sample of a worker."""

    at_s: float
    life: int
    """Number of the worker, from 1; a killed worker is followed by the next."""
    age_s: float
    """Of this worker."""
    rss_bytes: int
    threads: int
    open_files: int
    lag_records: int
    """Records sent and not committed."""
    fault: str
    """The faults at this moment; empty if none."""


class Growth(NamedTuple):
    """Memory growth of the workers."""

    most_bytes: int
    """Over its baseline, for the worker that grew most."""
    late_bytes: int
    """In the second half of one fault, the largest of all faults: what still grows then would grow for ever."""


def growth_of(samples: Iterable[Sample], long_fault: str) -> Growth:
    """Return the memory growth; 0 where the samples span too little time."""
    warm = [sample for sample in samples if sample.age_s >= WARM_S]
    lives = [list(group) for _, group in groupby(warm, key=lambda sample: sample.life)]
    most = max((max(one.rss_bytes for one in life) - life[0].rss_bytes for life in lives), default=0)
    away = [sample.rss_bytes for life in lives for sample in life if long_fault in sample.fault]
    half = len(away) // 2
    late = max(away[half:]) - max(away[:half]) if half else 0
    return Growth(most, late)


def write_table(samples: Sequence[Sample], path: Path) -> None:
    """Write all samples as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Sample._fields)
        writer.writerows(samples)


def write_picture(samples: Sequence[Sample], path: Path) -> None:
    """Draw all samples as a PNG."""
    minutes = [sample.at_s / 60 for sample in samples]
    drawn: dict[str, list[float]] = {
        "memory, MiB": [sample.rss_bytes / 2**20 for sample in samples],
        "lag, records": [sample.lag_records for sample in samples],
        "threads": [sample.threads for sample in samples],
        "open files": [sample.open_files for sample in samples],
    }
    figure = Figure(figsize=(12, 9))
    axes = figure.subplots(len(drawn), sharex=True)
    for axis, (name, values) in zip(axes, drawn.items(), strict=True):
        axis.plot(minutes, values, linewidth=1)
        axis.set_ylabel(name)
        axis.set_ylim(bottom=0)
        axis.grid(visible=True, alpha=0.3)
        for first, second in pairwise(samples):
            if first.fault:
                axis.axvspan(first.at_s / 60, second.at_s / 60, color="red" if "milvus away" in first.fault else "orange", alpha=0.15)
    axes[-1].set_xlabel("minutes (red: Milvus away; orange: another fault)")
    figure.tight_layout()
    figure.savefig(path)
