"""What every sink must do for tools that audit records: read a whole range, report what is stored, remove lines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sinks.row import LineRow
from sinks.sink import LineFilter, Sink, SinkBusy, StoredLines
from tests.contracts.sinks import EACH_SINK, SINKS
from tests.sinks.rows import line, newest, offsets, template

ALL = LineFilter()


@pytest.fixture(params=EACH_SINK)
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    with SINKS[request.param](tmp_path, lambda: request.getfixturevalue("milvus")) as sink:
        sink.open()
        yield sink
        sink.close()


def by_id(stored: StoredLines) -> list[LineRow]:
    assert stored.counted == len(stored.rows)
    return sorted(stored.rows)


def test_a_range_takes_its_first_offset_and_not_its_end_and_one_partition_of_one_topic(sink: Sink) -> None:
    elsewhere = [line(3, id="p", partition=1), line(3, id="t", topic="Logs"), line(3, id="q", topic='"; or 1 == 1')]
    sink.upsert_lines([*(line(offset) for offset in range(6)), *elsewhere])
    assert by_id(sink.lines_between("logs", 0, 2, 5)) == [line(2), line(3), line(4)]
    assert by_id(sink.lines_between("logs", 1, 0, 9)) == elsewhere[:1]
    assert by_id(sink.lines_between('"; or 1 == 1', 0, 0, 9)) == elsewhere[2:]
    for nothing in (sink.lines_between("logs", 0, 6, 1 << 62), sink.lines_between("logs", 0, 3, 3), sink.lines_between("\ud800", 0, 0, 9)):
        assert nothing == StoredLines([], 0)


def test_a_range_holds_rows_of_any_epoch_and_id(sink: Sink) -> None:
    rows = sorted(line(7, id=name, text=name) for name in ("logs@0a0b0c0d/0/7/0/0", "logs@ffffffff/0/7/0/0", "foreign"))
    sink.upsert_lines(rows)
    assert by_id(sink.lines_between("logs", 0, 7, 8)) == rows


def test_a_range_is_whole_however_its_rows_are_spread(sink: Sink) -> None:
    entries = [line(1 << 40, id=f"e{sub}/{chunk}", sub=sub, chunk=chunk) for sub in range(300) for chunk in range(1 + 900 * (sub == 7))]
    rows = [*(line(offset) for offset in range(1_300)), *entries, *(line(9_999, id=f"epoch {number}") for number in range(700))]
    sink.upsert_lines(rows)
    assert by_id(sink.lines_between("logs", 0, 0, 1 << 50)) == sorted(rows)


@pytest.mark.parametrize("shape", ["records", "entries", "chunks"])
def test_of_more_rows_than_are_wanted_some_come_each_once_and_it_is_said(sink: Sink, shape: str) -> None:
    places = [{"sub": number} if shape == "entries" else {"chunk": number} if shape == "chunks" else {} for number in range(1_200)]
    stored = [line(number if shape == "records" else 7, id=f"{number}", **values) for number, values in enumerate(places)]
    sink.upsert_lines(stored)
    for most_rows in (0, 1, 1_199):
        some = sink.lines_between("logs", 0, 0, 1_200, most_rows=most_rows)
        assert len(set(some.rows) & set(stored)) == len(some.rows) == most_rows
        assert not some.complete
    for bound in (1_200, None):
        every = sink.lines_between("logs", 0, 0, 1_200, most_rows=bound)
        assert every.complete
        assert by_id(every) == sorted(stored)
    assert sink.lines_between("logs", 0, 5_000, 6_000, most_rows=0) == StoredLines([], 0)


def test_time_that_is_up_ends_the_reading_of_a_range(sink: Sink) -> None:
    sink.upsert_lines([line(offset) for offset in range(10)])
    assert sink.lines_between("logs", 0, 0, 10, deadline_passed=lambda: True) == StoredLines([], 0, complete=False)
    assert sink.lines_between("logs", 0, 0, 10, deadline_passed=lambda: False).complete


def test_of_some_digests_those_that_are_stored_are_told_at_once(sink: Sink) -> None:
    digests = [f"{number:032x}" for number in range(1_500)]
    sink.upsert_templates([template(digest) for digest in digests[::3]])
    assert sink.stored_templates([*digests, "\ud800", '" or "']) == set(digests[::3])
    assert sink.stored_templates([]) == set()


def test_deleted_lines_are_gone_at_once_and_no_others(sink: Sink) -> None:
    sink.upsert_lines([line(offset) for offset in range(2_500)])
    gone = [line(offset).id for offset in range(2_500) if offset % 5]
    sink.delete_lines([*gone, "nobody's", '" or id != "', "\ud800"])
    assert sink.counts().lines == 500
    assert sorted(offsets(sink.lines_between("logs", 0, 0, 2_500).rows)) == list(range(0, 2_500, 5))
    sink.delete_lines([])
    sink.delete_lines(gone)
    sink.upsert_lines([line(1, text="again")])
    assert by_id(sink.lines_between("logs", 0, 0, 3)) == [line(0), line(1, text="again")]
    assert offsets(newest(sink, line(0).template, 1, ALL)) == [2_495]


def test_a_closed_sink_tells_nothing_and_removes_nothing(sink: Sink) -> None:
    sink.close()
    with pytest.raises(SinkBusy):
        sink.lines_between("logs", 0, 0, 1)
    with pytest.raises(SinkBusy):
        sink.stored_templates(["a"])
    with pytest.raises(SinkBusy):
        sink.delete_lines(["a"])
