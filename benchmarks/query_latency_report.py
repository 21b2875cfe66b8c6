"""The figures of `benchmarks.query_latency` as a person reads them. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

PARTS = ("total", "wait_embed", "wait", "embed", "search", "reply")
_SIDES = {"idle_ms": "idle", "loaded_ms": "under load", "fifo_ms": "behind one lane"}


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show all of it."""
    show(f"{figures['asked']} questions under load, {figures['answered']} answered; engine {figures['engine']}")
    for key, side in _SIDES.items():
        show("")
        _show_parts(side, figures[key], show)
    open_questions = figures["outcomes"]["fifo"].get("open", 0)
    if open_questions:
        show(f"Behind one lane {open_questions} were still open at the end: their time so far counts, so its percentiles are lower bounds.")
    show("")
    median = f"median {figures['batch_median_ms']} ms, {figures['batch_tokens']:g} tokens, aimed at {figures['batch_target_ms']:g} ms"
    cap = f"{figures['batch_cap_ms']} ms (p99; {median})"
    show(f"a capped bulk batch takes {cap}")
    show(f"p99 of wait + embed over that:   {figures['p99_over_batch_cap']:.2f}   (goal: at most 2)")
    show(f"p99 behind one lane over ours:   {figures['fifo_p99_over_ours']:.0f}   (goal: at least 10)")
    rounds = ", ".join(f"{share:.1%}" for share in figures["bulk_loss_share_rounds"])
    show(f"bulk loss net of queries' tokens: {figures['bulk_loss_share']:.1%} (rounds: {rounds})   (goal: at most 10%)")
    show(f"tokens of questions:             {figures['query_token_share']:.2%} of {figures['bulk_tokens_per_s']:,} tokens/s")
    closed = figures["closed_loop"]
    show("")
    index = f"{closed['lines']:,} lines of {closed['templates']:,} templates"
    show(f"{closed['users']} users in a closed loop, {index} (goal: p50 200, p95 300 ms)")
    for kind in ("distinct", "repeated"):
        one = closed[kind]
        show("")
        _show_parts(f"{kind}, {one['queries_per_s']:g}/s", one["ms"], show)


def _show_parts(side: str, parts: Mapping[str, Mapping[str, float]], show: Callable[[str], None]) -> None:
    show(f"{side + ', ms':<24}" + "".join(f"{part:>12}" for part in PARTS if part in parts))
    for name in parts["total"]:
        show(f"  {name:<22}" + "".join(f"{parts[part][name]:>12,.1f}" for part in PARTS if part in parts))
