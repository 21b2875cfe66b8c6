"""How often each template occurs: what every sink must answer, run on the sinks of the contract."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sinks.sink import LineFilter, Sink, SinkMismatch, TemplateCount
from tests.contracts.sinks import EACH_SINK, SINKS
from tests.sinks.rows import line, template

ALL = LineFilter()
START_MS = 1_700_000_000_000


@pytest.fixture(params=EACH_SINK)
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    with SINKS[request.param](tmp_path, lambda: request.getfixturevalue("milvus")) as sink:
        sink.open()
        yield sink
        sink.close()


def never() -> bool:
    return False


def test_templates_are_counted_most_frequent_first_with_their_first_and_last_time(sink: Sink) -> None:
    sink.upsert_lines([line(number, template="often") for number in (5, 1, 9)])
    sink.upsert_lines([line(3, template="b"), line(4, template="a"), line(7, template="twice"), line(8, template="twice")])
    counts, complete = sink.count_templates(ALL, templates=None, most_rows=100, deadline_passed=never)
    assert complete
    assert counts == [
        TemplateCount("often", 3, 1_000, 9_000),
        TemplateCount("twice", 2, 7_000, 8_000),
        TemplateCount("a", 1, 4_000, 4_000),
        TemplateCount("b", 1, 3_000, 3_000),
    ]


def test_only_lines_that_pass_the_filter_and_are_of_the_templates_are_counted(sink: Sink) -> None:
    sink.upsert_lines(
        [
            line(1, template="a", service="sshd"),
            line(2, template="a", service="cron"),
            line(3, template="b", service="sshd", level="WARN"),
            line(4, template="c", service="sshd", topic="audit"),
        ]
    )

    def counted(only: LineFilter, templates: list[str] | None = None) -> dict[str, int]:
        answer = sink.count_templates(only, templates=templates, most_rows=100, deadline_passed=never)
        assert answer.complete
        return {one.digest: one.lines for one in answer.counts}

    assert counted(ALL) == {"a": 2, "b": 1, "c": 1}
    assert counted(LineFilter(services=("sshd",))) == {"a": 1, "b": 1, "c": 1}
    assert counted(LineFilter(levels=("WARN",), topics=("logs",))) == {"b": 1}
    assert counted(LineFilter(since_ms=2_000, until_ms=4_000)) == {"a": 1, "b": 1}
    assert counted(ALL, ["c", "a", "none"]) == {"a": 2, "c": 1}
    assert counted(ALL, []) == {}
    assert counted(LineFilter(services=("\ud800",))) == {}


def test_every_chunk_of_a_long_line_counts_with_its_own_template(sink: Sink) -> None:
    sink.upsert_lines([line(1, id=f"long/{chunk}", template="aba"[chunk], chunk=chunk, chunks=3) for chunk in range(3)])
    counts = sink.count_templates(ALL, templates=None, most_rows=100, deadline_passed=never).counts
    assert counts == [TemplateCount("a", 2, 1_000, 1_000), TemplateCount("b", 1, 1_000, 1_000)]


def test_of_more_lines_than_are_wanted_the_newest_count(sink: Sink) -> None:
    sink.upsert_lines([line(number, template="new" if number >= 900 else "old") for number in range(1_000)])
    counts, complete = sink.count_templates(ALL, templates=None, most_rows=150, deadline_passed=never)
    assert not complete
    assert [(one.digest, one.lines) for one in counts] == [("new", 100), ("old", 50)]
    assert counts[1].first_ms == 850_000
    assert sink.count_templates(ALL, templates=None, most_rows=1_000, deadline_passed=never).complete
    assert sink.count_templates(ALL, templates=None, most_rows=0, deadline_passed=never) == ([], False)


def test_more_lines_than_one_query_returns_are_all_counted(sink: Sink) -> None:
    pace = np.random.default_rng(5).exponential(300.0, 20_000).cumsum().astype(int).tolist()
    lines = [line(number, template=f"{number % 3}", time=START_MS + time) for number, time in enumerate(pace)]
    sink.upsert_lines(lines)
    counts, complete = sink.count_templates(ALL, templates=None, most_rows=1_000_000, deadline_passed=never)
    assert complete
    assert sorted((one.digest, one.lines) for one in counts) == [("0", 6_667), ("1", 6_667), ("2", 6_666)]
    assert (min(one.first_ms for one in counts), max(one.last_ms for one in counts)) == (lines[0].time, lines[-1].time)


def test_time_that_is_up_leaves_an_answer_that_says_so(sink: Sink) -> None:
    sink.upsert_lines([line(1)])
    assert sink.count_templates(ALL, templates=None, most_rows=100, deadline_passed=lambda: True) == ([], False)


def test_opened_without_creating_it_reads_what_is_there(sink: Sink) -> None:
    sink.upsert_templates([template("a")])
    sink.close()
    sink.open(create=False)
    assert sink.counts() == (0, 1)


@pytest.mark.parametrize("name", EACH_SINK)
def test_opened_without_creating_what_is_not_there_is_a_mismatch_and_creates_nothing(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with SINKS[name](tmp_path, lambda: request.getfixturevalue("milvus"), collection="never_made") as sink:
        for _ in range(2):
            with pytest.raises(SinkMismatch, match=r"yet$") as refused:
                sink.open(create=False)
            assert "\n" not in str(refused.value)
        sink.close()
    assert list(tmp_path.iterdir()) == []
