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
from worker.connections import Connections
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.cache.tally import Tally
from worker.indexing.dead_letter_reasons import KINDS
from worker.messages import SOURCES
from worker.observability import metrics as m
from worker.observability.status import Status
from worker.pipeline import Pipeline
from worker.querying.answer import STAGES
from worker.runtime.histogram import HistogramSnapshot
from worker.runtime.logs import lines_lost
from worker.runtime.version import VERSION

OUTCOMES = ("indexed", "dead_letter", "tombstone", "empty", "revoked", "abandoned")
_QUERY_OUTCOMES = ("answered", "bad_query", "expired", "unavailable")


class Sample(NamedTuple):
    """One value of one metric.

    Thread: any.
    """

    metric: m.Metric
    value: float | HistogramSnapshot
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
    outside: Connections
    redis: RedisCache | None
    status: Status


def samples(parts: Parts, now_s: float) -> Iterator[Sample]:
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


def _build(parts: Parts) -> Iterator[Sample]:
    model = parts.outside.model
    yield Sample(m.BUILD_INFO, 1, (VERSION, model.engine.name, model.prepared.name, model.space.id))
    yield Sample(m.SEARCHABLE_SECONDS, parts.pipeline.store.tally.searchable.seen())
    canary = parts.status.canary.tally
    yield Sample(m.CANARY_SECONDS, canary.seconds.seen())
    for result in ("found", "lost"):
        yield Sample(m.CANARY_TOTAL, canary.results[result], (result,))


def _lag(parts: Parts, now_s: float) -> Iterator[Sample]:
    lag = parts.status.lag
    for (topic, partition), (place, behind) in lag.standings.items():
        labels = (topic, str(partition))
        yield Sample(m.LAG_RECORDS, behind.records, labels)
        if behind.seconds is not None:
            yield Sample(m.LAG_SECONDS, behind.seconds, labels)
        if behind.drain_s is not None or behind.is_never_drained:
            yield Sample(m.DRAIN_SECONDS, math.inf if behind.drain_s is None else behind.drain_s, labels)
        if place.committed is not None:
            yield Sample(m.COMMITTED_OFFSET, place.committed, labels)
        yield Sample(m.FIRST_OFFSET, place.first_offset, labels)
        yield Sample(m.END_OFFSET, place.end_offset, labels)
    if lag.looked_s is not None:
        yield Sample(m.LAG_AGE_SECONDS, now_s - lag.looked_s)
    for topic in parts.topics:
        yield Sample(m.EXPIRED_TOTAL, parts.log_source.expired_records.get(topic, 0), (topic,))


def _records(parts: Parts, now_s: float) -> Iterator[Sample]:
    pipeline = parts.pipeline
    for topic in parts.topics:
        yield from _outcomes(topic, pipeline.log_ledger.outcomes().get(topic, Counter()), OUTCOMES)
    for topic, tally in pipeline.query_ledger.outcomes().items():
        yield from _outcomes(topic, tally, ("indexed", "unanswerable", "revoked", "abandoned"))
    groups = (("logs", parts.logs, pipeline.log_ledger), ("queries", parts.queries, pipeline.query_ledger))
    for group, poller, ledger in groups:
        yield from _group(group, poller, ledger, now_s)
    yield Sample(m.PAUSED_PARTITIONS, parts.log_source.paused_partitions, ("logs",))
    yield Sample(m.PAUSED_PARTITIONS, parts.query_source.paused_partitions, ("queries",))


def _outcomes(topic: str, tally: Mapping[str, int], always: Iterable[str]) -> Iterator[Sample]:
    """Return what became of a topic's records; reasons for dropping are outcomes of their own."""
    done = {name.removeprefix("dropped:"): count for name, count in tally.items() if name not in ("admitted", "in_flight")}
    yield Sample(m.ADMITTED_TOTAL, tally.get("admitted", 0), (topic,))
    for outcome, count in (dict.fromkeys(always, 0) | done).items():
        yield Sample(m.RECORDS_TOTAL, count, (topic, outcome))


def _group(group: str, poller: Poller, ledger: Ledger, now_s: float) -> Iterator[Sample]:
    owned = ledger.owned()
    oldest_s = ledger.oldest_open_s()
    for partition in owned:
        since_s = oldest_s.get(partition, now_s)
        yield Sample(m.OLDEST_OPEN_RECORD_SECONDS, max(now_s - since_s, 0.0), (partition.topic, str(partition.partition)))
    yield Sample(m.IN_FLIGHT_RECORDS, ledger.open_records, (group,))
    yield Sample(m.IN_FLIGHT_BYTES, ledger.open_bytes, (group, "raw"))
    yield Sample(m.IN_FLIGHT_BYTES, ledger.decoded_bytes, (group, "decoded"))
    yield Sample(m.MAX_IN_FLIGHT_RECORDS, ledger.cap_records, (group,))
    yield Sample(m.MAX_IN_FLIGHT_BYTES, ledger.cap_bytes, (group,))
    yield Sample(m.ASSIGNED_PARTITIONS, len(owned), (group,))
    yield Sample(m.POLL_GAP_SECONDS, max(now_s - poller.last_poll_s, 0.0), (group,))
    for event in ("assign", "revoke", "lost"):
        yield Sample(m.REBALANCES_TOTAL, poller.events[event], (group, event))
    for result in ("accepted", "refused"):
        yield Sample(m.COMMITS_TOTAL, poller.commits[result], (group, result))


def _decoding(parts: Parts) -> Iterator[Sample]:
    pipeline = parts.pipeline
    decoders = pipeline.decoders
    yield Sample(m.DECODE_TOTAL, sum(one.text_records for one in decoders), ("text",))
    yield Sample(m.DECODE_TOTAL, sum(one.json_records for one in decoders), ("json",))
    yield Sample(m.DECODE_TOTAL, sum(one.refused_records for one in decoders), ("none",))
    yield Sample(m.INVALID_UTF8_TOTAL, sum(one.replaced_records for one in decoders))
    yield Sample(m.WITHOUT_HEADERS_TOTAL, parts.log_source.records_without_headers + parts.query_source.records_without_headers)
    rules = sorted({rule for redactor in pipeline.redactors for rule in redactor.counts})
    for rule in rules:
        yield Sample(m.REDACTIONS_TOTAL, sum(redactor.counts[rule] for redactor in pipeline.redactors), (rule,))
    for stage, kinds in KINDS.items():
        for kind in kinds:
            yield Sample(m.DLQ_TOTAL, pipeline.letters_delivered[stage, kind], (stage, kind))
    yield Sample(m.DLQ_OPEN, parts.outside.letters.open_letters)


def _savings(parts: Parts) -> Iterator[Sample]:
    savings = parts.pipeline.flights.savings()
    for topic in parts.topics:
        one = savings.get(topic)
        ways = {"known": 0, "collapsed": 0, "rejected": 0} | dict.fromkeys(SOURCES, 0)
        if one is not None:
            ways |= {"known": one.known, "collapsed": one.collapsed, "rejected": one.rejected} | {s: one.sources[s] for s in SOURCES}
        for way, count in ways.items():
            yield Sample(m.CHUNKS_TOTAL, count, (topic, way))
        yield Sample(m.TOKENS_TOTAL, 0 if one is None else one.tokens_embedded, (topic, "embedded"))
        yield Sample(m.TOKENS_TOTAL, 0 if one is None else one.tokens_saved, (topic, "saved"))
        yield Sample(m.TEMPLATES, 0 if one is None else int(one.distinct), (topic,))


def _cache(parts: Parts) -> Iterator[Sample]:
    levels = parts.pipeline.levels
    for level, tally in levels.tallies.items():
        yield Sample(m.CACHE_TOTAL, tally.hits, (level, "hit"))
        yield Sample(m.CACHE_TOTAL, tally.misses, (level, "miss"))
    redis = Tally() if parts.redis is None else parts.redis.tally
    yield Sample(m.CACHE_TOTAL, redis.late + redis.skipped, ("redis", "error"))
    yield Sample(m.CACHE_TOTAL, redis.corrupt, ("redis", "corrupt"))


def _engine(parts: Parts) -> Iterator[Sample]:
    pipeline = parts.pipeline
    tally, judge = pipeline.embed.tally, pipeline.judge
    yield Sample(m.BATCH_SIZE, tally.sizes.seen())
    yield Sample(m.BATCH_TOKENS, tally.batch_tokens.seen())
    yield Sample(m.BATCH_WAIT_SECONDS, tally.waits.seen())
    yield Sample(m.EMBED_SECONDS, tally.batch_seconds.seen())
    yield Sample(m.ENGINE_UP, float(judge.is_up))
    yield Sample(m.ENGINE_RESTARTS_TOTAL, judge.restarts)
    yield Sample(m.ENGINE_BUSY_TOTAL, tally.seconds)
    batcher = pipeline.embed.batcher
    yield Sample(m.BATCH_LIMIT_TOKENS, min(batcher.capped_tokens, judge.limit_tokens) if batcher.queries_arrive else judge.limit_tokens)


def _stages(parts: Parts) -> Iterator[Sample]:
    pipeline = parts.pipeline
    for lane in (pipeline.prepare_lane, pipeline.query_lane, pipeline.embed_lane, pipeline.store_lane, pipeline.answer_lane):
        yield Sample(m.LANE_ENTRIES, len(lane), (lane.name,))
        yield Sample(m.STAGE_WAIT_SECONDS, lane.waits.seen(), (lane.name,))
    for stage, meter in pipeline.busy.items():
        yield Sample(m.STAGE_BUSY_TOTAL, meter.seconds, (stage,))
    yield Sample(m.STAGE_BUSY_TOTAL, pipeline.embed.tally.seconds, ("engine",))


def _sink(parts: Parts) -> Iterator[Sample]:
    tally = parts.pipeline.store.tally
    for op, rows in (("lines", tally.lines), ("templates", tally.templates)):
        yield Sample(m.SINK_ROWS_TOTAL, rows, (op,))
    for op, writes in tally.writes.items():
        yield Sample(m.SINK_SECONDS, writes.seen(), (op,))
    for kind in ("busy", "rejected"):
        yield Sample(m.SINK_ERRORS_TOTAL, tally.errors[kind], (kind,))


def _queries(parts: Parts) -> Iterator[Sample]:
    tally = parts.pipeline.answer.tally
    for stage in (*STAGES, "total"):
        yield Sample(m.QUERY_SECONDS, tally.seconds[stage].seen(), (stage,))
    for outcome in _QUERY_OUTCOMES:
        yield Sample(m.QUERIES_TOTAL, tally.outcomes[outcome], (outcome,))
    yield Sample(m.QUERIES_TOTAL, parts.pipeline.query_tally.unanswerable, ("unanswerable",))
    yield Sample(m.QUERY_EXPIRED_TOTAL, tally.outcomes["expired"])
    yield Sample(m.REPLIES_LOST_TOTAL, parts.outside.replies.undelivered)


def _health(parts: Parts) -> Iterator[Sample]:
    for probe in parts.status.probes:
        yield Sample(m.DEPENDENCY_UP, float(not probe.complaint()), (probe.name,))
    yield Sample(m.LOG_LINES_DROPPED_TOTAL, lines_lost())
    yield Sample(m.READY, float(parts.status.health.ready().is_good))
