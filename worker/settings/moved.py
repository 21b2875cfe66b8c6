"""Settings of earlier versions: where each is now, or why it went. A file or variable that still has one is refused with that line."""

from typing import Final

MOVED: Final = {
    "decode.format": "topic.format",
    "kafka.topics": "topic.name",
    "milvus.retention_days": "index.retention_days",
    "milvus.writers": "index.writers",
}
"""Old name → the setting that took its place."""

GONE: Final = {
    "cache.max_known_templates": "500,000 templates are remembered as stored, in 14 MB",
    "decode.max_other_fields": "16 fields are kept besides the well-known ones; topic.fields.keep names more",
    "engine.own_process": "vLLM's engine runs in the worker's process: apart it started later and was never faster",
    "http.max_open_queries": "64 queries over HTTP may be open at once",
    "http.max_body_bytes": "a body has at most 64 KiB",
    "http.timeout_s": "a query over HTTP has at most 60 s; deadline_ms shortens it",
    "index.block_lines": "a block has at most 1,024 lines; index.flush_s closes it sooner",
    "kafka.topic_refresh_s": "topics that fit a pattern are looked for every 30 s",
    "limits.max_consecutive_rejected": "20 refusals in a row end the worker",
    "limits.max_consecutive_undecodable": "1,000 undecodable records in a row of one topic end the worker",
    "milvus.batch_bytes": "a write has at most 8 MB of blocks",
    "query.max_in_flight_records": "1,000 queries from Kafka may be in work at once",
    "redis.cluster": "a redis.url of a cluster begins with redis+cluster://",
    "redis.queue_bytes": "16 MiB of vectors may wait to be written",
    "redis.sentinel_master": "it stands in redis.url: redis+sentinel://HOST:PORT/MASTER",
    "redis.sentinel_user": "it stands in redis.url: redis+sentinel://USER@HOST:PORT/MASTER",
    "redis.sentinels": "they stand in redis.url: redis+sentinel://HOST:PORT,HOST:PORT/MASTER",
    "registry.timeout_s": "an answer has 5 s; the records wait for as long as there is none",
    "topic.multiline.max_bytes": "an event has at most 256 KiB of text; topic.multiline.max_lines bounds it sooner",
    "tracing.most_links": "a batch's span has at most 32 links",
}
"""Old name → what its user does now."""


def successor(name: str) -> str:
    """Return the end of the refusal of a former setting; empty if there never was one of this name."""
    if name in MOVED:
        return f": it is {MOVED[name]} now"
    return f": it is gone; {GONE[name]}" if name in GONE else ""
