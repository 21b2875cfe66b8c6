"""The steps of the worker in a row, moved by hand: no threads, so every interleaving is the test's own choice.

Every step is real, and so are ledgers, lanes, flights, cache, masks and tokenizer; engine, sink, clock and written topics are fakes.
"""

import json
import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from consumers.assignment import Claim, Receipt
from consumers.decode.decoder import Decoder
from consumers.decode.rules import DecodeRules, Format
from consumers.ledger import Ledger
from consumers.record import Header, Partition, records_of
from consumers.text.chunk import Chunker
from consumers.text.mask import MASKS_VERSION, Masker, MaskMode
from consumers.text.redact import Redactor
from consumers.text.split_long import PieceLimits
from producers.replies import Reply
from sinks.build import DEFAULT_BOUNDS, BlockBounds
from sinks.line import PIECE_BYTES, Line
from sinks.reading.between import RecordRange
from sinks.reading.reader import BlockReader
from sinks.row import TemplateId, TemplateText, template_id
from sinks.sink import Sink, TemplateView
from tests.fakes.engine import FakeEngine
from tests.fakes.sink import FakeSink
from tests.fakes.watched_lock import WatchedLock
from tests.worker.chain_values import LATE_MS, LOGS, golden_of, record, texts_of
from tests.worker.letters import Letters as Letters  # noqa: PLC0414 - tests take it from here
from worker.asking.requests import CORRELATION_HEADER, REPLY_TOPIC_HEADER
from worker.embedding.batcher import Batcher
from worker.embedding.cache.index_level import IndexLevel
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.embedder import Embedder, Waiting
from worker.embedding.encoded_text import EncodedText
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.space import CacheKey, Digester, EmbeddingSpace
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.entry_rules import EntryRules
from worker.indexing.events import EventJoiner
from worker.indexing.flights import Flights
from worker.indexing.line_batch import LineBatch, StoreItem, StoreOutlet
from worker.indexing.line_router import LineRouter
from worker.indexing.prepare import Prepare
from worker.indexing.record_outcomes import RecordOutcomes
from worker.indexing.resume import Resume
from worker.indexing.runs import Runs
from worker.indexing.sampling import Sampler
from worker.indexing.schema_wait import SchemaWait
from worker.indexing.store import Store, StoreRules
from worker.indexing.stored_before import StoredBefore
from worker.indexing.template_space import TemplateEncoder, TemplateSpace
from worker.indexing.topic_readers import RuleTally, TopicReader
from worker.querying.answer import Answer
from worker.querying.kafka_queries import KafkaQueries
from worker.querying.prepare_queries import PrepareQueries
from worker.querying.query_text import QueryEncoder, QuerySpace
from worker.querying.ranking import Meaning
from worker.querying.ready_query import Answerable, KafkaRequest
from worker.runtime.lane import Lane
from worker.runtime.limits import FaultLimit, TopicFaultLimits
from worker.runtime.surroundings import Surroundings
from worker.settings.rule_tables import DropTable, SampleTable
from worker.settings.topic_tables import MultilineTable

QUERIES = Partition("queries", 0)
REPLIES = "replies"
MAX_TOKENS = 256
SPACE = EmbeddingSpace(
    weights_sha256="w", architecture="a", tokenizer_sha256="t", pooling="mean", dim=384, document_prefix="", query_prefix=""
)  # fmt: skip
FLUSH_S = 0.5


class Chain:
    """Records go in by `feed`, queries by `ask`; `embed`, `store` and `answer` work what lies in their lanes. Thread: the test's."""

    def __init__(  # noqa: PLR0913, PLR0915 - what a test may want to be different, and every step in its order
        self,
        words: Tokenizer,
        *,
        max_chunks: int = 256,
        most_undecodable: int = 1000,
        most_rejected: int = 1000,
        most_refused: int = 1000,
        cap_records: int = 10_000,
        cap_bytes: int = 1 << 26,
        cache_bytes: int = 1 << 26,
        strict: bool = False,
        form: Format = "auto",
        redact: Collection[str] = (),
        known_s: float = math.inf,
        sink: FakeSink | None = None,
        max_tokens: int = MAX_TOKENS,
        mask_mode: MaskMode = "template",
        bounds: BlockBounds = DEFAULT_BOUNDS,
        window_records: int = 10_000,
        draw: random.Random | None = None,
        multiline: MultilineTable | None = None,
        drop: Sequence[DropTable] = (),
        sample: Sequence[SampleTable] = (),
        schema_wait: SchemaWait | None = None,
    ) -> None:
        self.words = words
        self.engine = FakeEngine()
        golden = golden_of(self.engine, words)
        self.engine.calls.clear()
        self.sink = sink or FakeSink()
        self.sink.open()
        self.sink.calls.clear()
        self.letters = Letters()
        self.ledger = Ledger(cap_records=cap_records, cap_bytes=cap_bytes, dead_letter=self.letters)
        self.query_ledger = Ledger(cap_records=10_000, cap_bytes=1 << 26, dead_letter=self.letters)
        self.ledger.assign([LOGS])
        self.query_ledger.assign([QUERIES])
        self.store_lane: Lane[StoreItem] = Lane("store", size=lambda item: item.size if isinstance(item, LineBatch) else 1)
        self.answer_lane: Lane[Answerable] = Lane("answer")
        self.flights = Flights(keep_s=lambda: known_s, clock=self.clock)
        self.computing = WatchedLock()
        self.cache = MemoryCache(cache_bytes)
        self.said: list[str] = []
        index = IndexLevel(self.sink.templates.vectors, say=self.said.append, clock=self.clock, draw=lambda: 0.0)
        self.levels = Levels(memory=self.cache, redis=None, index=index.find)
        self.now_s = 100.0
        self.pauses_s: list[float] = []
        self.on_pause: Callable[[float], None] = lambda _seconds: None
        """Called when the store step pauses."""
        self.give_up_after = 1000
        """Pauses until `pause` says that the service stops hard."""
        self.abandoned = False
        self.replies: list[Reply] = []
        self.reply_deadlines_s: list[float | None] = []
        self.replies_delivered = True
        self.replies_held: list[Callable[[bool], None]] | None = None
        """Where replies wait to be settled, if a test wants to do that itself."""
        self._masker = Masker(mask_mode)
        self.redactor = Redactor(redact)
        self._digester = Digester(SPACE, "")
        self.at: Callable[[str], None] = lambda _point: None
        self._draw = draw or random.Random()
        self.sink.wall_ms = self.wall_ms
        self.surroundings = Surroundings(
            clock=self.clock,
            wall_ms=self.wall_ms,
            say=self.said.append,
            pause=self._pause,
            is_abandoned=lambda: self.abandoned,
            fail_point=lambda point: self.at(point),  # noqa: PLW0108 - a test may replace it later
            computing=self.computing,
        )
        self.runs = Runs(self.surroundings, bounds=bounds, draw_bits=self._draw.getrandbits)
        self.reader = BlockReader(self.sink, clock=self.clock)
        self._most_refused = most_refused
        self.template_view: TemplateView = self.sink.templates  # where new templates go
        self.store_step = self.store_onto(self.sink)
        self.resume = Resume(
            sink=self.sink,
            reader=self.reader,
            runs=self.runs,
            window_records=window_records,
            surroundings=self.surroundings,
        )
        self.rule_tally = RuleTally()
        self._rules: dict[str, Any] = {
            "drop": EntryRules(drop) if drop else None,
            "sampler": Sampler(sample, self.rule_tally.sampled) if sample else None,
        }
        self._multiline = multiline
        rules = DecodeRules(format=form, strict=strict)
        self._schema_wait = schema_wait
        self.new_engines: list[FakeEngine] = []
        """The engines that replace a broken one; if empty, none can be loaded."""
        self.engine_load_s = 0.0
        """How long loading one takes."""
        self.guarded_engine = GuardedEngine(self.engine, golden, new_engine=self._new_engine, say=self.said.append, clock=self.clock)
        batcher: Batcher[Waiting] = Batcher(budget_tokens=512, bulk_floor_tokens=64)
        self.embedder = Embedder(batcher=batcher, engine=self.guarded_engine, cache=self.levels, memory=self.cache, clock=self.clock)
        self.router = self._line_router(most_rejected)
        self.prepare = self._prepare_step(max_chunks, max_tokens, rules, most_undecodable=most_undecodable)
        self.kafka_queries = KafkaQueries(frozenset((REPLIES,)), self._send, say=self.said.append)
        self.prepare_queries = self._query_step()
        self.answer_step = Answer(sink=self.sink, reader=self.reader, surroundings=self.surroundings)

    def clock(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> bool:
        """Wait by moving the clock."""
        self.pauses_s.append(seconds)
        self.now_s += seconds
        return len(self.pauses_s) >= self.give_up_after

    def wall_ms(self) -> float:
        return LATE_MS + (self.now_s - 100.0) * 1000

    def template(self, masked: str) -> TemplateId:
        return template_id(TemplateText(masked))

    def key(self, masked: str) -> CacheKey:
        return self._digester.digest(masked)

    def mask(self, text: str) -> str:
        return self._masker.mask([text])[0]

    def id_of(self, word: str) -> int:
        """Return the one token id of a word."""
        ids = self.words.encode([word]).text(0)
        assert len(ids) == 3, f"{word} is not one token"
        return int(ids[1])

    def tokens(self, text: str) -> int:
        """Tokens of a line as the model sees it."""
        return int(self.words.count([self.mask(text)])[0])

    def admit(self, *values: bytes | str | None) -> list[Receipt]:
        """Take records in behind those that came before, in one batch."""
        if not values:
            return []
        first = self.ledger.tally["admitted"]
        contents = [value.encode() if isinstance(value, str) else value for value in values]
        receipt = self.ledger.admit(records_of([record(offset, content) for offset, content in enumerate(contents, start=first)]))
        assert receipt is not None
        assert receipt.records.size == len(values)
        return [receipt]

    def feed(self, *values: bytes | str | None) -> list[Receipt]:
        """Take records in and prepare them as one batch."""
        receipts = self.admit(*values)
        self.prepare.step(receipts)
        return receipts

    def ask(self, request: Mapping[str, object] | bytes, *, reply_topic: str | None = REPLIES) -> Claim:
        """Take a query in and prepare it."""
        value = request if isinstance(request, bytes) else json.dumps(request).encode()
        to: tuple[Header, ...] = () if reply_topic is None else ((REPLY_TOPIC_HEADER, reply_topic.encode()),)
        claim = self.admit_query(value, ((CORRELATION_HEADER, b"c1"), *to))
        self.prepare_queries.step([KafkaRequest(claim, self.now_s)])
        return claim

    def query(self, text: str, **request: object) -> Claim:
        """Take a query in, and leave it to the test to prepare it."""
        headers = ((CORRELATION_HEADER, b"c1"), (REPLY_TOPIC_HEADER, REPLIES.encode()))
        return self.admit_query(json.dumps({"text": text, **request}).encode(), headers)

    def admit_query(self, value: bytes, headers: tuple[Header, ...] = ()) -> Claim:
        """Take the record of a query in behind those that came before."""
        one = record(self.query_ledger.tally["admitted"], value, partition=QUERIES, headers=headers)
        receipt = self.query_ledger.admit(records_of([one]))
        assert receipt is not None
        return receipt.claim(0)

    def embed(self) -> None:
        """Embed everything that waits."""
        while self.embed_turn():
            pass

    def embed_turn(self) -> bool:
        """Let the embed stage deliver what is computed, else let the engine stage compute a batch; False when both are idle."""
        return self.embedder.deliver_batches(wait=False) or self.embedder.compute_batch(wait=False)

    def waiting_texts(self) -> list[EncodedText]:
        """Return the texts that wait for the engine and fit one batch, queries first; they go on waiting."""
        queries, others = batch = self.embedder.batcher.next_batch()
        self.embedder.batcher.add(queries, "query")
        self.embedder.batcher.add(others, "bulk")
        return [one.text for some in batch for one in some]

    def store(self, most: int = 10_000) -> None:
        """Store everything that waits, in one list, and whatever waits for its block to fill."""
        self.take_to_store(most)
        self.store_step.flush(everything=True)

    def take_to_store(self, most: int = 10_000) -> None:
        """Let the store step have what waits in front of it, and leave its lines waiting for their blocks."""
        taken = self.store_lane.take(most, wait=False)
        if taken:
            self.store_step.step(taken)

    def store_onto(self, sink: Sink) -> Store:
        """Return a store step that writes to a sink."""
        store = Store(
            sink=sink,
            flights=self.flights,
            runs=self.runs,
            ledger=self.ledger,
            rules=StoreRules(masks_of=lambda _topic: str(MASKS_VERSION), flush_s=FLUSH_S, most_refused=self._most_refused),
            surroundings=self.surroundings,
        )
        store.writes.retry.draw = self._draw.random
        return store

    def answer(self) -> list[dict[str, Any]]:
        """Answer everything that waits; returns all replies so far."""
        taken = self.answer_lane.take(10_000, wait=False)
        if taken:
            self.answer_step.step(taken)
        return [json.loads(reply.value) for reply in self.replies]

    def run(self) -> None:
        """Finish everything that was fed."""
        self.embed()
        self.store()

    def index(self, *values: bytes | str | None) -> None:
        """Take records in as one batch, and finish them."""
        self.feed(*values)
        self.run()

    def lines(self) -> list[Line]:
        """Return what a reader gets: every stored line of the log partition, in order."""
        calls = list(self.sink.calls)
        found = self.reader.lines_between(RecordRange(LOGS.topic, LOGS.partition, 0, 1 << 62), strong=True)
        assert found.complete
        self.sink.calls[:] = calls
        return found.lines

    def stored(self) -> list[tuple[int, str]]:
        """Return offset and text of every stored line, in order."""
        return [(line.offset, line.text or "") for line in self.lines()]

    def refuse(self, *texts: str) -> None:
        """Let the sink refuse templates with one of these texts, and blocks with such a line."""
        self.sink.rejected_texts = set(texts)
        self.sink.rejects = lambda block: not set(texts).isdisjoint(texts_of(block))

    def committable(self) -> int | None:
        """Return the next offset of the log partition, None if there is no news."""
        return self.ledger.committable().get(LOGS)

    def embedded_texts(self) -> int:
        """How many texts the engine has computed, golden ones and repeated tries included."""
        return sum(len(call) for call in self.engine.calls)

    def _pause(self, seconds: float) -> bool:
        self.on_pause(seconds)
        return self.pause(seconds)

    def _new_engine(self) -> FakeEngine:
        self.now_s += self.engine_load_s
        if not self.new_engines:
            raise ModelError("no other engine can be made")
        return self.new_engines.pop(0)

    def _prepare_step(self, max_chunks: int, max_tokens: int, rules: DecodeRules, *, most_undecodable: int) -> Prepare:
        chunker = Chunker(
            mask=self._masker.mask_column,
            count_tokens=lambda texts: self.words.count(list(texts)).tolist(),
            limits=PieceLimits(
                max_tokens=max_tokens, overhead_tokens=int(self.words.count([""])[0]), max_text_bytes=PIECE_BYTES, max_chunks=max_chunks
            ),
        )
        decoder = Decoder(rules)
        joiner = EventJoiner(self._multiline, decoder.open_texts)
        self.topic_reader = TopicReader(decoder=decoder, redactor=self.redactor, chunker=chunker, joiner=joiner, **self._rules)
        return Prepare(
            ledger=self.ledger,
            reader_of=lambda _topic: self.topic_reader,
            stored_before=StoredBefore(self.resume, self.store_step.hide),
            outcomes=RecordOutcomes(TopicFaultLimits("undecodable records", most=most_undecodable), self.rule_tally),
            router=self.router,
            surroundings=self.surroundings,
            schema_wait=self._schema_wait,
        )

    def _line_router(self, most_rejected: int) -> LineRouter:
        store = self.store_step
        encoder = TemplateEncoder(tokenizer=self.words, digester=self._digester, prefix="")
        space = TemplateSpace(encoder=encoder, levels=self.levels, submit=self.embedder.submit, view=self.sink.templates)
        return LineRouter(
            flights=self.flights,
            space=lambda: replace(space, view=self.template_view),
            store=StoreOutlet(lane=self.store_lane, hide=store.hide, reject=store.reject, fail_flight=store.fail_flight),
            rejected=FaultLimit("texts that the engine rejects", most=most_rejected),
        )

    def _query_step(self) -> PrepareQueries:
        encoder = QueryEncoder(
            redactor=self.redactor, masker=self._masker, tokenizer=self.words, digester=self._digester, prefix="", max_tokens=MAX_TOKENS
        )
        space = QuerySpace(encoder, self.levels, self.embedder.submit, Meaning(self.sink.templates, None))
        return PrepareQueries(
            space=lambda: space,
            kafka_queries=self.kafka_queries,
            answer=self.answer_lane,
            surroundings=self.surroundings,
        )

    def _send(self, reply: Reply, *, deadline_s: float | None, settled: Callable[[bool], None]) -> None:
        self.replies.append(reply)
        self.reply_deadlines_s.append(deadline_s)
        if self.replies_held is None:
            settled(self.replies_delivered)
        else:
            self.replies_held.append(settled)
