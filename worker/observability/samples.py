"""The value of every metric now, read from the parts of a running parts. Nothing is counted here.

`worker.observability.exposition` asks for them when somebody scrapes. Where a label's values are known beforehand, each of them has a
figure from the start, so that a rate over it is nought and not absent.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from consumers.kafka.source import KafkaSource
from consumers.ledger import Ledger
from consumers.poller import Poller
from worker.connections import Outside
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.cache.tally import Tally
from worker.indexing.dead_letter_reasons import KINDS
from worker.messages import SOURCES
from worker.observability import metrics as m
from worker.observability.status import Status
from worker.pipeline import Pipeline
from worker.querying.answer import STAGES
from worker.runtime.histogram import Seen
from worker.runtime.logs import lines_lost
from worker.runtime.version import VERSION

OUTCOMES = ("indexed", "dead_letter", "tombstone", "empty", "revoked", "abandoned")
_QUERY_OUTCOMES = ("answered", "bad_query", "expired", "unavailable")


class Figure(NamedTuple):
    """One value of one metric.

    Thread: any.
    """

    metric: m.Metric
    value: float | Seen
    labels: tuple[str, ...] = ()
    """Values, in the order of the metric's labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a service consists of.

    Thread: any.
    """

    pipeline: Pipeline
    logs: Poller
    queries: Poller
    log_source: KafkaSource
    query_source: KafkaSource
    topics: tuple[str, ...]
    """Of the logs."""
    outside: Outside
    redis: RedisCache | None
    status: Status


def figures(parts: Parts, now_s: float) -> Iterator[Figure]:
    """Return all of them."""
    yield from _build(parts)
    yield from _lag(parts, now_s)
    yield from _records(parts, now_s)
    yield from _decoding(parts)
    yield from _savings(parts)
    yield from _cache(parts)
    yield from _engine(parts)
    yield from _stages(parts)
    yield from _sink(parts)
    yield from _queries(parts)
    yield from _health(parts)


def _build(parts: Parts) -> Iterator[Figure]:
    model = parts.outside.model
    yield Figure(m.BUILD_INFO, 1, (VERSION, model.engine.name, model.prepared.name, model.space.id))
    yield Figure(m.SEARCHABLE_SECONDS, parts.pipeline.store.tally.searchable.seen())
    canary = parts.status.canary.tally
    yield Figure(m.CANARY_SECONDS, canary.seconds.seen())
    for result in ("found", "lost"):
        yield Figure(m.CANARY_TOTAL, canary.results[result], (result,))


def _lag(parts: Parts, now_s: float) -> Iterator[Figure]:
    lag = parts.status.lag
    for (topic, partition), (place, behind) in lag.standings.items():
        labels = (topic, str(partition))
        yield Figure(m.LAG_RECORDS, behind.records, labels)
        if behind.seconds is not None:
            yield Figure(m.LAG_SECONDS, behind.seconds, labels)
        if behind.drain_s is not None or behind.is_never_drained:
            yield Figure(m.DRAIN_SECONDS, math.inf if behind.drain_s is None else behind.drain_s, labels)
        if place.committed is not None:
            yield Figure(m.COMMITTED_OFFSET, place.committed, labels)
        yield Figure(m.FIRST_OFFSET, place.first_offset, labels)
        yield Figure(m.END_OFFSET, place.end_offset, labels)
    if lag.looked_s is not None:
        yield Figure(m.LAG_AGE_SECONDS, now_s - lag.looked_s)
    for topic in parts.topics:
        yield Figure(m.EXPIRED_TOTAL, parts.log_source.gone_records.get(topic, 0), (topic,))


def _records(parts: Parts, now_s: float) -> Iterator[Figure]:
    pipeline = parts.pipeline
    for topic in parts.topics:
        yield from _outcomes(topic, pipeline.log_ledger.outcomes().get(topic, Counter()), OUTCOMES)
    for topic, tally in pipeline.query_ledger.outcomes().items():
        yield from _outcomes(topic, tally, ("indexed", "unanswerable", "revoked", "abandoned"))
    groups = (("logs", parts.logs, pipeline.log_ledger), ("queries", parts.queries, pipeline.query_ledger))
    for group, poller, ledger in groups:
        yield from _group(group, poller, ledger, now_s)
    yield Figure(m.PAUSED_PARTITIONS, parts.log_source.paused_partitions, ("logs",))
    yield Figure(m.PAUSED_PARTITIONS, parts.query_source.paused_partitions, ("queries",))


def _outcomes(topic: str, tally: Mapping[str, int], always: Iterable[str]) -> Iterator[Figure]:
    """Return what became of a topic's records; reasons for dropping are outcomes of their own."""
    done = {name.removeprefix("dropped:"): count for name, count in tally.items() if name not in ("admitted", "in_flight")}
    yield Figure(m.ADMITTED_TOTAL, tally.get("admitted", 0), (topic,))
    for outcome, count in (dict.fromkeys(always, 0) | done).items():
        yield Figure(m.RECORDS_TOTAL, count, (topic, outcome))


def _group(group: str, poller: Poller, ledger: Ledger, now_s: float) -> Iterator[Figure]:
    owned = ledger.owned()
    oldest_s = ledger.oldest_open_s()
    for partition in owned:
        since_s = oldest_s.get(partition, now_s)
        yield Figure(m.STALLED_SECONDS, max(now_s - since_s, 0.0), (partition.topic, str(partition.partition)))
    yield Figure(m.INFLIGHT_RECORDS, ledger.open_records, (group,))
    yield Figure(m.INFLIGHT_BYTES, ledger.open_bytes, (group, "raw"))
    yield Figure(m.INFLIGHT_BYTES, ledger.decoded_bytes, (group, "decoded"))
    yield Figure(m.CAP_RECORDS, ledger.cap_records, (group,))
    yield Figure(m.CAP_BYTES, ledger.cap_bytes, (group,))
    yield Figure(m.ASSIGNED_PARTITIONS, len(owned), (group,))
    yield Figure(m.POLL_GAP_SECONDS, max(now_s - poller.last_poll_s, 0.0), (group,))
    for event in ("assign", "revoke", "lost"):
        yield Figure(m.REBALANCES_TOTAL, poller.events[event], (group, event))
    for result in ("accepted", "refused"):
        yield Figure(m.COMMIT_TOTAL, poller.commits[result], (group, result))


def _decoding(parts: Parts) -> Iterator[Figure]:
    pipeline = parts.pipeline
    decoders = pipeline.decoders
    yield Figure(m.DECODE_TOTAL, sum(one.text_records for one in decoders), ("text",))
    yield Figure(m.DECODE_TOTAL, sum(one.json_records for one in decoders), ("json",))
    yield Figure(m.DECODE_TOTAL, sum(one.refused_records for one in decoders), ("none",))
    yield Figure(m.REPLACED_TOTAL, sum(one.replaced_records for one in decoders))
    yield Figure(m.HEADLESS_TOTAL, parts.log_source.headless_records + parts.query_source.headless_records)
    rules = sorted({rule for redactor in pipeline.redactors for rule in redactor.counts})
    for rule in rules:
        yield Figure(m.REDACTIONS_TOTAL, sum(redactor.counts[rule] for redactor in pipeline.redactors), (rule,))
    for stage, kinds in KINDS.items():
        for kind in kinds:
            yield Figure(m.DLQ_TOTAL, pipeline.letters_delivered[stage, kind], (stage, kind))
    yield Figure(m.DLQ_OPEN, parts.outside.letters.open_letters)


def _savings(parts: Parts) -> Iterator[Figure]:
    savings = parts.pipeline.flights.savings()
    for topic in parts.topics:
        one = savings.get(topic)
        ways = {"known": 0, "collapsed": 0, "rejected": 0} | dict.fromkeys(SOURCES, 0)
        if one is not None:
            ways |= {"known": one.known, "collapsed": one.collapsed, "rejected": one.rejected} | {s: one.sources[s] for s in SOURCES}
        for way, count in ways.items():
            yield Figure(m.CHUNKS_TOTAL, count, (topic, way))
        yield Figure(m.TOKENS_TOTAL, 0 if one is None else one.tokens_embedded, (topic, "embedded"))
        yield Figure(m.TOKENS_TOTAL, 0 if one is None else one.tokens_saved, (topic, "saved"))
        yield Figure(m.TEMPLATES, 0 if one is None else int(one.distinct), (topic,))


def _cache(parts: Parts) -> Iterator[Figure]:
    levels = parts.pipeline.levels
    for level, tally in levels.tallies.items():
        yield Figure(m.CACHE_TOTAL, tally.hits, (level, "hit"))
        yield Figure(m.CACHE_TOTAL, tally.misses, (level, "miss"))
    redis = Tally() if parts.redis is None else parts.redis.tally
    yield Figure(m.CACHE_TOTAL, redis.late + redis.skipped, ("redis", "error"))
    yield Figure(m.CACHE_TOTAL, redis.corrupt, ("redis", "corrupt"))


def _engine(parts: Parts) -> Iterator[Figure]:
    pipeline = parts.pipeline
    tally, judge = pipeline.embed.tally, pipeline.judge
    yield Figure(m.BATCH_SIZE, tally.sizes.seen())
    yield Figure(m.BATCH_TOKENS, tally.batch_tokens.seen())
    yield Figure(m.BATCH_WAIT_SECONDS, tally.waits.seen())
    yield Figure(m.EMBED_SECONDS, tally.batch_seconds.seen())
    yield Figure(m.ENGINE_UP, float(judge.is_up))
    yield Figure(m.ENGINE_RESTARTS_TOTAL, judge.restarts)
    yield Figure(m.ENGINE_BUSY_TOTAL, tally.seconds)
    batcher = pipeline.embed.batcher
    yield Figure(m.BATCH_LIMIT_TOKENS, min(batcher.capped_tokens, judge.limit_tokens) if batcher.queries_arrive else judge.limit_tokens)


def _stages(parts: Parts) -> Iterator[Figure]:
    pipeline = parts.pipeline
    for lane in (pipeline.prepare_lane, pipeline.query_lane, pipeline.embed_lane, pipeline.store_lane, pipeline.answer_lane):
        yield Figure(m.LANE_ENTRIES, len(lane), (lane.name,))
        yield Figure(m.STAGE_WAIT_SECONDS, lane.waits.seen(), (lane.name,))
    for stage, meter in pipeline.busy.items():
        yield Figure(m.STAGE_BUSY_TOTAL, meter.seconds, (stage,))
    yield Figure(m.STAGE_BUSY_TOTAL, pipeline.embed.tally.seconds, ("engine",))


def _sink(parts: Parts) -> Iterator[Figure]:
    tally = parts.pipeline.store.tally
    for op, rows in (("lines", tally.lines), ("templates", tally.templates)):
        yield Figure(m.SINK_ROWS_TOTAL, rows, (op,))
    for op, writes in tally.writes.items():
        yield Figure(m.SINK_SECONDS, writes.seen(), (op,))
    for kind in ("busy", "rejected"):
        yield Figure(m.SINK_ERRORS_TOTAL, tally.errors[kind], (kind,))


def _queries(parts: Parts) -> Iterator[Figure]:
    tally = parts.pipeline.answer.tally
    for stage in (*STAGES, "total"):
        yield Figure(m.QUERY_SECONDS, tally.seconds[stage].seen(), (stage,))
    for outcome in _QUERY_OUTCOMES:
        yield Figure(m.QUERIES_TOTAL, tally.outcomes[outcome], (outcome,))
    yield Figure(m.QUERIES_TOTAL, parts.pipeline.query_tally.unanswerable, ("unanswerable",))
    yield Figure(m.QUERY_EXPIRED_TOTAL, tally.outcomes["expired"])
    yield Figure(m.REPLIES_LOST_TOTAL, parts.outside.replies.undelivered)


def _health(parts: Parts) -> Iterator[Figure]:
    for probe in parts.status.probes:
        yield Figure(m.DEPENDENCY_UP, float(not probe.complaint()), (probe.name,))
    yield Figure(m.LOG_LINES_DROPPED_TOTAL, lines_lost())
    yield Figure(m.READY, float(parts.status.health.ready().is_good))
