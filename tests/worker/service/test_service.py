"""The service as a whole: how it starts, drains, crashes, and what it has committed when it has ended."""

import threading
from collections.abc import Sequence

import pytest

from sinks.block import Block
from sinks.row import TemplateRow
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch
from tests.fakes.engine import FakeEngine
from tests.worker.chain_values import texts_of
from tests.worker.running import WAIT_S, World, lines_of, wait_until
from worker.embedding.guarded_engine import EngineFailed
from worker.inspecting.vector_watch import EVERY_S
from worker.runtime.limits import LimitReached
from worker.runtime.watchdog import EngineHangs
from worker.service.shutdown import Ending
from worker.settings.service_tables import LimitTable
from worker.settings.tables import DecodeTable, EngineTable

Rows = Sequence[TemplateRow] | Sequence[Block]
NEVER = {"commit_interval_s": 10.0}
"""So that nothing but the end of a service commits, as long as a test does not take that long."""


def lines_are(world: World, count: int) -> None:
    wait_until(lambda: len(world.stored()) >= count, f"{count} lines")


class Hold:
    """Makes the sink busy for lines with one word, for ever; `held` is set when it has happened.

    Thread: any.
    """

    def __init__(self, world: World, word: str, error: Exception | None = None) -> None:
        self.held = threading.Event()
        self._word = word
        self._error = error or SinkBusy("planted")
        world.fake_sink.on_write = self

    def __call__(self, rows: Rows) -> None:
        if any(self._word in text for row in rows if isinstance(row, Block) for text in texts_of(row)):
            self.held.set()
            raise self._error


def test_what_waits_in_lanes_and_stages_is_finished_before_the_end(world: World) -> None:
    """The drain begins while the engine holds one template, others wait for it, and lines are parked with both."""
    world.send(lines_of(200))
    running = world.start().opened()
    lines_are(world, 200)
    world.engine.gate = threading.Event()
    world.engine.entered.clear()
    world.send(["something entirely new"] * 20)
    assert world.engine.entered.wait(WAIT_S)
    world.send([f"something {word} new" for word in ("rather", "rather", "almost")] * 10)
    pipeline = running.service.pipeline
    wait_until(
        lambda: pipeline.indexing.flights.total().chunks == 250 and len(pipeline.embedder) > 0, "a text to wait behind the first batch"
    )
    running.service.stop()
    logs = running.service.logs
    assert logs is not None
    wait_until(lambda: logs.intake_ended.is_set() and not pipeline.indexing.prepare_lane, "the end of intake")
    world.engine.gate.set()
    assert running.wait() == Ending.DRAINED
    assert world.committed() == len(world.stored()) == 250


def test_a_drained_service_leaves_no_thread_and_closes_what_it_stands_on(world: World) -> None:
    before = set(threading.enumerate())
    running = world.start().opened()
    assert running.stop() == Ending.DRAINED
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert names == set()
    assert world.engine.closed
    assert not world.fake_sink.is_open


def test_a_stop_while_the_sink_is_away_is_not_a_crash_and_loses_nothing(world: World) -> None:
    hold = Hold(world, "failed")
    world.send(lines_of(30))
    running = world.start(world.settings(drain_s=0.5)).opened()
    assert hold.held.wait(WAIT_S)
    assert running.stop() == Ending.UNDRAINED
    assert (running.service.crash, world.committed()) == (None, 0)
    world.fake_sink.on_write = lambda _rows: None
    second = world.start().opened()
    lines_are(world, 30)
    assert second.stop() == Ending.DRAINED
    assert world.committed() == 30


def test_after_a_crash_nothing_more_is_committed(world: World) -> None:
    """Settled lines that were not committed yet stay uncommitted."""
    Hold(world, "planted", SinkBroken("the disk is full"))
    world.send(lines_of(60))
    running = world.start(world.settings(kafka=NEVER)).opened()
    lines_are(world, 60)
    before = world.committed()
    world.send(["planted", *lines_of(20)])
    assert running.wait() == Ending.CRASHED
    assert running.service.crash == "store-1: SinkBroken: the disk is full"
    assert isinstance(running.service.crash_error, SinkBroken)
    assert world.committed() == before
    assert before < 60


def test_a_broken_engine_stops_the_service_without_a_dead_letter(world: World) -> None:
    running = world.start().opened()
    world.engine.wrong = True
    world.engine.vectors_missing = 1
    world.send(lines_of(10))
    assert running.wait() == Ending.CRASHED
    assert isinstance(running.service.crash_error, EngineFailed)
    assert world.committed() == 0
    assert world.dead_letters(0) == []


def test_an_engine_that_dies_in_the_middle_is_replaced_and_everything_is_stored_once(world: World) -> None:
    written: list[str] = []
    world.fake_sink.on_write = lambda rows: written.extend(
        text for row in rows for text in (texts_of(row) if isinstance(row, Block) else [row.template])
    )
    world.spare_engines = [FakeEngine()]
    spare = world.spare_engines[0]
    world.send(lines_of(50))
    running = world.start().opened()
    lines_are(world, 50)
    world.engine.dead = True
    new_lines = [f"{word} line" for word in ("disk", "network", "login", "memory", "battery")]
    world.send([*new_lines, *lines_of(60)[50:]])
    lines_are(world, 65)
    assert running.stop() == Ending.DRAINED
    assert world.committed() == 65
    assert sorted(world.stored()) == sorted([*lines_of(60), *new_lines])
    assert len(written) == len(set(written)) == 65 + 12, "no line and no template was written twice"
    assert world.dead_letters(0) == []
    assert (world.spare_engines, world.engine.closed, spare.closed) == ([], True, True)
    assert "the engine is told to be dead; loading another engine (1 of 3)" in world.said


def test_when_every_text_fails_there_is_no_dead_letter_and_nothing_more_is_committed(world: World) -> None:
    """The golden texts fail too, and so do the new engines: then it is no text's fault."""
    first_of_every_text = 101
    world.spare_engines = [FakeEngine() for _ in range(5)]
    for engine in world.spare_engines:
        engine.raises_on = {first_of_every_text}
    world.send(lines_of(30))
    running = world.start().opened()
    lines_are(world, 30)
    wait_until(lambda: world.committed() == 30, "the first lines to be committed")
    world.engine.raises_on = {first_of_every_text}
    world.send([f"something {word}" for word in ("entirely", "rather", "almost")])
    assert running.wait() == Ending.CRASHED
    assert isinstance(running.service.crash_error, EngineFailed)
    assert "3 new engines did not help" in (running.service.crash or "")
    assert len(world.spare_engines) == 2
    assert (world.committed(), len(world.stored())) == (30, 30)
    assert world.dead_letters(0) == []


def test_an_engine_that_hangs_ends_the_service_with_the_stacks_and_nothing_more_is_committed(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    world.send(lines_of(30))
    running = world.start(world.settings(kafka=NEVER, engine=EngineTable(watchdog_s=1.0))).opened()
    lines_are(world, 30)
    wait_until(lambda: running.service.pipeline.indexing.ledger.open_records == 0, "30 settled records")
    world.engine.gate = threading.Event()
    try:
        world.send(["something entirely new", *lines_of(10)])
        assert running.wait() == Ending.CRASHED
        stacks = capfd.readouterr().err
        committed = world.committed()
    finally:
        world.engine.gate.set()
        for thread in threading.enumerate():
            if thread.name == "engine":
                thread.join(WAIT_S)
    assert (
        running.service.crash == "engine: EngineHangs: the engine has not answered for 1 s (engine.watchdog_s); the stacks are in the log"
    )
    assert isinstance(running.service.crash_error, EngineHangs)
    assert stacks.count("(most recent call first)") > 5
    assert "in embed" in stacks, "the call that hangs"
    assert committed == 0, "not even what was settled"
    assert "something entirely new" not in world.stored()
    assert world.dead_letters(0) == []


def test_a_limit_stop_commits_what_is_settled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.service.indexing_pipeline.MOST_UNDECODABLE", 5)
    world.send(lines_of(40))
    settings = world.settings(kafka=NEVER, decode=DecodeTable(errors="strict"), limits=LimitTable(drain_timeout_s=10.0))
    running = world.start(settings).opened()
    lines_are(world, 40)
    wait_until(lambda: running.service.pipeline.indexing.ledger.open_records == 0, "40 settled records")
    world.send([b"\xff"] * 8)
    assert running.wait() == Ending.CRASHED
    assert isinstance(running.service.crash_error, LimitReached)
    committed = world.committed()
    assert 40 <= committed < 48
    assert len(world.dead_letters(committed - 40)) >= committed - 40


def test_a_sink_that_is_away_at_the_start_is_waited_for(world: World) -> None:
    world.send(lines_of(10))
    world.fake_sink.busy_calls = 3
    running = world.start().opened()
    lines_are(world, 10)
    assert running.stop() == Ending.DRAINED
    assert [line for line in world.said if line.startswith("the index cannot be opened yet")] == [
        "the index cannot be opened yet (the fake sink is told to be busy); waiting for it"
    ]
    assert world.fake_sink.calls[:4] == ["open"] * 4


def test_a_stop_while_waiting_for_the_sink_ends_at_once(world: World) -> None:
    world.fake_sink.busy_calls = 10**9
    world.fake_sink.entered.clear()
    running = world.start()
    assert world.fake_sink.entered.wait(WAIT_S)
    assert running.stop() == Ending.DRAINED
    assert not running.service.opened.is_set()
    assert world.engine.closed


def test_a_collection_that_does_not_fit_is_the_users_to_change(world: World) -> None:
    world.fake_sink.mismatch = "collection vectail has another dimension"
    running = world.start()
    with pytest.raises(SinkMismatch, match="another dimension"):
        running.wait()
    assert world.engine.closed


def test_a_sink_that_breaks_while_it_is_opened_is_a_crash(world: World) -> None:
    world.fake_sink.broken = "an earlier write failed"
    running = world.start()
    assert running.wait() == Ending.CRASHED
    assert running.service.crash == "open: SinkBroken: an earlier write failed"


def test_a_query_is_answered_while_the_log_ledger_is_full_and_the_sink_takes_no_lines(world: World) -> None:
    world.send(lines_of(7))
    running = world.start(world.settings(limits=LimitTable(max_in_flight_records=20, drain_timeout_s=1.0))).opened()
    lines_are(world, 7)
    hold = Hold(world, "stuck")
    world.send(["stuck in the sink", *lines_of(100)])
    assert hold.held.wait(WAIT_S)
    wait_until(lambda: running.service.pipeline.indexing.ledger.open_records == 20, "a full ledger")
    good, bad = world.ask({"text": "the disk failed", "k": 3}, {"text": "disk", "k": 0})
    assert len(good["hits"]) == 3
    assert bad["error"]["field"] == "k"
    assert running.stop() == Ending.UNDRAINED
    wait_until(lambda: world.committed(world.kafka.query_topic, world.kafka.query_group) == 2, "the queries are committed")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_producer_that_can_never_deliver_again_is_a_crash(world: World) -> None:
    """A delivery callback that raises ends the delivery thread; the service notices and stops."""
    running = world.start(world.settings(decode=DecodeTable(errors="strict"))).opened()
    world.send(lines_of(10))
    lines_are(world, 10)

    def raise_once(_now_s: float) -> None:
        raise RuntimeError("planted")

    world.dead_letter_producer.each_tick(raise_once)
    assert running.wait() == Ending.CRASHED
    assert running.service.crash is not None
    assert running.service.crash.startswith("kafka-delivery: ")


def test_what_cannot_be_committed_at_the_end_is_not_called_drained(world: World) -> None:
    world.send(lines_of(20))
    running = world.start(world.settings(kafka=NEVER, drain_s=1.0)).opened()
    lines_are(world, 20)
    wait_until(lambda: running.service.pipeline.indexing.ledger.open_records == 0, "20 settled records")
    world.broker.close()
    assert running.stop() == Ending.UNDRAINED


def test_stored_vectors_are_compared_by_the_engine_of_the_worker_and_shown_when_that_was_done(world: World) -> None:
    world.send(lines_of(30))
    running = world.start().opened()
    lines_are(world, 30)
    vectors = running.service.status.vectors
    assert vectors.worst_cosine is None
    assert vectors.compare() == EVERY_S
    assert vectors.worst_cosine == pytest.approx(1.0, abs=1e-5)
    template, row = next(iter(world.fake_sink.templates.items()))
    world.fake_sink.templates[template] = row._replace(vector=-row.vector)
    vectors.compare()
    assert vectors.worst_cosine == pytest.approx(-1.0, abs=1e-5)
    assert running.stop() == Ending.DRAINED
