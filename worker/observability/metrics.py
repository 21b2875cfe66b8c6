"""Every metric's name, kind, labels and meaning: the one place where they stand.

`worker.observability.exposition` gives them their values when somebody scrapes; dashboards, rules and their tests read this list. Base
units, `_total` for what only grows, no label from a record's content. A partition's figures come from the worker that owns it now.
"""

from typing import Final, Literal, NamedTuple

MetricType = Literal["gauge", "counter", "histogram"]


class Metric(NamedTuple):
    """One metric.

    Thread: any.
    """

    name: str
    kind: MetricType
    meaning: str
    labels: tuple[str, ...] = ()


_PLACE: Final = ("topic", "partition")

BUILD_INFO = Metric("vectail_build_info", "gauge", "Always 1; its labels say what runs.", ("version", "engine", "model", "space"))

SEARCHABLE_SECONDS = Metric(
    "vectail_searchable_seconds", "histogram", "From a record's Kafka timestamp until a line of it was acknowledged by the index."
)
CANARY_SECONDS = Metric("vectail_canary_seconds", "histogram", "From sending a canary record until a search found it.")
CANARY_TOTAL = Metric("vectail_canary_total", "counter", "Canary records by result: found or lost.", ("result",))

LAG_RECORDS = Metric("vectail_consumer_lag_records", "gauge", "Records from the committed offset to the end, as Kafka says it.", _PLACE)
LAG_SECONDS = Metric("vectail_consumer_lag_seconds", "gauge", "Age of the oldest record that is not committed; 0 without lag.", _PLACE)
DRAIN_SECONDS = Metric("vectail_consumer_drain_seconds", "gauge", "Until the lag is gone at the present pace; +Inf: never.", _PLACE)
COMMITTED_OFFSET = Metric("vectail_consumer_committed_offset", "gauge", "The next offset that the group has committed.", _PLACE)
FIRST_OFFSET = Metric("vectail_consumer_first_offset", "gauge", "The first offset that the partition still holds.", _PLACE)
END_OFFSET = Metric("vectail_consumer_end_offset", "gauge", "The offset behind the partition's last record.", _PLACE)
LAG_AGE_SECONDS = Metric("vectail_consumer_lag_age_seconds", "gauge", "How long ago Kafka last answered about the lag.")
OLDEST_OPEN_RECORD_SECONDS = Metric(
    "vectail_oldest_open_record_seconds", "gauge", "How long the oldest open record has been in work.", _PLACE
)
EXPIRED_TOTAL = Metric(
    "vectail_expired_records_total", "counter", "Records that were gone before they were read: lost to retention.", ("topic",)
)

ADMITTED_TOTAL = Metric("vectail_records_admitted_total", "counter", "Records taken in.", ("topic",))
RECORDS_TOTAL = Metric(
    "vectail_records_total",
    "counter",
    "Records that are done, by outcome: indexed, dead_letter, tombstone, empty, unanswerable, revoked, or abandoned (to be read again).",
    ("topic", "outcome"),
)
IN_FLIGHT_RECORDS = Metric("vectail_in_flight_records", "gauge", "Records taken in and not done.", ("group",))
IN_FLIGHT_BYTES = Metric(
    "vectail_in_flight_bytes", "gauge", "Bytes of open records: raw as they came, decoded as they are held.", ("group", "form")
)
MAX_IN_FLIGHT_RECORDS = Metric("vectail_max_in_flight_records", "gauge", "Most open records.", ("group",))
MAX_IN_FLIGHT_BYTES = Metric("vectail_max_in_flight_bytes", "gauge", "Most open bytes, raw and decoded each.", ("group",))
ASSIGNED_PARTITIONS = Metric("vectail_assigned_partitions", "gauge", "Partitions owned now.", ("group",))
PAUSED_PARTITIONS = Metric("vectail_paused_partitions", "gauge", "Partitions that wait for room under the cap.", ("group",))
POLL_GAP_SECONDS = Metric("vectail_poll_gap_seconds", "gauge", "Since Kafka was last polled.", ("group",))
REBALANCES_TOTAL = Metric("vectail_rebalances_total", "counter", "Partitions assigned, revoked or lost, in events.", ("group", "event"))
COMMITS_TOTAL = Metric(
    "vectail_commits_total", "counter", "Commits of a partition's offset by result: accepted or refused.", ("group", "result")
)

DECODE_TOTAL = Metric(
    "vectail_decode_total", "counter", "Records by the format that was found: text, json, or none (undecodable).", ("format",)
)
INVALID_UTF8_TOTAL = Metric("vectail_invalid_utf8_records_total", "counter", "Records in which bytes that are not UTF-8 were replaced.")
WITHOUT_HEADERS_TOTAL = Metric(
    "vectail_records_without_headers_total", "counter", "Records taken in without their headers, as a name was not UTF-8."
)
REDACTIONS_TOTAL = Metric("vectail_redactions_total", "counter", "Secrets and personal data replaced, by rule.", ("rule",))
DLQ_TOTAL = Metric("vectail_dlq_total", "counter", "Dead letters that Kafka has acknowledged, by stage and reason.", ("stage", "reason"))
DLQ_OPEN = Metric("vectail_dlq_open", "gauge", "Dead letters that wait for Kafka to take them.")

CHUNKS_TOTAL = Metric(
    "vectail_chunks_total",
    "counter",
    "Lines, and chunks of long ones, by way: known, collapsed, rejected, or who had the vector (engine, memory, redis, index).",
    ("topic", "way"),
)
TOKENS_TOTAL = Metric("vectail_tokens_total", "counter", "Tokens of lines: embedded by the engine, or saved.", ("topic", "outcome"))
TEMPLATES = Metric("vectail_templates", "gauge", "Different templates seen since the start (estimated).", ("topic",))
CACHE_TOTAL = Metric(
    "vectail_cache_requests_total",
    "counter",
    "Vectors asked of a level (memory, redis, index) by result: hit, miss, or error and corrupt (misses with a reason).",
    ("level", "result"),
)

BATCH_SIZE = Metric("vectail_batch_size", "histogram", "Texts of a batch.")
BATCH_TOKENS = Metric("vectail_batch_tokens", "histogram", "Tokens of a batch.")
BATCH_WAIT_SECONDS = Metric("vectail_batch_wait_seconds", "histogram", "How long the first log text of a batch had waited for the engine.")
EMBED_SECONDS = Metric("vectail_embed_seconds", "histogram", "A batch in the engine.")
ENGINE_UP = Metric("vectail_engine_up", "gauge", "1 while the engine works or rests, 0 while it is being made anew.")
ENGINE_RESTARTS_TOTAL = Metric("vectail_engine_restarts_total", "counter", "Engines that were broken and made anew.")
ENGINE_BUSY_TOTAL = Metric("vectail_engine_busy_seconds_total", "counter", "Time in the engine.")
BATCH_LIMIT_TOKENS = Metric("vectail_batch_limit_tokens", "gauge", "Most tokens of a batch now: less while queries arrive.")

LANE_ENTRIES = Metric("vectail_lane_entries", "gauge", "Entries that wait before a stage.", ("stage",))
STAGE_WAIT_SECONDS = Metric(
    "vectail_stage_wait_seconds", "histogram", "How long the first entry taken had waited before its stage.", ("stage",)
)
STAGE_BUSY_TOTAL = Metric("vectail_stage_busy_seconds_total", "counter", "Time in a stage's step, all its threads together.", ("stage",))

SINK_SECONDS = Metric("vectail_sink_seconds", "histogram", "A write that the index took, by what was written: templates or lines.", ("op",))
SINK_ROWS_TOTAL = Metric("vectail_sink_rows_total", "counter", "Rows that the index has acknowledged: templates or lines.", ("op",))
SINK_ERRORS_TOTAL = Metric("vectail_sink_errors_total", "counter", "Writes that failed: busy (held, tried again) or rejected.", ("class",))

QUERY_SECONDS = Metric("vectail_query_seconds", "histogram", "An answered query by stage: wait, embed, search, and total.", ("stage",))
QUERIES_TOTAL = Metric(
    "vectail_queries_total", "counter", "Queries by outcome: answered, bad_query, expired, unavailable, unanswerable.", ("outcome",)
)
QUERY_EXPIRED_TOTAL = Metric("vectail_query_expired_total", "counter", "Queries whose deadline passed before they were answered.")
REPLIES_LOST_TOTAL = Metric("vectail_replies_undelivered_total", "counter", "Replies that Kafka did not take in time.")

DEPENDENCY_UP = Metric("vectail_dependency_up", "gauge", "1 while it answers: kafka, index, redis.", ("dependency",))
READY = Metric("vectail_ready", "gauge", "What /readyz says: 1 ready, 0 not.")
LOG_LINES_DROPPED_TOTAL = Metric("vectail_log_lines_dropped_total", "counter", "Lines of the worker's own log that nobody took in time.")

METRICS: Final[tuple[Metric, ...]] = tuple(value for value in globals().values() if isinstance(value, Metric))
"""All of them, in this order."""
