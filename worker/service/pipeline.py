"""Everything between the pollers and the outside: ledgers, lanes, flights and the steps between them, wired once.

`worker.service.service` makes one and starts its stages; `worker.service.shutdown` closes their inlets in order. Nothing here knows
signals, or when a thread begins and ends.
"""

import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

from consumers.assignment import Claim, Receipt
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.registry_schemas import Schemas
from consumers.ledger import Ledger
from consumers.rejection import RejectedPiece, Rejection
from sinks.reading.reader import BlockReader
from worker.asking.requests import QueryRequest
from worker.connections import Connections
from worker.embedding.batcher import Batcher
from worker.embedding.cache.index_level import IndexLevel
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.embedder import Embedder
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import letter_of
from worker.indexing.flights import Flights
from worker.indexing.line_batch import LineBatch, StoreItem
from worker.indexing.new_templates import NewTemplates, TemplateEncoder
from worker.indexing.prepare import Prepare
from worker.indexing.resume import Resume
from worker.indexing.runs import Runs
from worker.indexing.schema_lookup import SchemaLookup
from worker.indexing.schema_wait import SchemaWait
from worker.indexing.store import Store
from worker.indexing.topic_readers import RuleTally, new_topic_readers
from worker.querying.answer import Answer
from worker.querying.prepare_queries import PrepareQueries, QueryTally
from worker.querying.query_text import new_query_encoder
from worker.querying.ready_query import Answerable, KafkaRequest
from worker.runtime.fair_lock import FairLock
from worker.runtime.fair_share import FairQueue
from worker.runtime.lane import Inlet, Lane
from worker.runtime.limits import MOST_REJECTED, MOST_UNDECODABLE, FaultLimit, TopicFaultLimits
from worker.runtime.stage import Crash, Meter, Stage, empty
from worker.settings.masks_version import topic_masks_version
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor

_PREPARE_RECORDS = 8_000
"""Records that share the costs of a batch: compiling patterns, taking a lock."""
_QUERIES = 1_000
_QUERY_BYTES = 16 * 1024 * 1024
_QUERIES_AT_ONCE = 64


class StageGroup(NamedTuple):
    """Stages that end together, and the lanes whose closing ends them."""

    inlets: Sequence[Inlet]
    stages: list[Stage]


class Pipeline:
    """Ledgers, lanes and steps of one worker.

    Thread: main wires it; each part says which thread owns it.
    """

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        redis: VectorCache | None,
        *,
        say: Callable[[str], None],
        abandon: threading.Event,
        at: Callable[[str], None],
    ) -> None:
        """`abandon` is set once what is in hand is given up; `at` is called at each fail point."""
        model, sink = connections.model, connections.sink
        self._settings = settings
        self._connections = connections
        self._abandon = abandon
        self._at = at
        limits = settings.limits
        self.log_ledger = Ledger(cap_records=limits.max_in_flight_records, cap_bytes=limits.max_in_flight_bytes, dead_letter=self._post)
        self.query_ledger = Ledger(cap_records=_QUERIES, cap_bytes=_QUERY_BYTES, dead_letter=self._post)
        shared = FairQueue(topic_of=_topic, size_of=_records, weight_of=settings.weight_of)
        self.prepare_lane: Lane[Receipt] = Lane("prepare", size=_records, shared=shared)
        self.query_lane: Lane[KafkaRequest | QueryRequest] = Lane("prepare-queries")
        self.store_lane: Lane[StoreItem] = Lane("store", size=_lines)
        self.answer_lane: Lane[Answerable] = Lane("answer")
        self.flights = Flights(keep_s=self._keep_s)
        index = IndexLevel(sink.templates.vectors, say=say, clock=time.monotonic, draw=random.SystemRandom().random)
        self.levels = Levels(memory=MemoryCache(settings.cache.memory_bytes), redis=redis, index=index.find, fail_point=at)
        self._undecodable = TopicFaultLimits("undecodable records", most=MOST_UNDECODABLE)
        self._tokenizers: list[Tokenizer] = []
        self.redactor = new_redactor(settings.redact)
        """Of the prepare thread; it counts what it replaced."""
        self.decode_tally = DecodeTally()
        """Of the prepare thread: the formats that it found."""
        self.rule_tally = RuleTally()
        """Of the prepare thread: what rules dropped and sampled."""
        self._schema_lookup = self._new_schema_lookup(say)
        """None: there is no Schema Registry."""
        self.runs = Runs(clock=time.monotonic, wall_ms=_wall_ms)
        self.reader = BlockReader(sink, clock=time.monotonic)
        self._computing = FairLock()
        self.store = self._store_step(say)
        self.resume = self._new_resume(say)
        self.dead_letters_delivered: Counter[tuple[str, str]] = Counter()
        """Dead letters that Kafka has acknowledged, by stage and kind (`worker.indexing.dead_letter_reasons`)."""
        self.busy = {stage: Meter() for stage in ("prepare", "prepare-queries", "store")}
        self.guarded_engine = GuardedEngine(model.engine, model.golden, new_engine=model.new_engine, say=say, clock=time.monotonic)
        self.embedder = self._new_embedder()
        self._prepare = self._prepare_step()
        self._prepare_queries = self._query_step(say)
        self.answer = Answer(
            sink=sink, reader=self.reader, clock=time.monotonic, pause=abandon.wait, wall_ms=_wall_ms, named=settings.template
        )
        self.query_tally: QueryTally = self._prepare_queries.tally

    def stages(self, on_crash: Crash) -> list[StageGroup]:
        """Return the stages in the order in which they must end."""
        prepare = Stage("prepare", self._run_prepare, on_crash)
        asked = empty(self.query_lane, self._prepare_queries.step, most=_QUERIES_AT_ONCE, meter=self.busy["prepare-queries"])
        queries = Stage("prepare-queries", asked, on_crash)
        stores = [
            Stage(f"store-{n}", partial(self.store.body, self.store_lane, self.busy["store"]), on_crash)
            for n in range(1, self._settings.index.writers + 1)
        ]
        embedder = self.embedder
        answer = Stage("answer", lambda: self.answer.body(self.answer_lane), on_crash)
        return [
            StageGroup([self.prepare_lane, self.query_lane], [prepare, queries]),
            StageGroup([embedder], [Stage("embed", embedder.deliver, on_crash), Stage("engine", embedder.compute, on_crash)]),
            StageGroup([self.store_lane, self.answer_lane], [*stores, answer]),
        ]

    def _run_prepare(self) -> None:
        """Work the records until the lane is closed and empty, then those that still wait for their schemas."""
        tracing = self._connections.tracing
        step = self._prepare.step if tracing is None else tracing.around_batches(self._prepare.step)
        empty(self.prepare_lane, step, most=_PREPARE_RECORDS, meter=self.busy["prepare"])()
        self._prepare.finish()

    def side_stages(self, on_crash: Crash) -> list[Stage]:
        """Return the stages that nothing waits for at the end: they end by themselves after `abandon`."""
        lookup = self._schema_lookup
        return [] if lookup is None else [Stage("schemas", lookup.body, on_crash)]

    def take_queries(self, receipts: Sequence[Receipt]) -> None:
        """Take queries that have just been polled."""
        now_s = time.monotonic()
        claims = (receipt.claim(row) for receipt in receipts for row in range(receipt.records.size))
        self.query_lane.put([KafkaRequest(claim, now_s) for claim in claims])

    def take_request(self, request: QueryRequest) -> None:
        """Take a query that did not come over Kafka."""
        self.query_lane.put([request])

    def abandon(self) -> None:
        """Drop what is in the lanes: its receipts stay open, so it will be read again."""
        self.prepare_lane.abandon()
        self.query_lane.abandon()
        self.embedder.abandon()
        self.store_lane.abandon()
        self.answer_lane.abandon()
        if self._schema_lookup is not None:
            self._schema_lookup.stop()

    def close(self) -> None:
        """Free the engine and the tokenizers; only after every stage has ended."""
        self.guarded_engine.close()
        for tokenizer in self._tokenizers:
            tokenizer.close()

    def _new_tokenizer(self) -> Tokenizer:
        self._tokenizers.append(self._connections.model.new_tokenizer())
        return self._tokenizers[-1]

    def _prepare_step(self) -> Prepare:
        settings, model = self._settings, self._connections.model
        tokenizer = self._new_tokenizer()
        lookup = self._schema_lookup
        schemas = None if lookup is None else lookup.schemas
        readers = new_topic_readers(
            settings, model.prepared, tokenizer, decode_tally=self.decode_tally, rule_tally=self.rule_tally, schemas=schemas
        )
        return Prepare(
            ledger=self.log_ledger,
            redactor=self.redactor,
            reader_of=readers.of_topic,
            rule_tally=self.rule_tally,
            resume=self.resume,
            flights=self.flights,
            new_templates=self._new_templates(tokenizer),
            dim=model.space.dim,
            hide=self.store.hide,
            reject=self.store.reject,
            store=self.store_lane,
            undecodable=self._undecodable,
            abandoned=self._abandon.is_set,
            schema_wait=None if lookup is None else SchemaWait(lookup, reads=cache(self._may_name_schemas)),
            computing=self._computing,
            wall_ms=_wall_ms,
            fail_point=self._at,
        )

    def _new_templates(self, tokenizer: Tokenizer) -> NewTemplates:
        model = self._connections.model
        prefix = model.prepared.document_prefix
        return NewTemplates(
            encoder=TemplateEncoder(tokenizer=tokenizer, digester=Digester(model.space, prefix), prefix=prefix),
            levels=self.levels,
            rewrite_found=lambda: self._connections.sink.retention_s is not None,
            flights=self.flights,
            submit=self.embedder.submit,
            store=self.store_lane,
            fail_flight=self.store.fail_flight,
            rejected=FaultLimit("texts that the engine rejects", most=MOST_REJECTED),
        )

    def _new_schema_lookup(self, say: Callable[[str], None]) -> SchemaLookup | None:
        registry = self._connections.registry
        return None if registry is None else SchemaLookup(registry, Schemas(), wake=self.prepare_lane.wake, say=say)

    def _may_name_schemas(self, topic: str) -> bool:
        return self._settings.topic_table(topic).format in ("auto", "registry")

    def _query_step(self, say: Callable[[str], None]) -> PrepareQueries:
        encoder = new_query_encoder(self._settings, self._connections.model)
        self._tokenizers.append(encoder.tokenizer)
        tracing = self._connections.tracing
        return PrepareQueries(
            encoder=encoder,
            reply_topics=frozenset((self._settings.kafka.reply_topic, *self._settings.query.reply_topics)),
            cache=self.levels,
            submit=self.embedder.submit,
            answer=self.answer_lane,
            send=self._connections.replies.send,
            clock=time.monotonic,
            wall_ms=_wall_ms,
            say=say,
            **({} if tracing is None else {"reply_headers": tracing.answer_headers}),
        )

    def _new_resume(self, say: Callable[[str], None]) -> Resume:
        return Resume(
            sink=self._connections.sink,
            reader=self.reader,
            runs=self.runs,
            window_records=self._settings.limits.max_in_flight_records,
            say=say,
            pause=self._abandon.wait,
            fail_point=self._at,
        )

    def _store_step(self, say: Callable[[str], None]) -> Store:
        return Store(
            sink=self._connections.sink,
            flights=self.flights,
            runs=self.runs,
            ledger=self.log_ledger,
            masks_of=partial(topic_masks_version, self._settings),
            say=say,
            pause=self._abandon.wait,
            clock=time.monotonic,
            wall_ms=_wall_ms,
            date_ms=self._connections.sink.date_ms,
            flush_s=self._settings.index.flush_s,
            most_refused=MOST_REJECTED,
            computing=self._computing,
            fail_point=self._at,
        )

    def _keep_s(self) -> float:
        retention_s = self._connections.sink.retention_s
        return math.inf if retention_s is None else retention_s

    def _new_embedder(self) -> Embedder:
        engine = self._connections.model.engine
        return Embedder(
            batcher=Batcher(
                budget_tokens=engine.batch_tokens,
                log_floor_tokens=max(engine.batch_tokens // 8, 1),
                target_s=self._settings.query.target_batch_s,
                topic_of=lambda waiting: waiting.text.topic,
                weight_of=self._settings.weight_of,
            ),
            engine=self.guarded_engine,
            cache=self.levels,
            fail_point=self._at,
        )

    def _post(self, claim: Claim, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
        tracing, record = self._connections.tracing, claim.record
        letter = letter_of(record, rejection, rejects)
        if tracing is not None:
            letter = letter._replace(trace=tracing.letter_headers(record, self._settings.kafka.dead_letter_topic, rejection.kind))

        def delivered() -> None:
            self.dead_letters_delivered[rejection.stage, rejection.kind] += 1
            claim.dead_letter_delivered()

        self._connections.dead_letters.send(letter, delivered=delivered)


def _topic(receipt: Receipt) -> str:
    return receipt.records.topic


def _records(receipt: Receipt) -> int:
    return receipt.records.size


def _lines(item: StoreItem) -> int:
    return item.size if isinstance(item, LineBatch) else 1


def _wall_ms() -> float:
    """Return milliseconds since 1970."""
    return time.time() * 1000
