"""Several queries in one call: the newest lines of each template, the templates nearest to each vector."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sinks.row import LineRow
from sinks.sink import LineFilter, Sink, SinkBusy
from tests.contracts.sinks import EACH_SINK, SINKS
from tests.fakes.sink import FakeSink
from tests.sinks.rows import DIM, line, offsets, template, unit

ALL = LineFilter()


@pytest.fixture(params=EACH_SINK)
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    with SINKS[request.param](tmp_path, lambda: request.getfixturevalue("milvus")) as sink:
        sink.open()
        yield sink
        sink.close()


def test_a_new_sink_has_nothing_near_and_nothing_new(sink: Sink) -> None:
    assert sink.newest_lines(["a", "b"], 5, ALL) == {}
    assert sink.nearest_templates(np.stack([unit(1.0), unit(0.0, 1.0)]), 5) == [[], []]
    assert sink.nearest_templates(np.zeros((0, DIM), np.float32), 5) == []


def test_each_vector_has_its_own_nearest_templates(sink: Sink) -> None:
    directions = [unit(*np.eye(DIM)[number]) for number in range(DIM)]
    sink.upsert_templates([template(str(number), vector, f"text {number}") for number, vector in enumerate(directions)])
    answers = sink.nearest_templates(np.stack(directions[::-1]), 1)
    assert [[(hit.digest, hit.text) for hit in hits] for hits in answers] == [[(str(n), f"text {n}")] for n in reversed(range(DIM))]
    assert [len(hits) for hits in sink.nearest_templates(np.stack(directions), 3)] == [3] * DIM
    assert sink.nearest_templates(np.stack(directions), 0) == [[]] * DIM


def test_one_bad_vector_among_others_is_our_fault(sink: Sink) -> None:
    with pytest.raises(ValueError, match=r"vector"):
        sink.nearest_templates(np.stack([unit(1.0), np.full(DIM, np.nan, np.float32)]), 1)


def test_the_newest_lines_of_each_template_come_together(sink: Sink) -> None:
    sink.upsert_lines([line(offset, template="abc"[offset % 3]) for offset in range(30)])
    answer = sink.newest_lines(["c", "none", "a", "c", "\ud800"], 2, ALL)
    assert list(answer) == ["c", "a"]
    assert {one: offsets(lines) for one, lines in answer.items()} == {"c": [29, 26], "a": [27, 24]}
    assert sink.newest_lines([], 2, ALL) == {}
    assert sink.newest_lines(["a"], 0, ALL) == {}


def test_a_group_is_answered_as_each_of_its_templates_whatever_its_size_and_filter(sink: Sink) -> None:
    fake = FakeSink(dim=DIM)
    fake.open()
    drawn = random.Random(11)
    stored: list[LineRow] = []
    for offset in range(3_000):
        number = 0 if drawn.random() < 0.7 else drawn.randrange(1, 40)
        time = 1_700_000_000_000 + 1_000 * (offset // 5) if number % 3 else drawn.randrange(-50, 50)
        stored.append(line(offset, template=f"{number}", time=time, level="WARN" if drawn.random() < 0.02 else "INFO"))
    drawn.shuffle(stored)
    digests = [f"{number}" for number in range(45)]
    for one in (fake, sink):
        one.upsert_lines(stored[:2_500])
        one.upsert_lines(stored[2_500:])
    middle = 1_700_000_300_000
    filters = [
        ALL,
        LineFilter(levels=("WARN",)),
        LineFilter(until_ms=middle),
        LineFilter(since_ms=middle),
        LineFilter(-3, 3, levels=("WARN",)),
    ]
    for only in filters:
        for limit in (1, 1, 20):
            assert sink.newest_lines(digests, limit, only) == fake.newest_lines(digests, limit, only)


def test_what_was_stored_is_the_newest_from_then_on(sink: Sink) -> None:
    def newest_offsets(only: LineFilter = ALL) -> dict[str, list[int]]:
        return {one: offsets(lines) for one, lines in sink.newest_lines(["a", "b"], 1, only).items()}

    sink.upsert_lines([line(5, template="a"), line(6, template="b", level="WARN")])
    for _ in range(2):
        assert newest_offsets() == {"a": [5], "b": [6]}
    sink.upsert_lines([line(4, template="a"), line(7, template="b")])
    assert newest_offsets() == {"a": [5], "b": [7]}
    assert newest_offsets(LineFilter(levels=("WARN",))) == {"b": [6]}
    assert newest_offsets(LineFilter(until_ms=7_000)) == {"a": [5], "b": [6]}
    assert newest_offsets(LineFilter(since_ms=5_001)) == {"b": [7]}
    sink.upsert_lines([line(7, template="b", text="again")])
    assert sink.newest_lines(["b"], 1, ALL)["b"][0].text == "again"
    sink.upsert_lines([line(7, template="a", text="moved")])
    assert newest_offsets() == {"a": [7], "b": [6]}
    sink.upsert_lines([line(7, template="a", time=1_000)])
    assert newest_offsets() == {"a": [5], "b": [6]}
    sink.delete_lines([line(5).id, line(6).id])
    assert newest_offsets() == {"a": [4]}


def test_a_closed_sink_remembers_nothing(sink: Sink) -> None:
    sink.upsert_lines([line(1)])
    for _ in range(2):
        assert offsets(sink.newest_lines([line(1).template], 1, ALL)[line(1).template]) == [1]
    sink.close()
    with pytest.raises(SinkBusy):
        sink.newest_lines([line(1).template], 1, ALL)
