"""Every metric's name, type, labels and help text, in one place.

`worker.service.samples` reads their values on each scrape; dashboards, rules, their tests and `docs/metrics.md` use this list.
Values are in base units, names end in `_total` for what only grows, and no label comes from a record's content. The metrics of a partition
come from the worker that owns it.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from worker.runtime.histogram import HistogramSnapshot

MetricType = Literal["gauge", "counter", "histogram"]


class Metric(NamedTuple):
    """One metric, as Prometheus shows it."""

    name: str
    type: MetricType
    help: str
    labels: tuple[str, ...] = ()


class Sample(NamedTuple):
    """One value of one metric.

    Thread: any.
    """

    metric: Metric
    value: float | HistogramSnapshot
    labels: tuple[str, ...] = ()
    """Values, in the order of the metric's labels."""


_PARTITION: Final = ("topic", "partition")

BUILD_INFO = Metric("vectail_build_info", "gauge", "Always 1; the labels say what runs.", ("version", "engine", "model", "space", "masks"))

SEARCHABLE_SECONDS = Metric(
    "vectail_searchable_seconds", "histogram", "Time from a record's Kafka timestamp until the index acknowledged a line of it."
)
CANARY_SECONDS = Metric("vectail_canary_seconds", "histogram", "Time from sending a canary until a search found it.")
CANARY_TOTAL = Metric(
    "vectail_canary_total", "counter", "Canaries by result: found, or lost: not within 60 s, as lag alone can cause.", ("result",)
)

LAG_RECORDS = Metric(
    "vectail_consumer_lag_records", "gauge", "Records from the committed offset to the partition's end, as Kafka reports them.", _PARTITION
)
LAG_SECONDS = Metric("vectail_consumer_lag_seconds", "gauge", "Age of the oldest uncommitted record; 0 without lag.", _PARTITION)
DRAIN_SECONDS = Metric(
    "vectail_consumer_drain_seconds",
    "gauge",
    "Time until the partition is caught up; 0 while it keeps up, +Inf while it falls behind or stands still, absent while it is not known.",
    _PARTITION,
)
COMMITTED_OFFSET = Metric(
    "vectail_consumer_committed_offset", "gauge", "Offset that the group has committed: that of the next record to read.", _PARTITION
)
FIRST_OFFSET = Metric("vectail_consumer_first_offset", "gauge", "First offset that the partition still holds.", _PARTITION)
END_OFFSET = Metric("vectail_consumer_end_offset", "gauge", "Offset that the partition's next record will get.", _PARTITION)
LAG_AGE_SECONDS = Metric("vectail_consumer_lag_age_seconds", "gauge", "Time since Kafka last reported the lag.")
OLDEST_OPEN_RECORD_SECONDS = Metric(
    "vectail_oldest_open_record_seconds", "gauge", "Age of the oldest open record: time since it was admitted.", _PARTITION
)
EXPIRED_TOTAL = Metric("vectail_expired_records_total", "counter", "Records that retention deleted before they were read.", ("topic",))

ADMITTED_TOTAL = Metric("vectail_records_admitted_total", "counter", "Records admitted.", ("topic",))
RECORDS_TOTAL = Metric(
    "vectail_records_total",
    "counter",
    "Settled records by outcome: indexed, dead_letter, tombstone, empty, rule:NAME (its entries were dropped, the last by this rule), "
    "unanswerable, revoked, or abandoned (read again later).",
    ("topic", "outcome"),
)
IN_FLIGHT_RECORDS = Metric("vectail_in_flight_records", "gauge", "Records admitted and not settled.", ("group",))
IN_FLIGHT_BYTES = Metric(
    "vectail_in_flight_bytes", "gauge", "Bytes of open records: raw as Kafka delivered them, decoded as they are held.", ("group", "form")
)
MAX_IN_FLIGHT_RECORDS = Metric("vectail_max_in_flight_records", "gauge", "Limit of records in flight.", ("group",))
MAX_IN_FLIGHT_BYTES = Metric(
    "vectail_max_in_flight_bytes", "gauge", "Limit of bytes in flight, for raw and decoded bytes each.", ("group",)
)
ASSIGNED_PARTITIONS = Metric("vectail_assigned_partitions", "gauge", "Partitions that the worker owns.", ("group",))
PAUSED_PARTITIONS = Metric(
    "vectail_paused_partitions", "gauge", "Partitions that are paused because a limit of records or bytes in flight is reached.", ("group",)
)
POLL_GAP_SECONDS = Metric("vectail_poll_gap_seconds", "gauge", "Time since Kafka was last polled.", ("group",))
REBALANCES_TOTAL = Metric(
    "vectail_rebalances_total", "counter", "Rebalance callbacks by event: assign, revoke or lost.", ("group", "event")
)
COMMITS_TOTAL = Metric(
    "vectail_commits_total", "counter", "Commits of partition offsets by result: accepted or refused.", ("group", "result")
)

DECODE_TOTAL = Metric(
    "vectail_decode_total", "counter", "Records by the format they were read as (topic.format), or none (undecodable).", ("format",)
)
INVALID_UTF8_TOTAL = Metric(
    "vectail_invalid_utf8_records_total", "counter", "Records in which bytes that are not valid UTF-8 were replaced."
)
REPAIRED_TOTAL = Metric(
    "vectail_decode_repaired_total",
    "counter",
    "Records of JSON that could be read only after a repair, by what was repaired: number (NaN, infinite or too large: null), utf8, "
    "surrogate, control, escape, separator, or line (one that is not JSON among others).",
    ("what",),
)
MADE_TEXTS_TOTAL = Metric(
    "vectail_decode_made_texts_total", "counter", "Messages of syslog without a text, which was made of their id and structured data."
)
DECODE_DROPPED_TOTAL = Metric(
    "vectail_decode_dropped_entries_total",
    "counter",
    "Log entries that decoding left out, those inside a record of several too, by reason: no_text (nothing to index).",
    ("reason",),
)
DECOMPRESSED_TOTAL = Metric(
    "vectail_decompressed_records_total", "counter", "Records whose value was compressed by its sender, by codec.", ("codec",)
)
WITHOUT_HEADERS_TOTAL = Metric(
    "vectail_records_without_headers_total",
    "counter",
    "Records admitted without their headers, because a header's name is not valid UTF-8.",
)
REDACTIONS_TOTAL = Metric("vectail_redactions_total", "counter", "Secrets and personal data that were replaced, by rule.", ("rule",))
DROPPED_TOTAL = Metric("vectail_dropped_entries_total", "counter", "Log entries that a rule of `[[drop]]` dropped.", ("rule",))
SAMPLED_TOTAL = Metric(
    "vectail_sampled_entries_total",
    "counter",
    "Log entries stored without text and fields, because a rule of `[[sample]]` says so.",
    ("rule",),
)
CLOSED_EARLY_TOTAL = Metric(
    "vectail_events_closed_early_total",
    "counter",
    "Events of several records that were closed because too many were open; a replay may join other records.",
)
DLQ_TOTAL = Metric("vectail_dlq_total", "counter", "Dead letters that Kafka acknowledged, by stage and reason.", ("stage", "reason"))
DLQ_OPEN = Metric("vectail_dlq_open", "gauge", "Dead letters that Kafka has not acknowledged yet.")

CHUNKS_TOTAL = Metric(
    "vectail_chunks_total",
    "counter",
    "Lines, and chunks of long lines, by way: known, collapsed (waited for another one of their template), rejected, or where the vector "
    "came from (engine, memory, redis, index).",
    ("topic", "way"),
)
TOKENS_TOTAL = Metric(
    "vectail_tokens_total", "counter", "Tokens of lines by outcome: embedded by the engine, or saved.", ("topic", "outcome")
)
TEMPLATES = Metric("vectail_templates", "gauge", "Distinct templates seen since the start (an estimate).", ("topic",))
CACHE_TOTAL = Metric(
    "vectail_cache_requests_total",
    "counter",
    "Vectors looked up in a cache level (memory, redis, index) by result: hit, miss, error, or corrupt; the last two count as misses too.",
    ("level", "result"),
)

BATCH_SIZE = Metric("vectail_batch_size", "histogram", "Texts in a batch.")
BATCH_TOKENS = Metric("vectail_batch_tokens", "histogram", "Tokens in a batch.")
BATCH_WAIT_SECONDS = Metric("vectail_batch_wait_seconds", "histogram", "Longest time that a log text of a batch waited for the engine.")
EMBED_SECONDS = Metric("vectail_embed_seconds", "histogram", "Time that a batch took in the engine.")
ENGINE_UP = Metric("vectail_engine_up", "gauge", "1 while the engine is usable, 0 while it is being restarted.")
ENGINE_RESTARTS_TOTAL = Metric("vectail_engine_restarts_total", "counter", "Restarts of the engine after a failure.")
ENGINE_BUSY_TOTAL = Metric("vectail_engine_busy_seconds_total", "counter", "Time spent in the engine.")
BATCH_LIMIT_TOKENS = Metric("vectail_batch_limit_tokens", "gauge", "Current limit of tokens in a batch; lower while queries arrive.")

SERVE_REQUESTS_TOTAL = Metric(
    "vectail_serve_requests_total",
    "counter",
    "Requests for vectors by the HTTP status of their answers; `model` is empty where one was refused.",
    ("model", "code"),
)
SERVE_TOKENS_TOTAL = Metric(
    "vectail_serve_tokens_total",
    "counter",
    "Tokens of texts that clients asked for, by who had the vector: engine, memory, redis.",
    ("model", "source"),
)
SERVE_SECONDS = Metric("vectail_serve_seconds", "histogram", "Time from a request's arrival to its vectors.", ("model", "class"))
SERVE_BACKLOG_SECONDS = Metric(
    "vectail_serve_backlog_seconds", "gauge", "Work of clients, and of queries, that waits for a model, at its engine's pace.", ("model",)
)
SERVE_MAX_WAIT_SECONDS = Metric(
    "vectail_serve_max_wait_seconds", "gauge", "Most work that a request may have before it, as serve.max_wait_s says."
)
MODEL_STATE = Metric(
    "vectail_model_state",
    "gauge",
    "1 for the state that a model is in: absent, loading, ready, draining, failed; else 0.",
    ("model", "state"),
)
MODEL_BYTES = Metric("vectail_model_bytes", "gauge", "Memory of a loaded model, of the budget serve.memory_bytes.", ("model",))
MODEL_LOADS_TOTAL = Metric("vectail_model_loads_total", "counter", "Loads of a model by result: loaded or failed.", ("model", "result"))
MODEL_EVICTIONS_TOTAL = Metric(
    "vectail_model_evictions_total", "counter", "Times that a model was unloaded because another one needed its memory.", ("model",)
)

LANE_ENTRIES = Metric("vectail_lane_entries", "gauge", "Records, lines, texts or queries waiting in front of a stage.", ("stage",))
STAGE_WAIT_SECONDS = Metric(
    "vectail_stage_wait_seconds", "histogram", "Time that the first entry of each list waited in front of its stage.", ("stage",)
)
STAGE_BUSY_TOTAL = Metric(
    "vectail_stage_busy_seconds_total", "counter", "Time spent in a stage's step, summed over its threads.", ("stage",)
)
STAGE_THREADS = Metric("vectail_stage_threads", "gauge", "Threads of each stage that lines pass, on a worker that indexes.", ("stage",))

SINK_SECONDS = Metric(
    "vectail_sink_seconds",
    "histogram",
    "Time of a successful write to the index: templates, blocks of new lines, merged blocks, or deleted ones.",
    ("op",),
)
SINK_LINES_TOTAL = Metric("vectail_sink_lines_total", "counter", "Lines, and chunks of long lines, in blocks that the index acknowledged.")
SINK_ROWS_TOTAL = Metric(
    "vectail_sink_rows_total",
    "counter",
    "Rows that the index acknowledged: templates, blocks of new lines, merged blocks, and deleted ones that merged blocks replace.",
    ("op",),
)
SINK_BYTES_TOTAL = Metric("vectail_sink_bytes_total", "counter", "Bytes of new blocks that the index acknowledged, encoded.")
WAITING_LINES = Metric("vectail_waiting_lines", "gauge", "Lines that wait to share a block with others.")
UPKEEP_TOTAL = Metric(
    "vectail_upkeep_seconds_total",
    "counter",
    "Time spent merging small blocks, deleting inner ones, and looking at those of earlier runs.",
)
SKIPPED_LINES_TOTAL = Metric(
    "vectail_skipped_lines_total", "counter", "Lines, and chunks of long lines, that were read again and were in the index already."
)
RESUME_SECONDS_TOTAL = Metric(
    "vectail_resume_seconds_total", "counter", "Time spent reading back what is in the index of partitions that were just assigned."
)
SINK_ERRORS_TOTAL = Metric("vectail_sink_errors_total", "counter", "Failed writes: busy (held and tried again) or rejected.", ("class",))

QUERY_SECONDS = Metric(
    "vectail_query_seconds", "histogram", "Time of an answered query by stage: wait, embed, search, and total.", ("stage",)
)
QUERIES_TOTAL = Metric(
    "vectail_queries_total",
    "counter",
    "Queries by outcome: answered, bad_query, expired, abandoned (nobody waits), unavailable, unanswerable.",
    ("outcome",),
)
QUERIES_SHARED_TOTAL = Metric(
    "vectail_queries_shared_total", "counter", "Queries that shared the search of an equal one that waited; each had its own reply."
)
QUERIES_FOUND_TOTAL = Metric(
    "vectail_queries_found_total",
    "counter",
    "Answered queries for lines or templates with a text, by whether anything was found: found or empty. Not the worker's own.",
    ("result",),
)
QUERY_BEST_COSINE = Metric(
    "vectail_query_best_cosine", "histogram", "Best cosine of each of these that was answered by meaning and found something."
)
QUERY_EXPIRED_TOTAL = Metric("vectail_query_expired_total", "counter", "Queries whose deadline passed before they were answered.")
REPLIES_LOST_TOTAL = Metric("vectail_replies_undelivered_total", "counter", "Replies that Kafka did not accept in time.")

VECTORS_WORST_COSINE = Metric(
    "vectail_vectors_worst_cosine",
    "gauge",
    "Of 100 stored vectors with those that the model gives for the same templates, each day; NaN before the first time.",
)
DEPENDENCY_UP = Metric(
    "vectail_dependency_up", "gauge", "1 while the dependency answers, else 0: kafka, index, redis, registry.", ("dependency",)
)
READY = Metric("vectail_ready", "gauge", "What /readyz says: 1 ready, 0 not ready.")
CONDITION = Metric(
    "vectail_condition",
    "gauge",
    "1 while a condition that somebody should know of holds, for each thing that it is `about`, else 0.",
    ("name", "severity", "about"),
)
LOG_LINES_DROPPED_TOTAL = Metric(
    "vectail_log_lines_dropped_total", "counter", "Lines of the worker's own log that were dropped because standard error was blocked."
)

METRICS: Final[tuple[Metric, ...]] = tuple(value for value in globals().values() if isinstance(value, Metric))
"""All of them, in this order."""

OF_EMBEDDING_SERVICE: Final = ("vectail_serve_", "vectail_model_")
"""How names begin that only a worker with `serve.enabled` has, and `vectail serve`."""

SECTIONS: Final[Mapping[str, Metric]] = {
    "End to end": BUILD_INFO,
    "Lag": LAG_RECORDS,
    "Records": ADMITTED_TOTAL,
    "Decoding and dead letters": DECODE_TOTAL,
    "Work saved": CHUNKS_TOTAL,
    "Engine": BATCH_SIZE,
    "Embedding service": SERVE_REQUESTS_TOTAL,
    "Stages": LANE_ENTRIES,
    "Index": SINK_SECONDS,
    "Queries": QUERY_SECONDS,
    "Status": DEPENDENCY_UP,
}
"""Headings for people, each with its first metric."""
