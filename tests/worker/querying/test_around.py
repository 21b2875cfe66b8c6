"""The lines around a place in a partition, and those around it that a service, a host or a trace logged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.line import Line
from sinks.reading.reader import BlockReader
from tests.fakes.sink import FakeSink
from tests.world import line, open_sink, write
from worker.asking.question import Around, Neighbourhood
from worker.querying.answer_documents import shown_line
from worker.querying.around import Alike, lines_alike, lines_around

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


def alike(
    sink: FakeSink, offset: int, by: Neighbourhood, *, before: int = 5, after: int = 5, sub: int | None = None, is_over: bool = False
) -> Alike:
    place = asked(offset, before, after).model_copy(update={"by": by, "sub": sub})
    return lines_alike(BlockReader(sink), place, lambda: is_over, now_ms=NOW_MS)


ENTRIES = st.tuples(
    st.sampled_from(["logs", "more"]), st.integers(0, 1), st.integers(0, 6), st.sampled_from("ab"), st.sampled_from([1, 1, 3])
)


@given(drawn=st.lists(ENTRIES, min_size=1, max_size=60), data=st.data())
def test_what_a_service_logged_around_a_line_is_in_order_across_partitions_whatever_shares_a_millisecond(
    drawn: list[tuple[str, int, int, str, int]], data: st.DataObject
) -> None:
    lines = [
        line(at, topic=topic, partition=partition, time=1_000 + time, service=service, chunk=chunk, chunks=chunks, text=f"{at}.{chunk}")
        for at, (topic, partition, time, service, chunks) in enumerate([("logs", 0, 3, "a", 1), *drawn])
        for chunk in range(chunks)
    ]
    before, after = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    meant = data.draw(st.sampled_from([one for one in lines if one.service == "a"]))
    of_a = sorted((one for one in lines if one.service == "a"), key=lambda one: (one.time, one.topic, one.partition, one.offset, one.chunk))
    order = list(dict.fromkeys(one.offset for one in of_a))
    at = order.index(meant.offset)
    wanted = order[max(at - before, 0) : at + after + 1]

    place = {"topic": meant.topic, "partition": meant.partition, "offset": meant.offset, "before": before, "after": after}
    found = lines_alike(BlockReader(sink_of(*lines)), Around.model_validate(place | {"by": "service"}), lambda: False, now_ms=NOW_MS)

    assert (found.name, found.value, found.neighbours.complete) == ("service", "a", True)
    assert [one.text for one in found.neighbours.lines] == [one.text for one in of_a if one.offset in wanted]


def test_neighbours_by_host_and_by_trace_are_of_the_line_that_was_meant() -> None:
    def kept(**fields: str) -> str:
        return json.dumps({name.replace("_name", ".name"): value for name, value in fields.items()}, separators=(",", ":"))

    sink = sink_of(
        line(1, topic="other", fields=kept(host_name="db-1", trace_id="t2")),
        line(2, fields=kept(trace_id="t1")),
        line(3, sub=0, fields=kept(trace_id="t1")),
        line(3, sub=1, fields=kept(host_name="db-1", trace_id="t2")),
        line(4, partition=1, fields=kept(host_name="db-1")),
        line(5, fields=kept(host_name="db-10", trace_id="t2")),
    )

    def told(by: Neighbourhood, sub: int | None = None) -> tuple[str | None, list[tuple[str, int, int]]]:
        found = alike(sink, 3, by, sub=sub)
        return found.value, [(one.topic, one.offset, one.sub) for one in found.neighbours.lines]

    assert told("trace") == ("t1", [("logs", 2, 0), ("logs", 3, 0)]), "of the first line of the record that has one"
    assert told("trace", sub=1) == ("t2", [("other", 1, 0), ("logs", 3, 1), ("logs", 5, 0)])
    assert told("host") == ("db-1", [("other", 1, 0), ("logs", 3, 1), ("logs", 4, 0)])
    assert told("host", sub=0) == (None, [("logs", 3, 0)]), "it has none: it stands alone"


def test_neighbours_by_value_that_the_deadline_cuts_are_not_complete() -> None:
    sink = sink_of(*(line(offset, time=1_000 + offset // 40) for offset in range(2_000)))
    whole = alike(sink, 1_010, "service").neighbours
    for left in range(60):
        reads = iter(range(left))
        place = asked(1_010, 5, 5).model_copy(update={"by": "service"})
        found = lines_alike(BlockReader(sink), place, lambda: next(reads, None) is None, now_ms=NOW_MS).neighbours  # noqa: B023
        assert found == whole or not found.complete


def test_neighbours_by_value_read_few_blocks_and_say_when_time_is_over() -> None:
    sink = sink_of(*(line(offset, service="abcdefghij"[offset % 10]) for offset in range(5_000)))
    sink.calls.clear()
    found = alike(sink, 2_500, "service", before=3, after=3)
    assert [one.offset for one in found.neighbours.lines] == [2_470, 2_480, 2_490, 2_500, 2_510, 2_520, 2_530]
    assert len(sink.calls) < 40, sink.calls
    assert not alike(sink, 2_500, "service", is_over=True).neighbours.complete
