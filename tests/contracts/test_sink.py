"""What every sink must do, run on the fake, on a local Milvus folder and on a real server."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sinks.row import TEXT_BYTES, LineRow
from sinks.sink import LineFilter, Sink, SinkBusy, SinkCounts, SinkRejected
from tests.contracts.sinks import EACH_SINK, SINKS
from tests.sinks.rows import DIGEST, DIM, line, nearest, newest, offsets, template, unit

ALL = LineFilter()


def never() -> bool:
    return False


ODD_TEXTS = {
    "nul": "before\x00after",
    "controls": "\x01\x1b[31m\x7f\r\n\t",
    "quotes": """ "double" 'single' \\back\\\\slash """,
    "astral": "\U0001f701 \U0001d518\U0001d52b \U0010ffff",
    "combining": "e\u0301 \u200d\u202e\ufeff",
    "empty": "",
    "spaces": "  \u00a0 ",
    "longest_ascii": "x" * TEXT_BYTES,
    "longest_utf8": "é" * (TEXT_BYTES // 2) + "x",
}


@pytest.fixture(params=EACH_SINK)
def closed_sink(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    with SINKS[request.param](tmp_path, lambda: request.getfixturevalue("milvus")) as sink:
        yield sink
        sink.close()


@pytest.fixture
def sink(closed_sink: Sink) -> Sink:
    closed_sink.open()
    return closed_sink


def test_a_new_sink_is_empty(sink: Sink) -> None:
    assert sink.counts() == SinkCounts(lines=0, templates=0)
    assert newest(sink, DIGEST, 5, ALL) == []
    assert nearest(sink, unit(1.0), 5) == []
    assert sink.template_vectors([DIGEST]) == {}
    assert sink.template_texts([DIGEST]) == {}
    assert sink.count_templates(ALL, templates=None, most_rows=5, deadline_passed=never) == ([], True)
    assert sink.retention_s is None


def test_stored_rows_are_counted_and_come_back_as_they_were(sink: Sink) -> None:
    sink.upsert_templates([template("a", unit(1.0)), template("b", unit(0.0, 1.0))])
    sink.upsert_lines([line(1), line(2), line(3)])
    assert sink.counts() == SinkCounts(lines=3, templates=2)
    assert newest(sink, DIGEST, 5, ALL) == [line(3), line(2), line(1)]


def test_the_same_rows_again_change_nothing(sink: Sink) -> None:
    for _ in range(2):
        sink.upsert_templates([template("a")])
        sink.upsert_lines([line(1), line(2)])
    assert sink.counts() == SinkCounts(lines=2, templates=1)
    assert newest(sink, DIGEST, 5, ALL) == [line(2), line(1)]


def test_of_one_id_twice_in_a_call_the_last_wins(sink: Sink) -> None:
    sink.upsert_lines([line(1, text="first"), line(2), line(1, text="last")])
    sink.upsert_templates([template("a", text="first"), template("a", text="last")])
    assert sink.counts() == SinkCounts(lines=2, templates=1)
    assert [one.text for one in newest(sink, DIGEST, 5, ALL)] == ["line 2", "last"]
    assert [hit.text for hit in nearest(sink, unit(1.0), 5)] == ["last"]


def test_of_one_id_in_two_calls_the_last_wins(sink: Sink) -> None:
    sink.upsert_lines([line(1, text="a longer text", level="WARN")])
    sink.upsert_lines([line(1, text="", level="")])
    assert newest(sink, DIGEST, 5, ALL) == [line(1, text="", level="")]


def test_storing_nothing_is_no_error(sink: Sink) -> None:
    sink.upsert_lines([])
    sink.upsert_templates([])
    assert sink.counts() == SinkCounts(lines=0, templates=0)


def test_more_rows_than_one_batch_takes_are_all_stored(sink: Sink) -> None:
    sink.upsert_lines([line(offset) for offset in range(4_500)])
    sink.upsert_templates([template(f"{number:032x}", unit(1.0, number)) for number in range(2_100)])
    assert sink.counts() == SinkCounts(lines=4_500, templates=2_100)


def test_ten_thousand_lines_and_their_templates_are_stored_and_found(sink: Sink) -> None:
    digests = [f"{number:032x}" for number in range(1_000)]
    directions = np.random.default_rng(3).standard_normal((1_000, DIM))
    sink.upsert_templates([template(digest, unit(*vector)) for digest, vector in zip(digests, directions, strict=True)])
    sink.upsert_lines([line(offset, template=digests[offset % 1_000]) for offset in range(10_000)])
    assert sink.counts() == SinkCounts(lines=10_000, templates=1_000)
    assert [hit.digest for hit in nearest(sink, unit(*directions[7]), 1)] == digests[7:8]
    assert offsets(newest(sink, digests[7], 2, ALL)) == [9_007, 8_007]


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts_come_back_exactly(sink: Sink, text: str) -> None:
    sink.upsert_lines([line(1, text=text)])
    sink.upsert_templates([template("a", text=text)])
    assert [one.text for one in newest(sink, DIGEST, 1, ALL)] == [text]
    assert [hit.text for hit in nearest(sink, unit(1.0), 1)] == [text]


@pytest.mark.parametrize(
    "bad",
    [
        line(2, text="x" * (TEXT_BYTES + 1)),
        line(2, text="é" * (TEXT_BYTES // 2 + 1)),
        line(2, text="\ud800"),
        line(2, service="s" * 257),
        line(2, level="l" * 33),
        line(2, topic="t" * 257),
        line(2, id="i" * 401),
        line(2, time=1 << 63),
        line(2, partition=1 << 31),
    ],
    ids=["text", "text_in_bytes", "surrogate", "service", "level", "topic", "id", "time", "partition"],
)
def test_a_line_that_no_column_takes_is_rejected_and_its_batch_stores_nothing(sink: Sink, bad: LineRow) -> None:
    with pytest.raises(SinkRejected):
        sink.upsert_lines([line(1), bad, line(3)])
    assert sink.counts() == SinkCounts(lines=0, templates=0)
    sink.upsert_lines([line(1), line(3)])
    assert offsets(newest(sink, DIGEST, 5, ALL)) == [3, 1]


def test_a_template_that_no_column_takes_is_rejected_and_its_batch_stores_nothing(sink: Sink) -> None:
    with pytest.raises(SinkRejected):
        sink.upsert_templates([template("a"), template("b", text="x" * (TEXT_BYTES + 1))])
    assert sink.counts() == SinkCounts(lines=0, templates=0)


@pytest.mark.parametrize("vector", [np.ones(DIM + 1), np.full(DIM, np.nan), np.full(DIM, np.inf)])
def test_a_vector_of_another_dimension_or_not_finite_is_our_fault(sink: Sink, vector: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match=r"vector"):
        sink.upsert_templates([template("a"), template("b", vector.astype(np.float32))])
    with pytest.raises(ValueError, match=r"vector"):
        nearest(sink, vector.astype(np.float32), 1)
    assert sink.counts() == SinkCounts(lines=0, templates=0)


def test_of_many_digests_the_vectors_and_texts_come_of_those_that_are_stored(sink: Sink) -> None:
    digests = [f"{number:032x}" for number in range(2_500)]
    stored = {digest: template(digest, unit(1.0, number), f"text {number}") for number, digest in enumerate(digests) if number % 2}
    sink.upsert_templates(list(stored.values()))
    vectors = sink.template_vectors(digests)
    assert vectors.keys() == stored.keys()
    assert all(vector.dtype == np.float32 and np.array_equal(vector, stored[digest].vector) for digest, vector in vectors.items())
    assert sink.template_texts(digests) == {digest: row.text for digest, row in stored.items()}
    assert sink.template_vectors(digests[1:2]).keys() == {digests[1]}
    assert sink.template_vectors([]) == {}
    assert sink.template_texts(["\ud800"]) == {}


def test_a_template_written_again_has_its_last_vector(sink: Sink) -> None:
    for vector in (unit(1.0), unit(0.0, 1.0)):
        sink.upsert_templates([template("a", vector)])
    assert np.array_equal(sink.template_vectors(["a"])["a"], unit(0.0, 1.0))


def test_nearest_templates_come_by_cosine_nearest_first(sink: Sink) -> None:
    sink.upsert_templates(
        [template("far", unit(0.0, 1.0), "far"), template("near", unit(1.0, 0.1), "near"), template("against", unit(-1.0), "against")]
    )
    hits = nearest(sink, unit(1.0), 3)
    assert [(hit.digest, hit.text) for hit in hits] == [("near", "near"), ("far", "far"), ("against", "against")]
    assert [hit.score for hit in hits] == pytest.approx([float(unit(1.0, 0.1)[0]), 0.0, -1.0], abs=1e-5)
    assert [hit.digest for hit in nearest(sink, unit(1.0), 1)] == ["near"]
    assert nearest(sink, unit(1.0), 0) == []


def test_newest_lines_are_ordered_by_time_then_by_place(sink: Sink) -> None:
    places = [
        (5, "a", 9, 9, 9, 9),
        (7, "a", 9, 9, 9, 9),
        (7, "b", 0, 9, 9, 9),
        (7, "b", 1, 0, 9, 9),
        (7, "b", 1, 1, 0, 9),
        (7, "b", 1, 1, 1, 0),
        (7, "b", 1, 1, 1, 1),
        (8, "a", 0, 0, 0, 0),
    ]
    stored = [
        line(offset, id=f"line-{number}", time=time, topic=topic, partition=partition, sub=sub, chunk=chunk)
        for number, (time, topic, partition, offset, sub, chunk) in enumerate(places)
    ]
    sink.upsert_lines([stored[number] for number in (3, 1, 4, 0, 5, 7, 2, 6)])
    assert newest(sink, DIGEST, 100, ALL) == stored[::-1]
    assert newest(sink, DIGEST, 3, ALL) == stored[:-4:-1]


def test_newest_lines_are_of_the_template_that_was_asked_for(sink: Sink) -> None:
    sink.upsert_lines([line(1, template="a"), line(2, template="b"), line(3, template="a")])
    assert offsets(newest(sink, "a", 5, ALL)) == [3, 1]
    assert newest(sink, "A", 5, ALL) == []
    assert newest(sink, "a", 0, ALL) == []


def test_filters_hold_together(sink: Sink) -> None:
    sink.upsert_lines(
        [
            line(1, service="sshd", level="INFO", topic="logs"),
            line(2, service="cron", level="INFO", topic="logs"),
            line(3, service="sshd", level="WARN", topic="logs"),
            line(4, service="sshd", level="INFO", topic="audit"),
            line(5, service="", level="", topic="logs"),
        ]
    )

    def found(only: LineFilter) -> list[int]:
        return offsets(newest(sink, DIGEST, 10, only))

    assert found(LineFilter(services=("sshd",))) == [4, 3, 1]
    assert found(LineFilter(services=("sshd", "cron"))) == [4, 3, 2, 1]
    assert found(LineFilter(services=("",))) == [5]
    assert found(LineFilter(levels=("WARN",))) == [3]
    assert found(LineFilter(topics=("audit", "none"))) == [4]
    assert found(LineFilter(services=("sshd",), levels=("INFO",), topics=("logs",))) == [1]
    assert found(LineFilter(services=("nobody",))) == []
    assert found(LineFilter(services=("\ud800",))) == []
    assert found(LineFilter(services=("\ud800", "cron"))) == [2]


def test_a_time_range_takes_its_first_millisecond_and_not_its_last(sink: Sink) -> None:
    sink.upsert_lines([line(offset) for offset in (1, 2, 3, 4)])
    assert offsets(newest(sink, DIGEST, 10, LineFilter(since_ms=2_000, until_ms=4_000))) == [3, 2]
    assert offsets(newest(sink, DIGEST, 10, LineFilter(since_ms=4_001))) == []
    assert offsets(newest(sink, DIGEST, 10, LineFilter(until_ms=1_001))) == [1]


def test_times_before_1970_and_far_ahead_are_times(sink: Sink) -> None:
    times = [-(1 << 63), -1, 0, 1, (1 << 63) - 1]
    sink.upsert_lines([line(offset, time=time) for offset, time in enumerate(times)])
    assert [one.time for one in newest(sink, DIGEST, 10, ALL)] == times[::-1]


@pytest.mark.parametrize("step_ms", [0, 1, 997, 86_400_000])
def test_the_newest_of_a_busy_template_are_found_whatever_its_pace(sink: Sink, step_ms: int) -> None:
    order = np.random.default_rng(7).permutation(3_000).tolist()
    sink.upsert_lines([line(offset, time=1_700_000_000_000 + step_ms * offset) for offset in order])
    assert offsets(newest(sink, DIGEST, 3, ALL)) == [2_999, 2_998, 2_997]
    assert offsets(newest(sink, DIGEST, 400, ALL)) == list(range(2_999, 2_599, -1))
    if step_ms:
        until = LineFilter(until_ms=1_700_000_000_000 + step_ms * 1_500)
        assert offsets(newest(sink, DIGEST, 3, until)) == [1_499, 1_498, 1_497]


def test_one_line_far_ahead_does_not_hide_the_newest_others(sink: Sink) -> None:
    sink.upsert_lines([line(offset, time=1_700_000_000_000 + offset) for offset in range(1_000)])
    sink.upsert_lines([line(5_000, time=9_999_999_999_999)])
    assert offsets(newest(sink, DIGEST, 3, ALL)) == [5_000, 999, 998]


def test_a_closed_sink_is_busy(closed_sink: Sink) -> None:
    for _ in range(2):
        with pytest.raises(SinkBusy):
            closed_sink.upsert_lines([line(1)])
        with pytest.raises(SinkBusy):
            closed_sink.counts()
        closed_sink.open()
        closed_sink.close()
        closed_sink.close()
