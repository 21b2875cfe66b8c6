"""How many times faster than the workers written by hand, as a PNG."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.plot_looks import FIRST, IDLE, SECOND, new_figure, save

BY_HAND_PICTURE = "by_hand.png"
_SIDES = (("naive", FIRST, "o", "times the naive worker"), ("batched", SECOND, "s", "times the batched worker"))
_CORPORA = {"distinct": "all lines distinct", "mix": "the mix, from cold", "steady": "the steady state"}
_INCHES = (8.0, 3.6)
_DPI = 120
_APART = 0.12


def draw_by_hand(figures: Mapping[str, Any], file: Path) -> None:
    """Draw the ratios to both workers with their ranges, on a logarithmic axis; colours and shapes tell the workers apart."""
    figure, (axes,) = new_figure(1, _INCHES)
    for side, (name, colour, shape, words) in enumerate(_SIDES):
        keys = [f"vs_{name}_{corpus}" for corpus in _CORPORA]
        places = [place + _APART * (1 - 2 * side) for place in range(len(keys))]
        middle = [float(figures[key]) for key in keys]
        low = [value - float(figures["worst"][key]) for value, key in zip(middle, keys, strict=True)]
        high = [float(figures["best"][key]) - value for value, key in zip(middle, keys, strict=True)]
        axes.errorbar(middle, places, xerr=[low, high], fmt=shape, color=colour, capsize=4, label=words)
    axes.axvline(1, color=IDLE, linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.set_yticks(range(len(_CORPORA)), list(_CORPORA.values()))
    axes.invert_yaxis()
    axes.set_xlabel("vectail's lines a second over the other's: median and range of the rounds")
    axes.grid(visible=False, axis="y")
    axes.set_title(
        f"{figures['engine']} ({figures['number_format']}), batched with {figures['batched_engine']};"
        f" mix: {figures['lines_per_template_mix']:g} lines per template"
    )
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    save(figure, file, dots_per_inch=_DPI)
