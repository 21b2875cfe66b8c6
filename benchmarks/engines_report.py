"""Turns measurements into figures: medians and worst rounds, ratios within a round, vectors compared row by row.

Pure: `benchmarks.engines` passes the measurements in and prints the result.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.rivals.own_process import Turn, Vectors

OURS = "vectail's embed stage"
BARE = "bare engine"
SENTENCE = "sentence-transformers float32"
TRANSFORMERS = "Transformers float32"
ONNX = "ONNX Runtime float32"
LLM = "LLM.embed(list[str])"
_REFERENCES = (SENTENCE, TRANSFORMERS)


class Compared(NamedTuple):
    """The measurements of one run."""

    about: Mapping[str, Any]
    turns: Mapping[str, Sequence[Turn]]
    """By name, one for each round; every side has equally many."""
    left_out: Mapping[str, str]
    """Sides without turns, with the reason."""


def figures_of(compared: Compared) -> dict[str, Any]:
    """Return what `--json` prints. A figure is None where its other side was left out."""
    turns = compared.turns
    reference = next((name for name in _REFERENCES if name in turns), None)

    def times(other: str, choose: Callable[[list[float]], float] = median) -> float | None:
        return round(choose(_ratios(turns, other)), 3) if other in turns else None

    return {
        "vs_bare_engine": times(BARE),
        "vs_sentence_transformers_fp32": times(SENTENCE),
        "min_cosine": _worst_cosine(turns, OURS, reference) if reference else None,
        "min_cosine_bare": _worst_cosine(turns, OURS, BARE),
        "vs_bare_engine_worst": times(BARE, min),
        "vs_bare_engine_cpu": round(median(_cpu_ratios(turns)), 3),
        "vs_sentence_transformers_fp32_worst": times(SENTENCE, min),
        "vs_onnx_fp32": times(ONNX),
        "vs_llm_embed": times(LLM),
        "reference": reference,
        **compared.about,
        "rounds": len(turns[OURS]),
        "sides": {name: _side(compared, name, reference) for name in turns},
        "left_out": dict(compared.left_out),
    }


def _side(compared: Compared, name: str, reference: str | None) -> dict[str, float | None]:
    of, lines = compared.turns[name], int(compared.about["lines"])
    ratios = _ratios(compared.turns, name)
    return {
        "lines_per_s": round(lines / median(turn.seconds for turn in of), 1),
        "lines_per_s_worst": round(lines / max(turn.seconds for turn in of), 1),
        "cpu_ms_per_line": None if name == LLM else round(1000 * median(turn.cpu_s for turn in of) / lines, 2),
        "times": round(median(ratios), 3),
        "times_worst": round(min(ratios), 3),
        "min_cosine": _worst_cosine(compared.turns, name, reference) if reference else None,
    }


def _ratios(turns: Mapping[str, Sequence[Turn]], other: str) -> list[float]:
    """Return our rate divided by the other's, by round."""
    return [theirs.seconds / ours.seconds for ours, theirs in zip(turns[OURS], turns[other], strict=True)]


def _cpu_ratios(turns: Mapping[str, Sequence[Turn]]) -> list[float]:
    """Return the bare engine's processor time divided by ours, by round: other load disturbs it less than the rates."""
    return [bare.cpu_s / ours.cpu_s for ours, bare in zip(turns[OURS], turns[BARE], strict=True)]


def _worst_cosine(turns: Mapping[str, Sequence[Turn]], name: str, reference: str) -> float:
    """Return the lowest cosine between equal rows, over all rounds."""
    wanted = _unit(turns[reference][0].vectors)
    return round(min(float((_unit(turn.vectors) * wanted).sum(axis=1).min()) for turn in turns[name]), 6)


def _unit(vectors: Vectors) -> Vectors:
    rows: Vectors = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return rows


def show_table(figures: dict[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(
        f"{figures['lines']} lines of {figures['tokens_per_line']} tokens, {figures['rounds']} rounds, {figures['threads']} processors; "
        f"{figures['engine']} ({figures['number_format']}) in batches of {figures['batch_tokens']} tokens"
    )
    show("")
    reference = figures["reference"] or "a reference"
    show(f"| | lines/s | worst round | processor ms a line | vectail is times | worst round | lowest cosine to {reference} |")
    show("|---|---:|---:|---:|---:|---:|---:|")
    for name, side in figures["sides"].items():
        times = "| |" if name == OURS else f"{side['times']:.2f} | {side['times_worst']:.2f} |"
        cpu = "-" if side["cpu_ms_per_line"] is None else f"{side['cpu_ms_per_line']:.1f}"
        cosine = "-" if side["min_cosine"] is None else f"{side['min_cosine']:.6f}"
        show(f"| {name} | {side['lines_per_s']:.0f} | {side['lines_per_s_worst']:.0f} | {cpu} | {times} {cosine} |")
    for name, reason in figures["left_out"].items():
        show(f"| {name} | - | - | - | - | - | {reason} |")
    show("")
    show(f"In processor time the bare engine takes {figures['vs_bare_engine_cpu']:.1%} of what the stage takes.")
