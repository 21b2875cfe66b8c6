"""Latency over time, ours against one lane, as a PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.plot_looks import FIFO, IDLE, OURS, new_figure, save
from benchmarks.query_latency_client import Answered
from benchmarks.query_latency_figures import percentile

_INCHES = (9.0, 4.8)
_DPI = 150


def draw(answered: Mapping[str, Sequence[Answered]], file: Path) -> None:
    """Draw every question as a point at the moment it was asked; `answered` has the sides `ours`, `fifo` and `idle`."""
    figure, (axes,) = new_figure(1, _INCHES)
    fifo, ours = answered["fifo"], answered["ours"]
    late = [one for one in fifo if one.outcome == "open"]
    done = [one for one in fifo if one.outcome != "open"]
    if done:
        axes.scatter(*_points(done), s=14, color=FIFO, linewidths=0, label="one lane for all")
    if late:
        axes.scatter(*_points(late), s=22, marker="^", facecolors="none", edgecolors=FIFO, label="one lane for all: still open, at least")
    axes.scatter(*_points(ours), s=14, color=OURS, linewidths=0, label="queries first")
    usual_s = percentile([one.total_s for one in answered["idle"]], 50)
    axes.axhline(usual_s, color=IDLE, linewidth=1, linestyle="--", label=f"idle, median {1000 * usual_s:.0f} ms")
    axes.set_yscale("log")
    axes.set_xlabel("asked at, seconds since the questions began")
    axes.yaxis.set_major_formatter(lambda seconds, _place: f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms")
    axes.set_ylabel("time to the answer")
    axes.set_title("Search while the log topic is saturated")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    save(figure, file, dots_per_inch=_DPI)


def _points(answered: Sequence[Answered]) -> tuple[list[float], list[float]]:
    return [one.due_s for one in answered], [one.total_s for one in answered]
