"""The lines around a place in a partition."""

import pytest

from sinks.row import epoch_of, row_id
from tests.fakes.sink import FakeSink
from tests.sinks.rows import DIM, line
from worker.query import Around
from worker.querying.search.around import lines_around


def sink_of(*offsets: int) -> FakeSink:
    sink = FakeSink(dim=DIM)
    sink.open()
    sink.upsert_lines([line(offset) for offset in offsets])
    return sink


def around(sink: FakeSink, offset: int, before: int, after: int) -> list[int]:
    place = line(offset)
    asked = Around(topic=place.topic, partition=place.partition, offset=offset, before=before, after=after)
    found = lines_around(sink, asked, lambda: False)
    assert found.complete
    return [one.offset for one in found.lines]


@pytest.mark.parametrize(
    ("offset", "before", "after", "found"),
    [
        (10, 2, 3, [8, 9, 10, 11, 12, 13]),
        (0, 5, 1, [0, 1]),
        (19, 1, 5, [18, 19]),
        (10, 0, 0, [10]),
        (25, 3, 0, [17, 18, 19]),
        (500, 3, 3, []),
    ],
)
def test_so_many_records_before_and_after_come_in_order(offset: int, before: int, after: int, found: list[int]) -> None:
    assert around(sink_of(*range(20)), offset, before, after) == found


def test_gaps_between_offsets_are_looked_over() -> None:
    assert around(sink_of(*range(0, 100, 4)), 40, 2, 2) == [32, 36, 40, 44, 48]


def test_a_record_with_many_lines_counts_once() -> None:
    sink = sink_of(1, 3)
    sink.upsert_lines([line(2)._replace(id=f"many-{sub}", sub=sub) for sub in range(3)])
    sink.lines = {
        row.id: row._replace(id=row_id(row.topic, "e", row.partition, row.offset, row.sub, row.chunk)) for row in sink.lines.values()
    }
    assert around(sink, 3, 1, 0) == [2, 2, 2, 3]


def test_lines_of_a_topic_that_was_made_again_do_not_mix_with_those_of_its_predecessor() -> None:
    sink = FakeSink(dim=DIM)
    sink.open()
    for epoch, time_ms in (("old", 1_000), ("new", 9_000)):
        for offset in range(4):
            row = line(offset)
            sink.upsert_lines([row._replace(id=row_id(row.topic, epoch, row.partition, offset, 0, 0), time=time_ms + offset, text=epoch)])
    place = line(0)
    asked = Around(topic=place.topic, partition=place.partition, offset=2, before=1, after=1)
    found = lines_around(sink, asked, lambda: False).lines
    assert [(one.offset, one.text) for one in found] == [(1, "new"), (2, "new"), (3, "new")]
    assert {epoch_of(one.id) for one in found} == {"new"}


def test_there_is_nothing_around_a_place_nobody_knows() -> None:
    assert lines_around(sink_of(1), Around(topic="nowhere", partition=7, offset=1), lambda: False) == ([], True)


def test_only_a_side_that_lacks_records_is_read_wider() -> None:
    sink = sink_of(*range(20))
    for offset, reads in ((10, 1), (19, 2), (1, 1)):
        sink.calls.clear()
        around(sink, offset, 3, 3)
        assert sink.calls == ["lines_between"] * reads


def test_a_bound_on_rows_or_on_time_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    sink, place = sink_of(*range(100)), line(0)
    asked = Around(topic=place.topic, partition=place.partition, offset=50, before=20, after=20)
    assert lines_around(sink, asked, lambda: True).complete is False
    monkeypatch.setattr("worker.querying.search.around.MOST_ROWS", 30)
    cut = lines_around(sink, asked, lambda: False)
    assert cut.complete is False
    assert 0 < len(cut.lines) <= 30
