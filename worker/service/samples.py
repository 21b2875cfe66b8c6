"""Current value of every metric, read from a running service. Nothing is counted here.

`worker.watching.exposition` asks for them when somebody scrapes. Where a label's values are known beforehand, each of them has a
figure from the start, so that a rate over it is 0 and not absent.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, get_args

from consumers.decode.compressed import Codec
from consumers.decode.decode_tally import NO_TEXT
from consumers.decode.json_repair import REPAIRS
from consumers.kafka.kafka_source import KafkaSource
from consumers.ledger import Ledger
from consumers.poller import Poller
from worker.connections import Connections
from worker.embedding.cache.cache_tally import CacheTally
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.cache.vector_levels import SOURCES, Levels
from worker.indexing.dead_letter_reasons import REJECTION_KINDS
from worker.indexing.savings import Savings
from worker.querying.answer import STAGES
from worker.querying.found_tally import RESULTS
from worker.runtime.logs import dropped_lines
from worker.runtime.process import vectail_version
from worker.service.engine_samples import engine_samples
from worker.service.indexing_pipeline import IndexingPipeline
from worker.service.pipeline import Pipeline
from worker.service.querying_pipeline import QueryingPipeline
from worker.service.status import Status
from worker.settings.masks_version import masks_version
from worker.settings.settings import Settings
from worker.watching import metrics as m
from worker.watching.metrics import Sample

if TYPE_CHECKING:
    from worker.service.embedding_service import EmbeddingService

OUTCOMES = ("indexed", "dead_letter", "tombstone", "empty", "revoked", "abandoned")
_QUERY_OUTCOMES = ("answered", "bad_query", "expired", "abandoned", "unavailable")


class RunningService(Protocol):
    """The service, as far as metrics and documents read it."""

    settings: Settings
    connections: Connections
    redis: RedisCache | None
    pipeline: Pipeline
    logs: Poller | None
    """None, and no `log_source` either: it indexes nothing."""
    queries: Poller
    log_source: KafkaSource | None
    query_source: KafkaSource
    status: Status
    embeddings: "EmbeddingService | None"


def samples(service: RunningService, now_s: float) -> Iterator[Sample]:
    """Return all of them."""
    yield from _build(service)
    yield from _lag(service, now_s)
    yield from _records(service, now_s)
    yield from _decoding(service)
    yield from _savings(service.pipeline.indexing.flights.savings(), _log_topics(service))
    yield from _cache(service.pipeline.levels, service.redis)
    yield from engine_samples(service.pipeline)
    yield from _embeddings(service)
    yield from _stages(service.pipeline)
    if service.logs is not None:
        for stage, threads in (("prepare", 1), ("engine", 1), ("store", service.settings.index.writers)):
            yield Sample(m.STAGE_THREADS, threads, (stage,))
    yield from _sink(service.pipeline.indexing)
    yield from _queries(service.pipeline.querying)
    yield Sample(m.REPLIES_LOST_TOTAL, service.connections.replies.undelivered)
    yield from _health(service.status)
    yield from service.status.conditions.samples()


def _build(service: RunningService) -> Iterator[Sample]:
    model = service.connections.model
    masks = masks_version(service.settings.mask)
    yield Sample(m.BUILD_INFO, 1, (vectail_version(), model.engine.name, model.prepared.name, model.space.id, masks))
    yield Sample(m.SEARCHABLE_SECONDS, service.pipeline.indexing.store.tally.searchable.seen())
    canary = service.status.canary.tally
    yield Sample(m.CANARY_SECONDS, canary.seconds.seen())
    for result in ("found", "lost"):
        yield Sample(m.CANARY_TOTAL, canary.results[result], (result,))


def _lag(service: RunningService, now_s: float) -> Iterator[Sample]:
    lag = service.status.lag
    for (topic, partition), (place, behind) in lag.by_partition.items():
        labels = (topic, str(partition))
        yield Sample(m.LAG_RECORDS, behind.records, labels)
        if behind.seconds is not None:
            yield Sample(m.LAG_SECONDS, behind.seconds, labels)
        if (drain_s := behind.outlook.middle_s) is not None:
            yield Sample(m.DRAIN_SECONDS, drain_s, labels)
        if place.committed is not None:
            yield Sample(m.COMMITTED_OFFSET, place.committed, labels)
        yield Sample(m.FIRST_OFFSET, place.first_offset, labels)
        yield Sample(m.END_OFFSET, place.end_offset, labels)
    if lag.read_s is not None:
        yield Sample(m.LAG_AGE_SECONDS, now_s - lag.read_s)
    if service.log_source is not None:
        for topic in _log_topics(service):
            yield Sample(m.EXPIRED_TOTAL, service.log_source.expired_records.get(topic, 0), (topic,))


def _log_topics(service: RunningService) -> tuple[str, ...]:
    """Return the topics that were or will be read: those with a name, those that fit a pattern, and what has gone away since."""
    if service.log_source is None:
        return ()
    known = (*service.settings.subscription.names, *service.log_source.topics, *sorted(service.pipeline.indexing.ledger.outcomes()))
    return tuple(dict.fromkeys(known))


def _records(service: RunningService, now_s: float) -> Iterator[Sample]:
    pipeline = service.pipeline
    for topic in _log_topics(service):
        yield from _outcomes(topic, pipeline.indexing.ledger.outcomes().get(topic, Counter()), OUTCOMES)
    for topic, tally in pipeline.querying.ledger.outcomes().items():
        yield from _outcomes(topic, tally, ("indexed", "unanswerable", "revoked", "abandoned"))
    if service.logs is not None:
        yield from _group("logs", service.logs, pipeline.indexing.ledger, now_s)
    yield from _group("queries", service.queries, pipeline.querying.ledger, now_s)
    for group, source in _sources(service).items():
        yield Sample(m.PAUSED_PARTITIONS, source.paused_partitions, (group,))


def _sources(service: RunningService) -> dict[str, KafkaSource]:
    logs = {} if service.log_source is None else {"logs": service.log_source}
    return {**logs, "queries": service.query_source}


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
        yield Sample(m.COMMITS_TOTAL, poller.commits.counts[result], (group, result))


def _decoding(service: RunningService) -> Iterator[Sample]:
    pipeline, readers = service.pipeline, service.pipeline.indexing.readers
    tally = readers.decode_tally
    for form, records in sorted(tally.records.copy().items()):
        yield Sample(m.DECODE_TOTAL, records, (form,))
    yield Sample(m.INVALID_UTF8_TOTAL, tally.replaced_records)
    for what in REPAIRS:
        yield Sample(m.REPAIRED_TOTAL, tally.repaired[what], (what,))
    yield Sample(m.MADE_TEXTS_TOTAL, tally.made_texts)
    yield Sample(m.DECODE_DROPPED_TOTAL, tally.dropped[NO_TEXT], (NO_TEXT,))
    for codec in get_args(Codec):
        yield Sample(m.DECOMPRESSED_TOTAL, tally.decompressed[codec], (codec,))
    yield Sample(m.WITHOUT_HEADERS_TOTAL, sum(source.records_without_headers for source in _sources(service).values()))
    for rule, count in sorted(readers.redactor.counts.items()):
        yield Sample(m.REDACTIONS_TOTAL, count, (rule,))
    for drop in service.settings.drop:
        yield Sample(m.DROPPED_TOTAL, readers.rule_tally.dropped[drop.name], (drop.name,))
    for sample in service.settings.sample:
        yield Sample(m.SAMPLED_TOTAL, readers.rule_tally.sampled[sample.name], (sample.name,))
    yield Sample(m.CLOSED_EARLY_TOTAL, readers.rule_tally.closed_early)
    for stage, kinds in REJECTION_KINDS.items():
        for kind in kinds:
            yield Sample(m.DLQ_TOTAL, pipeline.dead_letters.delivered[stage, kind], (stage, kind))
    yield Sample(m.DLQ_OPEN, service.connections.dead_letters.open_letters)


def _savings(savings: Mapping[str, Savings], topics: Iterable[str]) -> Iterator[Sample]:
    for topic in topics:
        one = savings.get(topic)
        ways = {"known": 0, "collapsed": 0, "rejected": 0} | dict.fromkeys(SOURCES, 0)
        if one is not None:
            ways |= {"known": one.known, "collapsed": one.collapsed, "rejected": one.rejected} | {s: one.sources[s] for s in SOURCES}
        for way, count in ways.items():
            yield Sample(m.CHUNKS_TOTAL, count, (topic, way))
        yield Sample(m.TOKENS_TOTAL, 0 if one is None else one.tokens_embedded, (topic, "embedded"))
        yield Sample(m.TOKENS_TOTAL, 0 if one is None else one.tokens_saved, (topic, "saved"))
        yield Sample(m.TEMPLATES, 0 if one is None else int(one.distinct), (topic,))


def _cache(levels: Levels, cache: RedisCache | None) -> Iterator[Sample]:
    for level, tally in levels.tallies.items():
        yield Sample(m.CACHE_TOTAL, tally.hits, (level, "hit"))
        yield Sample(m.CACHE_TOTAL, tally.misses, (level, "miss"))
    redis = CacheTally() if cache is None else cache.tally
    yield Sample(m.CACHE_TOTAL, redis.late + redis.skipped, ("redis", "error"))
    yield Sample(m.CACHE_TOTAL, redis.corrupt, ("redis", "corrupt"))


def _embeddings(service: RunningService) -> Iterator[Sample]:
    if service.embeddings is not None and service.pipeline.served is not None:
        yield from service.embeddings.samples(service.pipeline.served)


def _stages(pipeline: Pipeline) -> Iterator[Sample]:
    served = () if pipeline.served is None else (pipeline.served.lane,)
    for lane in (
        pipeline.indexing.prepare_lane,
        pipeline.querying.prepare_lane,
        *served,
        pipeline.embedder,
        pipeline.indexing.store_lane,
        pipeline.querying.answer_lane,
    ):
        yield Sample(m.LANE_ENTRIES, len(lane), (lane.name,))
        yield Sample(m.STAGE_WAIT_SECONDS, lane.waits.seen(), (lane.name,))
    for stage, meter in pipeline.busy.items():
        yield Sample(m.STAGE_BUSY_TOTAL, meter.seconds, (stage,))
    yield Sample(m.STAGE_BUSY_TOTAL, pipeline.embedder.tally.seconds, ("engine",))


def _sink(indexing: IndexingPipeline) -> Iterator[Sample]:
    store, resume = indexing.store, indexing.resume.tally
    tally = store.tally
    yield Sample(m.SINK_LINES_TOTAL, tally.lines)
    rows = {"templates": tally.templates, "blocks": tally.blocks, "merged": tally.merged, "deleted": tally.deleted}
    for op, count in rows.items():
        yield Sample(m.SINK_ROWS_TOTAL, count, (op,))
    for op, writes in tally.writes.items():
        yield Sample(m.SINK_SECONDS, writes.seen(), (op,))
    for kind in ("busy", "rejected"):
        yield Sample(m.SINK_ERRORS_TOTAL, tally.errors[kind], (kind,))
    yield Sample(m.SINK_BYTES_TOTAL, tally.block_bytes)
    yield Sample(m.WAITING_LINES, store.waiting_lines)
    yield Sample(m.UPKEEP_TOTAL, tally.upkeep_seconds)
    yield Sample(m.SKIPPED_LINES_TOTAL, resume.skipped_lines)
    yield Sample(m.RESUME_SECONDS_TOTAL, resume.seconds)


def _queries(querying: QueryingPipeline) -> Iterator[Sample]:
    tally = querying.answer.tally
    for stage in (*STAGES, "total"):
        yield Sample(m.QUERY_SECONDS, tally.seconds[stage].seen(), (stage,))
    for outcome in _QUERY_OUTCOMES:
        yield Sample(m.QUERIES_TOTAL, tally.outcomes[outcome], (outcome,))
    yield Sample(m.QUERIES_TOTAL, querying.kafka_queries.unanswerable, ("unanswerable",))
    yield Sample(m.QUERIES_SHARED_TOTAL, querying.answer.searches.shared)
    for result in RESULTS:
        yield Sample(m.QUERIES_FOUND_TOTAL, querying.answer.found.results[result], (result,))
    yield Sample(m.QUERY_BEST_COSINE, querying.answer.found.best.seen())
    yield Sample(m.QUERY_EXPIRED_TOTAL, tally.outcomes["expired"])


def _health(status: Status) -> Iterator[Sample]:
    for probe in status.probes:
        yield Sample(m.DEPENDENCY_UP, float(not probe.error_line()), (probe.name,))
    worst_cosine = status.vectors.worst_cosine
    yield Sample(m.VECTORS_WORST_COSINE, math.nan if worst_cosine is None else worst_cosine)
    yield Sample(m.LOG_LINES_DROPPED_TOTAL, dropped_lines())
    yield Sample(m.READY, float(status.health.ready().is_good))
