"""Turns the passes of `benchmarks.serve` into its figures; a side that is not there has None. Pure."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from benchmarks.race import percentile, ratios
from benchmarks.rivals.own_process import Vectors

OURS, BARE, INFINITY = "vectail", "bare", "infinity"


class ServedPass(NamedTuple):
    """What became of the texts of one turn of one side."""

    texts: int
    seconds: float
    """From the first request to the last answer."""
    waits_s: Sequence[float]
    """Of each request."""
    rows: Vectors
    """float32[texts, dim]"""

    @property
    def texts_per_s(self) -> float:
        """The rate."""
        return self.texts / self.seconds


Passes = Mapping[str, Sequence[ServedPass]]
"""By side, a pass a round."""


def rates(passes: Passes) -> dict[str, Any]:
    """Return what each side did, and how many times as fast ours is as each other side (medians of the rounds' ratios)."""
    found: dict[str, Any] = {"sides": {name: _one_side(each) for name, each in passes.items()}}
    ours = [one.texts_per_s for one in passes[OURS]]
    for name, each in passes.items():
        if name != OURS:
            times = ratios(ours, [one.texts_per_s for one in each])
            found[f"vs_{name}"], found[f"vs_{name}_worst"] = median(times), min(times)
    return found


def _one_side(passes: Sequence[ServedPass]) -> dict[str, float]:
    waits_s = [wait_s for one in passes for wait_s in one.waits_s]
    figures = {f"p{percent}_ms": 1000 * percentile(waits_s, percent) for percent in (50, 95, 99)} if waits_s else {}
    return {"texts_per_s": median(one.texts_per_s for one in passes)} | figures


class Beside(NamedTuple):
    """Users with one text each beside a user with many, and that one alone."""

    alone: ServedPass
    large: ServedPass
    small: ServedPass
    batch_s: float | None
    """Mean time of the engine's batches meanwhile; None: not told."""

    @property
    def lost_share(self) -> float:
        """What the others cost the large one beyond the tokens of their own texts (texts of one length each are compared by tokens)."""
        return 1 - (self.large.texts_per_s + self.small.texts / self.large.seconds * self.small_tokens_share) / self.alone.texts_per_s

    small_tokens_share: float = 1.0
    """Tokens of one of their texts, in texts of the large one."""


def beside_figures(rounds: Mapping[str, Sequence[Beside]]) -> dict[str, Any]:
    """Return the waits of the users with one text, and what they cost the large one."""
    found: dict[str, Any] = {"sides": {}}
    for name, each in rounds.items():
        waits_s = [wait_s for one in each for wait_s in one.small.waits_s]
        found["sides"][name] = {
            "p50_ms": 1000 * percentile(waits_s, 50),
            "p99_ms": 1000 * percentile(waits_s, 99),
            "requests": len(waits_s),
            "large_alone_texts_per_s": median(one.alone.texts_per_s for one in each),
            "large_beside_texts_per_s": median(one.large.texts_per_s for one in each),
            "large_lost_share": median(one.lost_share for one in each),
        }
    ours = found["sides"][OURS]
    batches_s = [one.batch_s for one in rounds[OURS] if one.batch_s is not None]
    found["capped_batch_ms"] = 1000 * median(batches_s) if batches_s else None
    for name, figures in found["sides"].items():
        if name != OURS:
            found[f"vs_{name}"] = figures["p99_ms"] / ours["p99_ms"]
    return found


def asked_for(cases: Mapping[str, Mapping[str, Any]], models: Mapping[str, Any], cosines: Mapping[str, float]) -> dict[str, Any]:
    """Return what `--json` prints."""
    users, beside = cases["users60"], cases["beside_bulk"]
    ours = users["sides"][OURS]
    return {
        "users60": {
            "texts_per_s": ours["texts_per_s"],
            "p50_ms": ours["p50_ms"],
            "p95_ms": ours["p95_ms"],
            "vs_infinity": users.get(f"vs_{INFINITY}"),
            "vs_bare_engine": users[f"vs_{BARE}"],
        },
        "mixed": {"vs_infinity": cases["mixed"].get(f"vs_{INFINITY}")},
        "beside_bulk": {
            "p99_ms": beside["sides"][OURS]["p99_ms"],
            "capped_batch_ms": beside["capped_batch_ms"],
            "vs_infinity": beside.get(f"vs_{INFINITY}"),
        },
        "recurring_per_s": cases["recurring"]["sides"][OURS]["texts_per_s"],
        "models": {name: models[name] for name in ("cold_s", "failures", "evicted_in_use", "memory_over_budget")},
        "cosine_min": cosines["served"],
        "alone_vs_mixed_min": cosines["alone_vs_mixed"],
    }
