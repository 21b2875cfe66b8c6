"""The lines around a place in a partition."""

import pytest

from sinks.line import Line
from sinks.reading.reader import BlockReader
from tests.fakes.sink import FakeSink
from tests.world import line, open_sink, write
from worker.asking.question import Around
from worker.querying.answer_documents import shown_line
from worker.querying.around import lines_around

NOW_MS = 1_000_000.0


def sink_of(*lines: Line) -> FakeSink:
    sink = open_sink()
    write(sink, *lines)
    return sink


def lines_at(*offsets: int) -> FakeSink:
    return sink_of(*(line(offset) for offset in offsets))


def asked(offset: int, before: int, after: int) -> Around:
    place = line(offset)
    return Around(topic=place.topic, partition=place.partition, offset=offset, before=before, after=after)


def around(sink: FakeSink, offset: int, before: int, after: int) -> list[int]:
    found = lines_around(BlockReader(sink), asked(offset, before, after), lambda: False, now_ms=NOW_MS)
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
def test_that_many_records_before_and_after_come_in_order(offset: int, before: int, after: int, found: list[int]) -> None:
    assert around(lines_at(*range(20)), offset, before, after) == found


def test_a_record_with_many_lines_counts_once() -> None:
    assert around(sink_of(line(1), *(line(2, sub=sub) for sub in range(3)), line(3)), 3, 1, 0) == [2, 2, 2, 3]


def test_lines_of_a_topic_that_was_made_again_do_not_mix_with_those_of_its_predecessor() -> None:
    epochs = {"old": 1_000, "new": 9_000}
    sink = sink_of(*(line(offset, epoch=epoch, time=time + offset, text=epoch) for epoch, time in epochs.items() for offset in range(4)))
    found = lines_around(BlockReader(sink), asked(2, 1, 1), lambda: False, now_ms=NOW_MS).lines
    assert [(one.offset, one.text, one.epoch) for one in found] == [(1, "new", "new"), (2, "new", "new"), (3, "new", "new")]


def test_a_time_that_cannot_be_true_does_not_make_the_predecessor_the_newer_topic() -> None:
    old = (line(offset, epoch="old", kafka_time=(1 << 63) - 1) for offset in range(4))
    sink = sink_of(*old, *(line(offset, epoch="new") for offset in range(4)))
    found = lines_around(BlockReader(sink), asked(2, 1, 1), lambda: False, now_ms=NOW_MS).lines
    assert {one.epoch for one in found} == {"new"}


def test_only_a_side_that_lacks_records_is_read_wider() -> None:
    sink = lines_at(*range(20))
    for offset, reads in ((10, 1), (19, 2), (1, 1)):
        sink.calls.clear()
        around(sink, offset, 3, 3)
        assert sink.calls.count("find_blocks") == reads


def test_a_bound_on_lines_or_on_time_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = BlockReader(lines_at(*range(100)))
    assert lines_around(reader, asked(50, 20, 20), lambda: True, now_ms=NOW_MS).complete is False
    monkeypatch.setattr("worker.querying.around.MOST_LINES", 30)
    cut = lines_around(reader, asked(50, 20, 20), lambda: False, now_ms=NOW_MS)
    assert cut.complete is False
    assert 0 < len(cut.lines) <= 30


def test_a_sampled_line_stands_in_its_place() -> None:
    sink = sink_of(line(0), line(1, text=None), line(2, fields='{"pod":"web-1"}'))
    found = [shown_line(one) for one in lines_around(BlockReader(sink), asked(1, 1, 1), lambda: False, now_ms=NOW_MS).lines]
    assert [one["text"] for one in found] == ["line 0", None, "line 2"]
    assert [one.get("sampled") for one in found] == [None, True, None]
    assert found[1]["template_text"] == line(1).template_text
    assert found[2]["fields"] == {"pod": "web-1"}
