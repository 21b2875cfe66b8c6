"""What vectail needs for some files: the counts of a sample, scaled to the whole and converted to bytes, seconds and rates. Pure.

Every figure has one of four sources, which `RESTS_ON` names: *counted* in the lines that were read; *scaled* from them by bytes;
*predicted* by `worker.estimate.extrapolation`; *measured* on this machine, or once on another and written here as a constant.
All figures are for a cold start: no template is known and every cache is empty. The second time, none of the same lines is embedded.
In mode `exact`, every distinct text counts as a template.
"""

import math
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from worker.estimate.extrapolation import predict_templates
from worker.estimate.sample_tally import ModeTally

_KNOWN_BYTES = 28
"""For each template that is known to be stored (`worker.indexing.known_templates`)."""
_TEMPLATE_ID_BYTES = 32
_REDIS_NODE_BYTES = 40
"""A key's entry in the table, and its object."""
_REDIS_TABLES_BYTES = 61
"""Its share of the table's buckets, and its entry among the expiring keys: from used_memory of 100,000 keys on Redis 7.0.15."""
LITE_TEMPLATE_FACTOR = 2.12
"""Bytes on disk per byte of template rows: Milvus Lite 3.1, closed, 1,523 templates of eight systems. Vectors do not compress, and are
stored twice, in the rows and in their index."""
CLIENT_US_PER_LINE = 1.6
"""Processor time of the poller (1.3) and the Kafka client's own threads (0.3): `benchmarks.poll_to_ready`, 400,000 lines of eight systems,
two shared AVX-512 cores (docs/performance.md)."""
WORKER_LOAD = 0.5
"""The share of a processor that a worker should use: the rest works off lag. Python holds a lock, so a worker keeps one processor busy:
149,000 lines/s at 6.4 microseconds (benchmarks/RESULTS.md, two AVX-512 cores)."""

USUAL_DAYS = 30.0
"""How long lines are kept where the settings keep them for ever: a day count is needed for a number of bytes."""
DAY_S = 86_400.0


class Rate(NamedTuple):
    """How fast logs arrive."""

    per_s: float
    unit: Literal["lines", "bytes"] = "lines"

    def lines_per_s(self, bytes_per_line: float) -> float:
        """Return it in lines a second; 0 if there are no lines to compare with."""
        if self.unit == "lines":
            return self.per_s
        return self.per_s / bytes_per_line if bytes_per_line else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleScale:
    """How much more there is than was read."""

    factor: float
    """All lines per line read; 1 if everything was read."""
    lines: int
    """In all files."""
    entries: int
    stretches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateInputs:
    """What the estimate depends on besides the lines."""

    dim: int
    redis_key_bytes: int
    redis_value_bytes: int
    vector_bytes: int
    """Of one template in the cache of the process."""
    rate_lines_per_s: float
    engine_tokens_per_s: float | None
    """None if the engine had nothing to compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeEstimate:
    """One mode's figures, under their names in `--json`; None where there is nothing to divide by."""

    templates_sampled: int
    templates: int
    templates_low: int
    templates_high: int
    entries_without_embedding_share: float | None
    tokens_without_embedding_share: float | None
    tokens_per_entry_mean: float | None
    tokens_per_entry_p50: int | None
    tokens_per_entry_p99: int | None
    tokens_per_entry_max: int | None
    chunked_entries: int
    too_many_chunks_entries: int
    tokens: int
    tokens_to_embed: int
    needed_tokens_per_s: float | None
    """At the given rate, averaged over these files."""
    engine_s: float | None
    """To embed every template once."""
    engine_lines_per_s: float | None
    """What the engine can keep up with; no other part of vectail is in this figure."""
    redis_bytes: int
    memory_bytes: int
    """To hold all vectors and all known templates in the process; `cache.memory_bytes` bounds the vectors."""
    milvus_blocks: int
    milvus_block_bytes: int
    """Of the blocks as they are sent: a little over what a server keeps of them in memory."""
    milvus_bytes_per_line: float | None
    milvus_template_bytes: int
    milvus_lite_disk_bytes: int


RESTS_ON = {
    "lines": "counted in all files, or scaled: bytes of the files / bytes of a line read",
    "templates": "counted, or predicted from the stretches (Chao2 below, Heaps above, their geometric mean)",
    "shares": "counted, or templates x tokens of a template against all tokens; cold start",
    "redis_bytes": "computed; matches used_memory of 100,000 keys on Redis 7.0.15",
    "milvus_bytes": "measured: blocks built of the lines that were read; without the server's own indexes and copies",
    "milvus_lite_disk_bytes": f"measured for lines, as above; templates x {LITE_TEMPLATE_FACTOR}, as measured on Milvus Lite",
    "engine": "measured on this machine, on templates of the sample in mode template",
    "workers": f"measured on this machine for known lines, {CLIENT_US_PER_LINE} microseconds for polling added; half of a processor each",
    "partitions": "twice as many as workers, so that these can be doubled",
    "milvus_kept_bytes": f"milvus_bytes_per_line at this rate for index.retention_days, or {USUAL_DAYS:g} days; without templates",
}


def estimate_mode(tally: ModeTally, scale: SampleScale, inputs: EstimateInputs) -> ModeEstimate:
    """Compute one mode."""
    pieces = tally.pieces * scale.factor
    forecast = predict_templates(tally.templates_by_stretches(), stretches=scale.stretches, factor=scale.factor, most=pieces)
    growth = forecast.templates / tally.templates if tally.templates else 1.0
    tokens = tally.tokens * scale.factor
    to_embed = min(tally.template_tokens * growth, tokens)
    new_entries = min(tally.new_entries * growth, float(scale.entries))
    per_line = _share(to_embed, scale.lines)
    speed = inputs.engine_tokens_per_s
    blocks = tally.blocks
    template_bytes = forecast.templates * (_TEMPLATE_ID_BYTES + 4 * inputs.dim) + tally.template_text_bytes * growth
    worked = tally.entry_tokens.total()
    return ModeEstimate(
        templates_sampled=tally.templates,
        templates=round(forecast.templates),
        templates_low=round(forecast.low),
        templates_high=round(forecast.high),
        entries_without_embedding_share=_rounded(_rest(new_entries, scale.entries), 6),
        tokens_without_embedding_share=_rounded(_rest(to_embed, tokens), 6),
        tokens_per_entry_mean=_rounded(_share(tally.tokens, worked), 2),
        tokens_per_entry_p50=quantile(tally.entry_tokens, 0.5),
        tokens_per_entry_p99=quantile(tally.entry_tokens, 0.99),
        tokens_per_entry_max=max(tally.entry_tokens, default=None),
        chunked_entries=round(tally.chunked_entries * scale.factor),
        too_many_chunks_entries=round(tally.too_many_chunks_entries * scale.factor),
        tokens=round(tokens),
        tokens_to_embed=round(to_embed),
        needed_tokens_per_s=None if per_line is None else round(per_line * inputs.rate_lines_per_s, 1),
        engine_s=None if not speed else round(to_embed / speed, 3),
        engine_lines_per_s=None if not speed or not per_line else round(speed / per_line, 1),
        redis_bytes=round(forecast.templates * redis_bytes(inputs.redis_key_bytes, inputs.redis_value_bytes)),
        memory_bytes=round(forecast.templates * (inputs.vector_bytes + _KNOWN_BYTES)),
        milvus_blocks=round(blocks.blocks * scale.factor),
        milvus_block_bytes=round(blocks.server_bytes * scale.factor),
        milvus_bytes_per_line=_rounded(_share(blocks.server_bytes, tally.pieces), 1),
        milvus_template_bytes=round(template_bytes),
        milvus_lite_disk_bytes=round(blocks.folder_bytes * scale.factor + template_bytes * LITE_TEMPLATE_FACTOR),
    )


def workers_for(lines_per_s: float, us_per_line: float | None) -> int | None:
    """Return how many workers keep up with a rate, given a known line's processor time from bytes to block; None if that is not known."""
    if us_per_line is None:
        return None
    return max(1, math.ceil(lines_per_s * (us_per_line + CLIENT_US_PER_LINE) / 1e6 / WORKER_LOAD))


def redis_bytes(key_bytes: int, value_bytes: int) -> int:
    """Return the bytes of Redis's memory for one key with its value and its time to live."""
    strings = sum(allocated_bytes(size + (4 if size < 256 else 6)) for size in (key_bytes, value_bytes))  # noqa: PLR2004 - SDS headers
    return strings + _REDIS_NODE_BYTES + _REDIS_TABLES_BYTES


def allocated_bytes(size_bytes: int) -> int:
    """Return jemalloc's size class for this many bytes: multiples of 16 below 128, then four classes between powers of two."""
    step = max(16, 1 << max((size_bytes - 1).bit_length() - 3, 0))
    return -(-size_bytes // step) * step


def quantile(counted: Counter[int], share: float) -> int | None:
    """Return the smallest value that at least this share of all values does not exceed; None without values."""
    values = sorted(counted)
    needed = share * counted.total()
    reached = accumulate(counted[value] for value in values)
    return next((value for value, so_far in zip(values, reached, strict=True) if so_far >= needed), None)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _rest(part: float, whole: float) -> float | None:
    return max(1 - part / whole, 0.0) if whole else None


def _rounded(share: float | None, digits: int) -> float | None:
    return None if share is None else round(share, digits)
