"""The figures of `benchmarks.by_hand`: of the turns of all rounds, for `--json`, and as a table."""

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from benchmarks.by_hand_corpora import CORPORA
from benchmarks.by_hand_turns import Turn

KEYS = (
    *(f"vs_{side}_{corpus}" for side in ("naive", "batched") for corpus in CORPORA),
    "overlap_share",
    "bare_engine_share",
    "vs_sentence_distinct",
    "engine_idle_share",
)
"""The headline figures; `null` where something is missing here, and `absent` has the reason."""
Rounds = dict[str, list[Turn]]
"""`SIDE_CORPUS` → its turns."""


def figures_of(found: Rounds, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of all rounds; `counts` has the lines of each side and corpus in one turn."""
    rates = {key: [counts[key] / turn.seconds for turn in turns] for key, turns in found.items()}
    ratios = {
        f"vs_{side}_{corpus}": [ours / theirs for ours, theirs in zip(rates[f"ours_{corpus}"], rates[f"{side}_{corpus}"], strict=True)]
        for side in ("naive", "batched", "sentence")
        for corpus in CORPORA
        if f"{side}_{corpus}" in rates
    }
    ratios.setdefault("vs_sentence_distinct", ratios["vs_batched_distinct"])
    ratios["bare_engine_share"] = [turn.figures["bare_s"] / turn.figures["acknowledged_s"] for turn in found["ours_distinct"]]
    for name in ("overlap_share", "engine_idle_share"):
        ratios[name] = [turn.figures[name] for turn in found["ours_mix"]]
    return {
        **{name: round(median(values), 3) for name, values in ratios.items()},
        "worst": {name: round((max if name == "engine_idle_share" else min)(values), 3) for name, values in ratios.items()},
        "best": {name: round((min if name == "engine_idle_share" else max)(values), 3) for name, values in ratios.items()},
        "lines_per_s": {key: round(median(values), 1) for key, values in rates.items()},
        "busy_share": {
            corpus: {name: round(median(turn.figures[name] for turn in found[f"ours_{corpus}"]), 3) for name in _shares(found, corpus)}
            for corpus in CORPORA
        },
        "lines": dict(counts),
        "rounds": len(found["ours_mix"]),
    }


def _shares(found: Rounds, corpus: str) -> list[str]:
    own = ("overlap_share", "engine_idle_share")
    return [name for name in found[f"ours_{corpus}"][0].figures if name.endswith("_share") and name not in own]


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"engine {figures['engine']} ({figures['number_format']}); batched with {figures['batched_engine']}; {figures['rounds']} rounds")
    show(f"{'lines/s':<12}{'vectail':>12}{'batched':>12}{'naive':>12}{'vs batched':>12}{'vs naive':>12}")
    for corpus in CORPORA:
        rates = "".join(f"{figures['lines_per_s'][f'{side}_{corpus}']:>12,.1f}" for side in ("ours", "batched", "naive"))
        show(f"{corpus:<12}{rates}{figures[f'vs_batched_{corpus}']:>12,.1f}{figures[f'vs_naive_{corpus}']:>12,.1f}")
    show(
        f"distinct lines: {figures['bare_engine_share']:.3f} of the bare engine,"
        f" {figures['vs_sentence_distinct']:.2f} times batched with sentence-transformers in float32"
    )
    show(
        f"cold mix: {figures['templates_mix']:,} templates, {figures['lines_per_template_mix']:,.1f} lines per template (the others embed"
        " every line)"
    )
    show(
        f"cold mix: the busiest stage is busy {figures['overlap_share']:.1%} of the time; of the looks that saw templates wait,"
        f" {figures['engine_idle_share']:.1%} saw the engine idle"
    )
