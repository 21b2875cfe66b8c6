"""Many threads on one local folder: writes take turns, and readers never lose sight of what is stored."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sinks.block import Block
from sinks.milvus.index_time import Clocks
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.sink import BlockFilter, SinkBusy
from tests.world import SPACE, block, line, nearest, template, unit

ALL = BlockFilter()
ONE = block([line(1)])


def numbered(thread: int, number: int) -> Block:
    return ONE._replace(id=ONE.id._replace(run=f"{thread:020x}", first=number, last=number))


@pytest.mark.process
def test_what_many_threads_store_is_all_there_after_a_restart(sink: MilvusSink) -> None:
    sink.open()

    def store(thread: int) -> None:
        for start in range(0, 100, 10):
            sink.templates.upsert([template(f"{thread}-{start}")])
            sink.write_blocks([numbered(thread, number) for number in range(start, start + 10)])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(store, range(4)))
    assert sink.counts() == (400, 40)
    sink.close()
    sink.open()
    assert sink.counts() == (400, 40)


@pytest.mark.process
def test_stored_templates_are_seen_while_memory_is_written_out(sink: MilvusSink) -> None:
    sink.open()
    sink.templates.upsert([template(f"{number}", unit(1.0, number)) for number in range(1_500)])
    looked, written_out = threading.Barrier(3), threading.Event()

    def look(_reader: int) -> set[int]:
        seen = {sink.counts().templates}
        looked.wait()
        while not written_out.is_set():
            seen.add(sink.counts().templates)
        return seen

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(look, reader) for reader in range(2)]
        looked.wait()
        found = nearest(sink, unit(1.0, 3.0), 1)  # more than 250 templates in memory: they are written out first
        written_out.set()
    assert [hit.text for hit in found] == ["3"]
    assert [reader.result() for reader in readers] == [{1_500}, {1_500}]


@pytest.mark.process
def test_a_query_waits_for_no_writer_and_has_it_write_memory_out(folder: Path, sink: MilvusSink) -> None:
    sink.open()
    sink.write_blocks([ONE])
    sink.templates.upsert([template(f"{number}") for number in range(1_100)])
    writing, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with sink._lent.calls(write=True):  # noqa: SLF001 (a write that takes as long as the test wants)
            writing.set()
            assert go_on.wait(60)

    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(write)
        assert writing.wait(10)
        behind = threads.submit(sink.templates.upsert, [template("another")])
        assert set(sink.find_blocks(ALL).heads.ids) == {ONE.id}
        assert sink.read_columns([ONE.id], ["texts"])[ONE.id].texts == ONE.texts
        assert len(nearest(sink, unit(1.0), 3)) == 3
        assert not slow.done()
        assert not behind.done()
        assert list(folder.rglob("*.parquet")) == []
        go_on.set()
        behind.result()
    assert [path.parent.parent.parent.parent.name for path in folder.rglob("data_*.parquet")] == ["vectail_templates_space_1"]
    assert sink.counts().templates == 1_101


@pytest.mark.process
def test_a_large_write_of_templates_goes_to_a_segment_before_milvus_lite_does_it_by_itself(folder: Path, sink: MilvusSink) -> None:
    sink.open()
    sink.templates.upsert([template(f"{number} " + "x" * 60_000) for number in range(90)])
    assert sink.counts().templates == 90
    assert list(folder.rglob("data_*.parquet")) == []
    sink.templates.upsert([template(f"{number} " + "y" * 60_000) for number in range(90)])
    assert len(list(folder.rglob("data_*.parquet"))) == 1
    assert sink.counts().templates == 180


@pytest.mark.process
def test_templates_in_memory_and_in_segments_are_found_together(sink: MilvusSink) -> None:
    sink.open()
    sink.templates.upsert([template(f"{number}", unit(1.0, number)) for number in range(1_500)])
    assert [hit.text for hit in nearest(sink, unit(1.0, 4.0), 1)] == ["4"]
    sink.templates.upsert([template("new", unit(0.0, 0.0, 1.0)), template("4", unit(0.0, 0.0, 0.0, 1.0))])
    assert [hit.text for hit in nearest(sink, unit(0.0, 0.0, 1.0), 1)] == ["new"]
    assert [hit.text for hit in nearest(sink, unit(0.0, 0.0, 0.0, 1.0), 1)] == ["4"]
    assert sink.counts().templates == 1_501


@pytest.mark.process
def test_closing_while_others_write_loses_nothing_that_was_acknowledged(sink: MilvusSink) -> None:
    sink.open()

    def store_until_closed(thread: int) -> int:
        for number in range(10_000):
            try:
                sink.write_blocks([numbered(thread, number)])
            except SinkBusy:
                return number
        return 10_000

    with ThreadPoolExecutor(3) as threads:
        stored = [threads.submit(store_until_closed, thread) for thread in range(3)]
        while sink.counts().blocks < 30:
            pass
        sink.close()
    sink.open()
    assert sink.counts().blocks == sum(future.result() for future in stored)


@pytest.mark.process
def test_a_local_folder_drops_what_is_older_than_the_retention_of_its_settings(settings: MilvusSettings) -> None:
    day_ms = 86_400_000
    old, new = numbered(0, 0), numbered(0, 1)
    new = new._replace(head=new.head._replace(written_ms=old.head.written_ms + day_ms))
    now_ms = [old.head.written_ms]

    def at_that_time(retention_s: float | None) -> MilvusSink:
        return MilvusSink(settings, SPACE, retention_s=retention_s, clocks=lambda: Clocks(now_ms[0] / 1000, now_ms[0]))

    sink = at_that_time(day_ms / 1000)
    sink.open()
    sink.write_blocks([old, new])
    assert sink.retention_s == day_ms / 1000
    now_ms[0] += day_ms * 11 // 10
    assert sink.drop_expired() == 0, "just as old as may be: a day and a tenth"
    now_ms[0] += 1
    assert (sink.date_ms(), sink.drop_expired()) == (now_ms[0], 1)
    sink.close()

    for_ever = at_that_time(None)
    for_ever.open()
    assert for_ever.retention_s is None
    assert for_ever.find_blocks(BlockFilter()).heads.ids == [new.id]
    now_ms[0] += 1_000 * day_ms
    assert for_ever.drop_expired() == 0
    for_ever.close()


@pytest.mark.process
def test_a_local_folder_orders_blocks(sink: MilvusSink) -> None:
    sink.open()
    assert sink.capabilities.orders_blocks
    assert not MilvusSink(MilvusSettings(), sink._space).capabilities.orders_blocks  # noqa: SLF001
