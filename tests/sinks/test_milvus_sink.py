"""Many threads on one local folder: writes take turns, and readers never lose sight of what is stored."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sinks.milvus.sink import MilvusSink
from sinks.sink import LineFilter, SinkBusy
from tests.sinks.rows import DIGEST, line, nearest, newest, offsets, template, unit

ALL = LineFilter()


def test_what_many_threads_store_is_all_there_after_a_restart(sink: MilvusSink) -> None:
    sink.open()

    def store(thread: int) -> None:
        for start in range(0, 1_000, 100):
            sink.upsert_templates([template(f"{thread}-{start}")])
            sink.upsert_lines([line(offset, id=f"{thread}/{offset}") for offset in range(start, start + 100)])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(store, range(4)))
    assert sink.counts() == (4_000, 40)
    sink.close()
    sink.open()
    assert sink.counts() == (4_000, 40)


def test_stored_lines_are_seen_while_memory_is_written_out(sink: MilvusSink) -> None:
    sink.open()
    sink.upsert_lines([line(offset) for offset in range(4_500)])
    looked, written_out = threading.Barrier(3), threading.Event()

    def look(_reader: int) -> set[int]:
        seen = {sink.counts().lines}
        looked.wait()
        while not written_out.is_set():
            seen.add(sink.counts().lines)
        return seen

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(look, reader) for reader in range(2)]
        looked.wait()
        found = newest(sink, DIGEST, 2, ALL)  # more than 4,000 lines in memory: they are written out first
        written_out.set()
    assert offsets(found) == [4_499, 4_498]
    assert [reader.result() for reader in readers] == [{4_500}, {4_500}]


def test_a_query_waits_for_no_writer_and_has_it_write_memory_out(folder: Path, sink: MilvusSink) -> None:
    sink.open()
    sink.upsert_lines([line(offset, template=f"{offset % 2}") for offset in range(4_500)])
    sink.upsert_templates([template(f"{number}") for number in range(1_100)])
    writing, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with sink._lent.calls(write=True):  # noqa: SLF001 (a write that takes as long as the test wants)
            writing.set()
            assert go_on.wait(60)

    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(write)
        assert writing.wait(10)
        behind = threads.submit(sink.upsert_lines, [line(4_500)])
        assert offsets(newest(sink, "1", 2, ALL)) == [4_499, 4_497]  # one line would be known, unread
        assert len(nearest(sink, unit(1.0), 3)) == 3
        assert not slow.done()
        assert not behind.done()
        assert list(folder.rglob("*.parquet")) == []
        go_on.set()
        behind.result()
    assert [path.parent.parent.parent.parent.name for path in folder.rglob("data_*.parquet")] == ["vectail"]
    assert sink.counts().lines == 4_501


def test_lines_in_memory_and_in_segments_are_found_together(sink: MilvusSink) -> None:
    sink.open()
    sink.upsert_lines([line(offset) for offset in range(4_500)])
    assert offsets(newest(sink, DIGEST, 2, ALL)) == [4_499, 4_498]
    sink.upsert_lines([line(4_500), line(4_498, text="again")])
    found = newest(sink, DIGEST, 3, ALL)
    assert offsets(found) == [4_500, 4_499, 4_498]
    assert found[2].text == "again"
    assert sink.counts().lines == 4_501


def test_closing_while_others_write_loses_nothing_that_was_acknowledged(sink: MilvusSink) -> None:
    sink.open()

    def store_until_closed(thread: int) -> int:
        for number in range(10_000):
            try:
                sink.upsert_lines([line(number, id=f"{thread}/{number}")])
            except SinkBusy:
                return number
        return 10_000

    with ThreadPoolExecutor(3) as threads:
        stored = [threads.submit(store_until_closed, thread) for thread in range(3)]
        while sink.counts().lines < 30:
            pass
        sink.close()
    sink.open()
    assert sink.counts().lines == sum(future.result() for future in stored)
