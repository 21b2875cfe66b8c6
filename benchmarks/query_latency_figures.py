"""Turns the outcomes of questions and batches into the figures of `benchmarks.query_latency`. Pure.

Percentiles are observed values (nearest rank): of 240 questions p99 is the third slowest. A question without an answer counts with its
waiting time, so the percentiles of such a side are lower bounds.
"""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from benchmarks.query_latency_client import Answered
from benchmarks.query_latency_sides import BatchTime
from benchmarks.race import percentile

PERCENTILES = (50, 95, 99)
PARTS = ("wait", "embed", "search")
FULL_SHARE = 0.75


class Stretch(NamedTuple):
    """Some seconds of the loaded service, with queries or without."""

    seconds: float
    log_tokens: int
    query_tokens: int

    @property
    def tokens_per_s(self) -> float:
        """Tokens a second for logs and queries together."""
        return (self.log_tokens + self.query_tokens) / self.seconds


class Round(NamedTuple):
    """Two stretches beside each other."""

    asked: Stretch
    alone: Stretch

    @property
    def loss_share(self) -> float:
        """Return the share that logs lost to queries, beyond the queries' own tokens."""
        return 1 - self.asked.tokens_per_s / self.alone.tokens_per_s


def wait_and_embed_s(answered: Answered) -> float:
    """Return a question's wait for the engine plus its time in it; its total time if the worker reports none."""
    return answered.seconds["wait"] + answered.seconds["embed"] if answered.seconds else answered.total_s


def parts_ms(answered: Sequence[Answered]) -> dict[str, dict[str, float]]:
    """Return the percentiles of the whole and of its parts, in milliseconds; `reply` is the rest: Kafka, and the wait for the search."""
    told = [one for one in answered if one.seconds]
    found = {"total": [one.total_s for one in answered], "wait_embed": [wait_and_embed_s(one) for one in answered]}
    found |= {part: [one.seconds[part] for one in told] for part in PARTS}
    found["reply"] = [one.total_s - sum(one.seconds[part] for part in PARTS) for one in told]
    return {
        part: {f"p{percent}": 1000 * percentile(values, percent) for percent in PERCENTILES} for part, values in found.items() if values
    }


def outcomes(answered: Sequence[Answered]) -> dict[str, int]:
    """Count the questions by outcome: `hits`, `open`, or the code of an error."""
    return dict(Counter(one.outcome for one in answered))


def capped_batches(batches: Sequence[BatchTime], since_s: float, until_s: float) -> list[BatchTime]:
    """Return the batches of logs alone that a stretch with questions saw after its first question, those that are full.

    Full is what holds at least three quarters of the median's tokens: one that had to leave room says nothing of a whole one.
    """
    within = [batch for batch in batches if since_s <= batch.started_s < until_s]
    first_s = next((batch.started_s for batch in within if batch.queries), until_s)
    alone = [batch for batch in within if not batch.queries and batch.started_s > first_s]
    usual = median(batch.log_tokens for batch in alone) if alone else 0
    return [batch for batch in alone if batch.log_tokens >= FULL_SHARE * usual]


def loaded_figures(
    ours: Sequence[Answered], fifo: Sequence[Answered], idle: Sequence[Answered], rounds: Sequence[Round], capped: Sequence[BatchTime]
) -> dict[str, Any]:
    """Return the figures under load."""
    cap_s = percentile([batch.seconds for batch in capped], 99)
    ours_s, fifo_s = (percentile([wait_and_embed_s(one) for one in side], 99) for side in (ours, fifo))
    capacity = median(one.alone.tokens_per_s for one in rounds)
    query_tokens_per_s = sum(one.asked.query_tokens for one in rounds) / sum(one.asked.seconds for one in rounds)
    return {
        "p99_over_batch_cap": ours_s / cap_s,
        "fifo_p99_over_ours": fifo_s / ours_s,
        "bulk_loss_share": median(one.loss_share for one in rounds),
        "answered": outcomes(ours).get("hits", 0),
        "asked": len(ours),
        "bulk_loss_share_rounds": [one.loss_share for one in rounds],
        "query_token_share": query_tokens_per_s / capacity,
        "bulk_tokens_per_s": capacity,
        "batch_cap_ms": 1000 * cap_s,
        "batch_median_ms": 1000 * median(batch.seconds for batch in capped),
        "batch_tokens": median(batch.log_tokens for batch in capped),
        "idle_ms": parts_ms(idle),
        "loaded_ms": parts_ms(ours),
        "fifo_ms": parts_ms(fifo),
        "outcomes": {"idle": outcomes(idle), "loaded": outcomes(ours), "fifo": outcomes(fifo)},
    }


def closed_figures(answered: Sequence[Answered], seconds: float) -> dict[str, Any]:
    """Return what users in a closed loop see."""
    return {
        "asked": len(answered),
        "queries_per_s": len(answered) / seconds,
        "outcomes": outcomes(answered),
        "ms": parts_ms(answered),
    }
