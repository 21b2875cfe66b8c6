"""The wiring: that each part got the right others. What the parts do is in their own tests."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from consumers.record import Partition
from sinks.sink import SinkBusy
from tests.consumers.records import admit_batch
from tests.fakes.engine import FakeEngine
from tests.worker.chain import QUERIES
from tests.worker.chain_values import record
from tests.worker.running import WAIT_S, World, wait_until
from worker.asking.requests import REPLY_TOPIC_HEADER
from worker.connections import Connections
from worker.embedding.encoded_text import EncodedText
from worker.embedding.model.space import Digester
from worker.indexing.line_batch import EmbeddedTemplate
from worker.querying.ready_query import FailedQuery, ReadyQuery
from worker.runtime.stage import Abandoned
from worker.runtime.surroundings import Surroundings
from worker.service.embedding_service import EmbeddingService
from worker.service.pipeline import Pipeline
from worker.settings.service_tables import QueryTable
from worker.settings.settings import Settings
from worker.settings.tables import IndexTable
from worker.settings.topic_tables import TopicTable

LOGS = Partition("logs", 0)


class Wired:
    """A pipeline whose stages run when they are told to."""

    def __init__(self, settings: Settings, connections: Connections, embeddings: EmbeddingService | None = None) -> None:
        self.abandon = threading.Event()
        self.crashes: list[tuple[str, Exception]] = []
        self.said: list[str] = []
        self.pipeline = Pipeline(
            settings,
            connections,
            None,
            Surroundings(say=self.said.append, pause=self.abandon.wait, is_abandoned=self.abandon.is_set),
            embeddings=embeddings,
        )
        self.groups = self.pipeline.stages(lambda name, error: self.crashes.append((name, error)))
        self.pipeline.indexing.ledger.assign([LOGS])
        self.pipeline.querying.ledger.assign([QUERIES])

    def lines(self, *values: str) -> None:
        """Put lines into the prepare lane."""
        ledger = self.pipeline.indexing.ledger
        first = ledger.tally["admitted"]
        receipt = admit_batch(ledger, *(record(offset, value.encode()) for offset, value in enumerate(values, start=first)))
        self.pipeline.indexing.prepare_lane.put([receipt])

    def query(self, *values: bytes, reply_topic: str) -> None:
        """Put queries that one poll has returned into their prepare lane."""
        headers = ((REPLY_TOPIC_HEADER, reply_topic.encode()),)
        queries = [record(offset, value, partition=QUERIES, headers=headers) for offset, value in enumerate(values)]
        receipt = admit_batch(self.pipeline.querying.ledger, *queries)
        self.pipeline.querying.take_polled([receipt])

    def end(self, groups: int) -> None:
        """Run so many groups of stages to their end, in order."""
        for group in self.groups[:groups]:
            for stage in group.stages:
                stage.start()
            for lane in group.inlets:
                lane.close()
            for stage in group.stages:
                stage.join(WAIT_S)
                assert not stage.is_alive()
        assert self.crashes == []


@pytest.fixture
def connections(world: World) -> Iterator[Connections]:
    connections = world.connections(world.settings())
    connections.sink.open()
    yield connections
    connections.dead_letters.close(0.0)
    connections.reply_producer.close(0.0)


@pytest.fixture
def wired(world: World, connections: Connections) -> Iterator[Wired]:
    wired = Wired(world.settings(query=QueryTable(reply_topics=("also-mine",))), connections)
    yield wired
    wired.pipeline.close()


def test_stages_end_in_the_order_in_which_records_move(world: World, connections: Connections) -> None:
    wired = Wired(world.settings(index=IndexTable(writers=2)), connections)
    pipeline = wired.pipeline
    assert [[stage.name for stage in group.stages] for group in wired.groups] == [
        ["prepare", "prepare-queries"],
        ["embed", "engine"],
        ["store-1", "store-2", "answer"],
    ]
    assert [list(group.inlets) for group in wired.groups] == [
        [pipeline.indexing.prepare_lane, pipeline.querying.prepare_lane],
        [pipeline.embedder],
        [pipeline.indexing.store_lane, pipeline.querying.answer_lane],
    ]
    pipeline.close()


def test_queries_with_an_engine_of_their_own_never_wait_for_that_of_the_lines(world: World, connections: Connections) -> None:
    lines, queries = FakeEngine(), FakeEngine()
    model = connections.model
    own = replace(connections, model=replace(model, engine=lines), query_model=replace(model, engine=queries))
    wired = Wired(world.settings(query=QueryTable(reply_topics=("also-mine",), device="cpu")), own)
    wired.lines("a line of its own")
    wired.query(b'{"text": "a question"}', reply_topic="also-mine")
    assert [stage.name for stage in wired.groups[1].stages] == ["embed", "engine", "embed-queries", "engine-queries"]
    wired.end(2)
    assert len(lines.calls) == len(queries.calls) == 1
    [ready] = wired.pipeline.querying.answer_lane.take(1) or []
    assert isinstance(ready, ReadyQuery)
    wired.pipeline.close()
    assert lines.closed
    assert queries.closed


def test_with_either_engine_a_question_goes_where_it_is_done_first(world: World, connections: Connections) -> None:
    lines, queries = FakeEngine(), FakeEngine()
    model = connections.model
    own = replace(connections, model=replace(model, engine=lines), query_model=replace(model, engine=queries))
    wired = Wired(world.settings(query=QueryTable(reply_topics=("also-mine",), device="either")), own)
    wired.pipeline.embedder.pace.observe(1, 1_000.0)  # slow, so that the other one is tried
    wired.query(b'{"text": "a question"}', reply_topic="also-mine")
    wired.query(b'{"text": "another question"}', reply_topic="also-mine")
    wired.lines("a line of its own")
    wired.end(2)
    assert [len(engine.calls) for engine in (lines, queries)] == [1, 1]
    assert len(wired.pipeline.querying.answer_lane.take(9) or []) == 2
    wired.pipeline.close()


@pytest.mark.parametrize("on_cpu", [True, False])
def test_only_an_engine_of_this_machine_s_cores_waits_for_the_models_beside_it(
    world: World, connections: Connections, *, on_cpu: bool
) -> None:
    settings = world.settings()
    engine = FakeEngine()
    engine.on_cpu = on_cpu
    connections = replace(connections, model=replace(connections.model, engine=engine))
    crashes: list[tuple[str, Exception]] = []
    surroundings = Surroundings()
    embeddings = EmbeddingService(
        settings, "default", redis=None, surroundings=surroundings, on_crash=lambda stage, error: crashes.append((stage, error))
    )
    wired = Wired(settings, connections, embeddings)
    wired.lines("a line of its own")
    wired.end(1)
    compute = threading.Thread(target=lambda: wired.pipeline.embedder.compute_batch(wait=False))
    with embeddings.slot:
        compute.start()
        if on_cpu:
            wait_until(lambda: embeddings.slot.waiting, "its turn")
        else:
            compute.join(WAIT_S)
        assert compute.is_alive() == on_cpu
    compute.join(WAIT_S)
    wired.pipeline.close()
    assert crashes == []


def test_while_the_sink_is_busy_nothing_counts_as_stored_and_lines_are_embedded(wired: Wired, world: World) -> None:
    world.fake_sink.busy_calls = 10
    wired.lines("disk full")
    wired.end(groups=1)
    assert "templates.vectors" in world.fake_sink.calls
    assert len(wired.pipeline.embedder) == 1


def test_where_rows_do_not_live_for_ever_a_template_that_was_found_is_written_again(connections: Connections, world: World) -> None:
    world.fake_sink.lifetime_s = 3_600.0
    for tokens_embedded in (True, False):
        wired = Wired(world.settings(), connections)
        wired.lines(*["disk full"] * (1 if tokens_embedded else 2))  # the first one is stored already, in the second turn
        wired.end(groups=3)
        assert (wired.pipeline.embedder.tally.templates > 0) is tokens_embedded
        wired.pipeline.close()
    assert world.fake_sink.calls.count("templates.upsert") == 2


def test_blocks_bear_the_date_that_the_sink_gives_them(wired: Wired, world: World) -> None:
    world.fake_sink.wall_ms = lambda: 12_345.0
    wired.lines("disk full")
    wired.end(groups=3)
    assert [block.head.written_ms for block in world.fake_sink.blocks.values()] == [12_345]


def test_topics_share_prepare_and_the_engine_by_the_weights_of_the_settings(world: World, connections: Connections) -> None:
    tables = (TopicTable(name="heavy", weight=3.0), TopicTable(pattern="fl.*d"))
    wired = Wired(world.settings(topic=tables), connections)
    ledger, lane = wired.pipeline.indexing.ledger, wired.pipeline.indexing.prepare_lane
    for topic in ("flood", "heavy"):
        ledger.assign([partition := Partition(topic, 0)])
        lane.put([admit_batch(ledger, record(offset, b"x", partition=partition)) for offset in range(8)])
        wired.pipeline.embedder.submit([EncodedText(np.zeros(64, np.int32), None, topic)] * 8, lambda _embedded: None)
    taken = [receipt.records.topic for receipt in lane.take(8) or ()]
    assert (taken.count("flood"), taken.count("heavy")) == (2, 6)
    batched = [one.text.topic for one in wired.pipeline.embedder.batcher.next_batch().others]
    assert (batched.count("flood"), batched.count("heavy")) == (2, 6)
    wired.pipeline.close()


@pytest.mark.parametrize("topic", ["also-mine", "the default"])
def test_replies_go_to_the_default_topic_and_to_those_on_the_list(wired: Wired, world: World, topic: str) -> None:
    wired.query(b'{"text": "disk"}', reply_topic=world.kafka.reply_topic if topic == "the default" else topic)
    wired.end(groups=1)
    assert len(wired.pipeline.embedder.batcher.next_batch().queries) == 1


def test_lanes_count_what_is_in_their_batches(wired: Wired) -> None:
    wired.lines("disk full", "network down", "login failed")
    assert len(wired.pipeline.indexing.prepare_lane) == 3
    assert len(wired.pipeline.indexing.prepare_lane.take(1) or []) == 1


def test_the_queries_of_one_poll_go_on_one_by_one_and_settle_one_by_one(wired: Wired, world: World) -> None:
    wired.query(b'{"text": "disk"}', b"{}", b'{"text": "network"}', reply_topic=world.kafka.reply_topic)
    assert len(wired.pipeline.querying.prepare_lane) == 3
    wired.end(groups=1)
    assert len(wired.pipeline.embedder.batcher.next_batch().queries) == 2
    assert [type(one) for one in wired.pipeline.querying.answer_lane.take(10) or []] == [FailedQuery]
    assert wired.pipeline.querying.ledger.open_records == 3


def test_a_query_for_another_topic_goes_nowhere(wired: Wired) -> None:
    wired.query(b'{"text": "disk"}', reply_topic="somebody.elses")
    wired.end(groups=1)
    assert (len(wired.pipeline.embedder), len(wired.pipeline.querying.answer_lane)) == (0, 0)
    assert wired.pipeline.querying.kafka_queries.unanswerable == 1


def test_lines_get_the_document_prefix_and_queries_the_query_prefix(world: World, connections: Connections) -> None:
    prepared = replace(connections.model.prepared, document_prefix="passage: ", query_prefix="query: ")
    wired = Wired(world.settings(), replace(connections, model=replace(connections.model, prepared=prepared)))
    wired.lines("disk full")
    wired.query(b'{"text": "disk full"}', reply_topic=world.kafka.reply_topic)
    wired.end(groups=1)
    (query,), (line,) = ([one.text for one in some] for some in wired.pipeline.embedder.batcher.next_batch())
    words = connections.model.new_tokenizer()
    assert line.ids.tolist() == words.encode(["passage: disk full"]).text(0).tolist()
    assert query.ids.tolist() == words.encode(["query: disk full"]).text(0).tolist()
    assert line.key == Digester(connections.model.space, "passage: ").digest("disk full")
    assert query.key == Digester(connections.model.space, "query: ").digest("disk full")
    words.close()
    wired.pipeline.close()


def test_a_line_that_fills_the_model_with_its_prefix_is_split(world: World, connections: Connections) -> None:
    prepared = replace(connections.model.prepared, document_prefix="passage: ")
    wired = Wired(world.settings(), replace(connections, model=replace(connections.model, prepared=prepared)))
    wired.lines("=" * 253)  # with special tokens alone it would fit
    wired.end(groups=1)
    waiting = wired.pipeline.embedder.batcher.next_batch().others
    assert len(waiting) == 2
    assert all(len(one.ids) <= prepared.max_tokens for one in waiting)
    wired.pipeline.close()


def test_a_query_finds_the_vector_of_a_line_in_the_cache(wired: Wired, world: World, connections: Connections) -> None:
    """Without prefixes both have one digest, so both use one cache."""
    digest = Digester(connections.model.space, "").digest("disk full")
    wired.pipeline.levels.put_many({digest: np.eye(384, dtype=np.float32)[0]})
    wired.lines("disk full")
    wired.query(b'{"text": "disk full"}', reply_topic=world.kafka.reply_topic)
    wired.end(groups=1)
    assert [type(one) for one in wired.pipeline.querying.answer_lane.take(10) or []] == [ReadyQuery]
    assert [type(one) for one in wired.pipeline.indexing.store_lane.take(10) or []] == [EmbeddedTemplate]
    assert len(wired.pipeline.embedder) == 0


def test_abandoning_forgets_every_lane(wired: Wired, world: World) -> None:
    wired.lines("disk full", "network down")
    wired.query(b'{"text": "disk"}', reply_topic=world.kafka.reply_topic)
    wired.end(groups=1)
    pipeline = wired.pipeline
    assert len(pipeline.embedder) == 3
    pipeline.abandon()
    lanes = (
        pipeline.indexing.prepare_lane,
        pipeline.querying.prepare_lane,
        pipeline.embedder,
        pipeline.indexing.store_lane,
        pipeline.querying.answer_lane,
    )
    assert all(lane.is_abandoned and len(lane) == 0 for lane in lanes)
    assert pipeline.indexing.ledger.committable() == {}
    assert pipeline.indexing.ledger.open_records == 2


def test_a_hard_stop_wakes_a_store_stage_that_waits_for_the_sink(wired: Wired, world: World) -> None:
    world.fake_sink.on_write = lambda _rows: (_ for _ in ()).throw(SinkBusy("planted"))
    wired.lines("disk full")
    for group in wired.groups:
        for stage in group.stages:
            stage.start()
    wait_until(lambda: wired.said, "the store stage to hold rows")
    wired.abandon.set()
    wired.pipeline.abandon()
    for group in wired.groups:
        for stage in group.stages:
            stage.join(WAIT_S)
            assert not stage.is_alive(), stage.name
    assert [(name, type(error)) for name, error in wired.crashes] == [("store-1", Abandoned)]
    assert wired.pipeline.indexing.ledger.committable() == {}
