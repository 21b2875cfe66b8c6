"""Many threads on one local folder: writes take turns, and readers never lose sight of what is stored."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.sink import LineFilter, SinkBusy, SinkMismatch
from tests.sinks.rows import DIGEST, line, offsets, template

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
    sink.upsert_lines([line(offset, template=f"{offset}") for offset in range(4_500)])

    def look(_reader: int) -> list[int]:
        return [*offsets(sink.newest_lines("4499", 1, ALL)), sink.counts().lines]

    with ThreadPoolExecutor(4) as threads:  # the first to come finds more than 4,000 lines in memory, and writes them out
        assert list(threads.map(look, range(12))) == [[4_499, 4_500]] * 12


def test_lines_in_memory_and_in_segments_are_found_together(sink: MilvusSink) -> None:
    sink.open()
    sink.upsert_lines([line(offset) for offset in range(4_500)])
    assert offsets(sink.newest_lines(DIGEST, 2, ALL)) == [4_499, 4_498]
    sink.upsert_lines([line(4_500), line(4_498, text="again")])
    found = sink.newest_lines(DIGEST, 3, ALL)
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


def test_failures_are_not_logged_with_a_traceback(
    sink: MilvusSink, settings: MilvusSettings, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        sink.open()
        other = MilvusSink(settings)
        with pytest.raises(SinkMismatch):
            other.open()
        sink.upsert_lines([line(1)])
    assert "Traceback" not in capfd.readouterr().err
    assert "Traceback" not in caplog.text
