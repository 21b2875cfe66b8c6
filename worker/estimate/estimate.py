"""What vectail will need for some files: figures of a sample, scaled to the whole and turned into bytes, seconds and rates. Pure.

Every figure rests on one of four things, and `RESTS_ON` says on which: *counted* in the lines that were read; *scaled* from them by bytes;
*foretold* by `worker.estimate.extrapolation`; *measured* on this machine, or once on another and written down here as a constant.
All of it is for a cold start: nothing known, every cache empty. The second time, nothing of the same lines is embedded.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate

from sinks.row import row_id
from worker.estimate.extrapolation import predict_templates
from worker.estimate.survey import ModeSurvey

_KNOWN_BYTES = 28
"""`worker.indexing.known_templates`: what a template takes that is known to be stored."""
_DIGEST_BYTES = 32
_LINE_NUMBERS_BYTES = 8 + 4 + 8 + 4 + 4 + 4 + 2 * 4
"""time, partition, offset, sub, chunk, chunks, and `pad` (two float32): `sinks.row`."""
_EPOCH = "0" * 8
_REDIS_NODE_BYTES = 40
"""A key's entry in the table and its object."""
_REDIS_TABLES_BYTES = 61
"""Its share of the table's buckets, and its entry among the keys that expire: used_memory of 100,000 keys, Redis 7.0.15."""
LITE_LINE_FACTOR = 0.24
LITE_TEMPLATE_FACTOR = 2.12
"""Bytes on disk for each byte of rows: Milvus Lite 3.1, closed, 16,015 lines and 1,523 templates of eight systems. Lines compress well;
the vectors do not, and lie there twice, in the rows and in their index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much more there is than was read.

    Thread: any.
    """

    factor: float
    """Lines in all for each line read; 1 where all was read."""
    lines: int
    """In all."""
    entries: int
    stretches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateInputs:
    """What decides besides the lines.

    Thread: any.
    """

    dim: int
    redis_key_bytes: int
    redis_value_bytes: int
    vector_bytes: int
    """Of one template in the cache of the process."""
    topic: str
    rate_lines_per_s: float
    engine_tokens_per_s: float | None
    """None where the engine had nothing to compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeEstimate:
    """One mode's figures, under the names that `--json` has; None where there is nothing to divide by.

    Thread: any.
    """

    kinds_sampled: int
    kinds: int
    kinds_low: int
    kinds_high: int
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
    """At the rate, on the average over these files."""
    engine_s: float | None
    """To embed all kinds once."""
    engine_lines_per_s: float | None
    """What the engine keeps up with; nothing else of vectail is in this figure."""
    redis_bytes: int
    memory_bytes: int
    """To hold all vectors in the process and to know all templates; `cache.memory_bytes` bounds the vectors."""
    milvus_line_rows: int
    milvus_line_bytes: int
    milvus_template_rows: int
    milvus_template_bytes: int
    milvus_lite_disk_bytes: int


RESTS_ON = {
    "lines": "counted in all files, or scaled: bytes of the files / bytes of a line read",
    "kinds": "counted, or foretold from the stretches (Chao2 below, Heaps above, their geometric mean)",
    "shares": "counted, or kinds x tokens of a kind against all tokens; cold start",
    "redis_bytes": "reckoned; matches used_memory of 100,000 keys on Redis 7.0.15",
    "milvus_bytes": "reckoned from the columns, without the server's own indexes and copies",
    "milvus_lite_disk_bytes": f"reckoned: lines x {LITE_LINE_FACTOR}, templates x {LITE_TEMPLATE_FACTOR}, as measured on Milvus Lite",
    "engine": "measured on this machine, on kinds of the sample in mode template",
}


def estimate_mode(survey: ModeSurvey, scale: Scale, around: EstimateInputs, *, text_bytes: int, label_bytes: int) -> ModeEstimate:
    """Reckon one mode; `text_bytes` and `label_bytes` are those of all log entries that were read."""
    rows = survey.rows * scale.factor
    forecast = predict_templates(survey.met_in(), stretches=scale.stretches, factor=scale.factor, most=rows)
    growth = forecast.kinds / survey.kinds if survey.kinds else 1.0
    tokens = survey.tokens * scale.factor
    to_embed = min(survey.kind_tokens * growth, tokens)
    new_entries = min(survey.new_entries * growth, float(scale.entries))
    per_line = _share(to_embed, scale.lines)
    speed = around.engine_tokens_per_s
    line_bytes = rows * _line_columns_bytes(around.topic, scale.lines) + (text_bytes + label_bytes) * scale.factor
    template_bytes = forecast.kinds * (_DIGEST_BYTES + 4 * around.dim) + survey.kind_text_bytes * growth
    worked = survey.entry_tokens.total()
    return ModeEstimate(
        kinds_sampled=survey.kinds,
        kinds=round(forecast.kinds),
        kinds_low=round(forecast.low),
        kinds_high=round(forecast.high),
        entries_without_embedding_share=_rounded(_rest(new_entries, scale.entries), 6),
        tokens_without_embedding_share=_rounded(_rest(to_embed, tokens), 6),
        tokens_per_entry_mean=_rounded(_share(survey.tokens, worked), 2),
        tokens_per_entry_p50=quantile(survey.entry_tokens, 0.5),
        tokens_per_entry_p99=quantile(survey.entry_tokens, 0.99),
        tokens_per_entry_max=max(survey.entry_tokens, default=None),
        chunked_entries=round(survey.chunked_entries * scale.factor),
        too_many_chunks_entries=round(survey.too_many_chunks_entries * scale.factor),
        tokens=round(tokens),
        tokens_to_embed=round(to_embed),
        needed_tokens_per_s=None if per_line is None else round(per_line * around.rate_lines_per_s, 1),
        engine_s=None if not speed else round(to_embed / speed, 3),
        engine_lines_per_s=None if not speed or not per_line else round(speed / per_line, 1),
        redis_bytes=round(forecast.kinds * redis_bytes(around.redis_key_bytes, around.redis_value_bytes)),
        memory_bytes=round(forecast.kinds * (around.vector_bytes + _KNOWN_BYTES)),
        milvus_line_rows=round(rows),
        milvus_line_bytes=round(line_bytes),
        milvus_template_rows=round(forecast.kinds),
        milvus_template_bytes=round(template_bytes),
        milvus_lite_disk_bytes=round(line_bytes * LITE_LINE_FACTOR + template_bytes * LITE_TEMPLATE_FACTOR),
    )


def redis_bytes(key_bytes: int, value_bytes: int) -> int:
    """Bytes of Redis's memory for one key with its value and its time to live."""
    strings = sum(allocated_bytes(size + (4 if size < 256 else 6)) for size in (key_bytes, value_bytes))  # noqa: PLR2004 - SDS headers
    return strings + _REDIS_NODE_BYTES + _REDIS_TABLES_BYTES


def allocated_bytes(size_bytes: int) -> int:
    """Return the size class of jemalloc that holds so many bytes: four between a power of two and the next, multiples of 16 below 128."""
    step = max(16, 1 << max((size_bytes - 1).bit_length() - 3, 0))
    return -(-size_bytes // step) * step


def quantile(counted: Counter[int], share: float) -> int | None:
    """Return the smallest value that at least this share of all does not exceed; None of nothing."""
    values = sorted(counted)
    needed = share * counted.total()
    reached = accumulate(counted[value] for value in values)
    return next((value for value, so_far in zip(values, reached, strict=True) if so_far >= needed), None)


def _line_columns_bytes(topic: str, lines: int) -> int:
    """Bytes of a line's columns but text, service and level; its id as it is in the middle of the lines."""
    return len(row_id(topic, _EPOCH, 0, lines // 2, 0, 0)) + len(topic) + _DIGEST_BYTES + _LINE_NUMBERS_BYTES


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _rest(part: float, whole: float) -> float | None:
    return max(1 - part / whole, 0.0) if whole else None


def _rounded(share: float | None, digits: int) -> float | None:
    return None if share is None else round(share, digits)
