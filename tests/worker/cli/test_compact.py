"""`vectail compact` merges what stopped workers left, and changes nothing that a reader gets."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from sinks.block import BlockId, BlockPlace
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.sink import BlockFilter, SinkBusy
from tests.fakes.sink import FakeSink
from tests.services.kafka import KafkaServer
from tests.worker.cli.conftest import NewScreen, RunHere
from tests.worker.cli.console import EndedVerb, in_one_line
from tests.worker.running import wait_until
from tests.world import block, blocks, line, run
from worker.cli.compact import CompactReport, compact_partitions, show_compacted
from worker.connections import vector_space
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.indexing.compaction import Compactor
from worker.inspecting.busy_retry import BusyRetry
from worker.runtime.surroundings import Surroundings

Verb = Callable[..., EndedVerb]


class Clock:
    """A clock that a pause moves.

    Thread: the test's.
    """

    def __init__(self) -> None:
        self.now_s = 100.0
        self.pauses_s: list[float] = []
        self.stops = False

    def pause(self, seconds: float) -> bool:
        self.pauses_s.append(seconds)
        self.now_s += seconds
        return self.stops


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sink() -> FakeSink:
    """Three runs in two partitions, of eight blocks of two lines each; one block is of a run alone."""
    sink = FakeSink()
    sink.open(create=True)
    for number, partition in ((1, 0), (2, 0), (3, 1)):
        lines = [line(100 * number + offset, partition=partition) for offset in range(16)]
        sink.blocks |= {one.id: one for one in blocks(lines, 2, run(number))}
    alone = block([line(900)], run(9))
    sink.blocks[alone.id] = alone
    return sink


def compact(sink: FakeSink, clock: Clock) -> CompactReport:
    retry = BusyRetry(limit_s=5.0, say=lambda _line: None, pause=clock.pause, clock=lambda: clock.now_s)
    compactor = Compactor(sink, Surroundings(clock=lambda: clock.now_s))
    return compact_partitions(sink, compactor, retry, lambda _report: None)


def places(sink: FakeSink) -> list[tuple[int, str, int, int]]:
    return sorted((one.place.partition, one.run, one.first, one.last) for one in sink.blocks)


def test_the_runs_of_all_partitions_are_merged_each_for_itself_and_their_blocks_go_20_s_later(sink: FakeSink, clock: Clock) -> None:
    report = compact(sink, clock)
    assert (report.partitions, report.sources, report.merged, report.deleted, report.damaged) == (2, 24, 3, 24, 0)
    assert places(sink) == [(0, run(1), 0, 7), (0, run(2), 0, 7), (0, run(9), 0, 0), (1, run(3), 0, 7)]
    assert [round(seconds) for seconds in clock.pauses_s] == [20]


def test_what_is_compact_stays_as_it_is(sink: FakeSink, clock: Clock) -> None:
    compact(sink, clock)
    before, clock.pauses_s = dict(sink.blocks), []
    report = compact(sink, clock)
    assert (report.merged, report.deleted, clock.pauses_s) == (0, 0, [])
    assert sink.blocks == before


def test_who_stops_leaves_inner_blocks_that_are_removed_the_next_time(sink: FakeSink, clock: Clock) -> None:
    clock.stops = True
    assert compact(sink, clock).deleted == 0
    assert len(sink.blocks) == 24 + 3 + 1
    clock.stops = False
    report = compact(sink, clock)
    assert (report.merged, report.deleted, len(sink.blocks)) == (0, 24, 4)


def test_a_block_that_cannot_be_read_is_told_and_left(sink: FakeSink, clock: Clock) -> None:
    damaged = next(one for one in sink.blocks if one.run == run(1))
    sink.blocks[damaged] = sink.blocks[damaged]._replace(places=b"AAAA")
    report = compact(sink, clock)
    assert (report.damaged, report.merged) == (1, 2)
    assert damaged in sink.blocks


def test_a_busy_sink_is_waited_for_but_not_for_ever(sink: FakeSink, clock: Clock) -> None:
    sink.busy_calls = 2
    assert compact(sink, clock).merged == 3
    sink.busy_calls = 1_000
    with pytest.raises(SinkBusy):
        compact(sink, clock)
    sink.busy_calls = 0


def test_a_person_reads_what_was_merged(new_screen: NewScreen) -> None:
    screen, written = new_screen(100)
    show_compacted(screen, {"sources": 16, "merged": 2, "deleted": 16, "blocks_before": 20, "blocks_after": 6, "seconds": 21.0})
    assert written.getvalue() == "16 blocks merged into 2, 16 inner blocks removed: 20 blocks before, 6 now, in 21.0 s.\n"


@pytest.fixture
def verb(run_here: RunHere, tmp_path: Path) -> Verb:
    """Run the verb on an index; takes its address and the words after the verb."""

    def run(uri: str, *words: str, kafka: str = "127.0.0.1:9", group: str = "vectail") -> EndedVerb:
        config = tmp_path / "vectail.toml"
        config.write_text(f'[kafka]\nbootstrap_servers = "{kafka}"\ngroup = "{group}"\n[milvus]\nuri = "{uri}"\n')
        return run_here("compact", "--config", str(config), "--patience", "1", *words)

    return run


def test_a_folder_is_compacted_without_kafka_unless_a_worker_holds_it(verb: Verb, tmp_path: Path, prepared_model: PreparedModel) -> None:
    uri = str(tmp_path / "milvus")
    ended = verb(uri)
    assert ended.exit_code == 2
    assert uri in in_one_line(ended)
    sink = MilvusSink(MilvusSettings(uri=uri), vector_space(space_of(prepared_model)), consumer_group="vectail")
    sink.open()
    place = BlockPlace("logs", "0a0b0c0d", 0)
    sink.write_blocks([block([line(n)], run(1), 2 * n)._replace(id=BlockId(place, run(1), 2 * n, 2 * n)) for n in range(8)])
    ended = verb(uri)
    assert ended.exit_code == 2
    assert uri in in_one_line(ended)
    before = sorted(sink.find_blocks(BlockFilter(), strong=True).heads.ids)
    sink.close()
    ended = verb(uri, "--json")
    assert (ended.exit_code, ended.err) == (0, "")
    done = json.loads(ended.out)
    assert (done["blocks_before"], done["blocks_after"], done["merged"]) == (8, 8, 0), "no two of them are neighbours"
    sink.open()
    assert sorted(sink.find_blocks(BlockFilter(), strong=True).heads.ids) == before
    sink.close()


def test_a_group_that_has_members_is_refused(verb: Verb, kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    topic = unique("logs")
    kafka.create_topic(topic, partitions=1)
    reader = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": topic, "log_level": 0})
    try:
        reader.subscribe([topic])
        wait_until(lambda: reader.poll(0.1) or reader.assignment(), "an assignment")
        ended = verb("http://127.0.0.1:9", kafka=kafka.bootstrap, group=topic)
        assert ended.exit_code == 2
        assert f"group {topic} is active" in in_one_line(ended)
    finally:
        reader.close()
    ended = verb("http://127.0.0.1:9", kafka=kafka.bootstrap, group=topic)
    assert ended.exit_code == 1, "then it asks Milvus, which is not there"
    assert "milvus at http://127.0.0.1:9 does not answer" in in_one_line(ended)
