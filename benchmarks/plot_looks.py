"""What plots of benchmarks have in common: colours that colour-blind people tell apart, grid, frame. The one importer of matplotlib."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["FIFO", "FIRST", "IDLE", "OURS", "SECOND", "Axes", "new_figure", "save"]
FIRST, SECOND, IDLE = "#1b6ca8", "#c8553d", "#5a5a5a"
OURS, FIFO = FIRST, SECOND


def new_figure(panels: int, inches: tuple[float, float]) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure of that many panels side by side; width and height are of all of it."""
    mpl.use("Agg")
    figure, grid = plt.subplots(1, panels, figsize=inches, layout="constrained", squeeze=False)
    axes = list(grid[0])
    for one in axes:
        one.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Figure, file: Path, *, dots_per_inch: int) -> None:
    """Write a PNG and forget the figure."""
    figure.savefig(file, dpi=dots_per_inch)
    plt.close(figure)
