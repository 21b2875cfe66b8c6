"""The pictures of the report, as PNGs: colours that colour-blind people tell apart, and markers that differ too. Imports matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.query_latency_client import Answered
from benchmarks.race import percentile

BY_HAND_PICTURE = "by_hand.png"
_FIRST, _SECOND, _IDLE = "#1b6ca8", "#c8553d", "#5a5a5a"
_DPI = 120
_HAND_WRITTEN = (("naive", _FIRST, "o", "times the naive worker"), ("batched", _SECOND, "s", "times the batched worker"))
_CORPORA = {"distinct": "all lines distinct", "mix": "the mix, from cold", "steady": "the steady state"}
_APART = 0.12
_AXES = {
    "lag": "records waiting",
    "partitions": "partitions",
    "line_bytes": "bytes a line",
    "distinct": "lines with a new template, %",
    "workers": "workers",
    "index": "lines in the index",
    "index_server": "lines in the index on a server",
}


def draw_by_hand(figures: Mapping[str, Any], file: Path) -> None:
    """Draw how many times faster than the workers written by hand, with the ranges, on a logarithmic axis."""
    figure, (axes,) = _new_figure(1, (8.0, 3.6))
    for side, (name, colour, shape, words) in enumerate(_HAND_WRITTEN):
        keys = [f"vs_{name}_{corpus}" for corpus in _CORPORA]
        places = [place + _APART * (1 - 2 * side) for place in range(len(keys))]
        middle = [float(figures[key]) for key in keys]
        low = [value - float(figures["worst"][key]) for value, key in zip(middle, keys, strict=True)]
        high = [float(figures["best"][key]) - value for value, key in zip(middle, keys, strict=True)]
        axes.errorbar(middle, places, xerr=[low, high], fmt=shape, color=colour, capsize=4, label=words)
    axes.axvline(1, color=_IDLE, linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.set_yticks(range(len(_CORPORA)), list(_CORPORA.values()))
    axes.invert_yaxis()
    axes.set_xlabel("vectail's lines a second over the other's: median and range of the rounds")
    axes.grid(visible=False, axis="y")
    axes.set_title(
        f"{figures['engine']} ({figures['number_format']}), batched with {figures['batched_engine']};"
        f" mix: {figures['lines_per_template_mix']:g} lines per template"
    )
    _save(figure, file, has_legend=True)


def draw_latency(answered: Mapping[str, Sequence[Answered]], file: Path) -> None:
    """Draw every question as a point at the moment it was asked; `answered` has the sides `ours`, `fifo` and `idle`."""
    figure, (axes,) = _new_figure(1, (9.0, 4.8))
    late = [one for one in answered["fifo"] if one.outcome == "open"]
    done = [one for one in answered["fifo"] if one.outcome != "open"]
    if done:
        axes.scatter(*_points(done), s=14, color=_SECOND, linewidths=0, label="one lane for all")
    if late:
        axes.scatter(
            *_points(late), s=22, marker="^", facecolors="none", edgecolors=_SECOND, label="one lane for all: still open, at least"
        )
    axes.scatter(*_points(answered["ours"]), s=14, color=_FIRST, linewidths=0, label="queries first")
    usual_s = percentile([one.total_s for one in answered["idle"]], 50)
    axes.axhline(usual_s, color=_IDLE, linewidth=1, linestyle="--", label=f"idle, median {1000 * usual_s:.0f} ms")
    axes.set_yscale("log")
    axes.set_xlabel("asked at, seconds since the questions began")
    axes.yaxis.set_major_formatter(lambda seconds, _place: f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms")
    axes.set_ylabel("time to the answer")
    axes.set_title("Search while the log topic is saturated")
    _save(figure, file, has_legend=True)


def draw_growth(axis: str, found: Mapping[str, Any], file: Path) -> None:
    """Draw bytes/s, processor time and memory along an axis, and where there is one the time until a line or an answer is there."""
    points = found["points"]
    at = [point["at"] for point in points]
    timed = [name for name in ("acknowledged", "question") if f"{name}_p50_s" in points[0]]
    figure, panels = _new_figure(3 + len(timed), (3.6 * (3 + len(timed)), 3.4))
    least, most = ([point["bytes_per_s_range"][end] / 1e6 for point in points] for end in (0, 1))
    panels[0].fill_between(at, least, most, color=_FIRST, alpha=0.2, linewidth=0)
    _line(panels[0], at, [point["bytes_per_s"] / 1e6 for point in points], "MB/s, median and range")
    _line(panels[1], at, [point["cpu_us_per_line"] for point in points], "processor, µs a line")
    _line(panels[2], at, [point["rss_bytes"] / 1e6 for point in points], "peak memory of the process, MB")
    for name, panel in zip(timed, panels[3:], strict=True):
        words = "until a line is acknowledged" if name == "acknowledged" else "until a question is answered"
        _line(panel, at, [1e3 * point[f"{name}_p50_s"] for point in points], f"{words}, ms", label="median")
        panel.plot(at, [1e3 * point[f"{name}_p95_s"] for point in points], color=_SECOND, marker="^", linestyle="--", label="p95")
        panel.legend(frameon=False)
    for panel in panels:
        panel.set_xscale("symlog" if min(at) == 0 else "log", base=2)
        panel.set_xticks(at, [f"{place:g}" if place < 100_000 else f"{place / 1e6:.2g} M" for place in at], rotation=45)  # noqa: PLR2004
        panel.minorticks_off()
        panel.set_ylim(bottom=0)
        panel.set_xlabel(_AXES[axis])
    _save(figure, file)


def draw_open_records(found: Mapping[str, Any], cap_records: int, file: Path) -> None:
    """Draw the open records over time, at the largest lag, below the cap at which intake pauses."""
    figure, (panel,) = _new_figure(1, (7.2, 3.0))
    seconds, records = zip(*found["open_records"], strict=True)
    panel.plot(seconds, records, color=_FIRST, linewidth=1)
    panel.axhline(cap_records, color=_SECOND, linestyle="--", label="cap")
    panel.set_ylim(bottom=0)
    panel.set_xlabel("seconds")
    panel.set_title(f"open records; {found['pauses_per_minute']:g} pauses a minute")
    panel.legend(frameon=False)
    _save(figure, file)


def _points(answered: Sequence[Answered]) -> tuple[list[float], list[float]]:
    return [one.due_s for one in answered], [one.total_s for one in answered]


def _line(panel: Axes, at: list[float], values: list[float], title: str, label: str = "") -> None:
    panel.plot(at, values, color=_FIRST, marker="o", label=label)
    panel.set_title(title)


def _new_figure(panels: int, inches: tuple[float, float]) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure of that many panels side by side; width and height are of all of it."""
    mpl.use("Agg")
    figure, grid = plt.subplots(1, panels, figsize=inches, layout="constrained", squeeze=False)
    axes = list(grid[0])
    for one in axes:
        one.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, file: Path, *, has_legend: bool = False) -> None:
    """Write a PNG and forget the figure."""
    if has_legend:
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(file, dpi=_DPI)
    plt.close(figure)
