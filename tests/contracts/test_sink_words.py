"""Full-text search: what every sink with BM25 must answer, and how the others refuse."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sinks.sink import LineFilter, LineHit, Sink, SinkBusy
from tests.contracts.sinks import EACH_SINK, SINKS, SINKS_WITH_WORDS
from tests.sinks.rows import line

ALL = LineFilter()


@pytest.fixture(params=SINKS_WITH_WORDS)
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    with SINKS_WITH_WORDS[request.param](tmp_path, lambda: request.getfixturevalue("milvus")) as sink:
        sink.open()
        yield sink
        sink.close()


@pytest.fixture(params=EACH_SINK)
def wordless(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    with SINKS[request.param](tmp_path, lambda: request.getfixturevalue("milvus")) as sink:
        sink.open()
        yield sink
        sink.close()


def found(hits: list[LineHit]) -> list[int]:
    assert all(hit.score > 0 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    return [hit.line.offset for hit in hits]


def test_a_line_is_found_by_a_word_that_it_holds_and_comes_back_whole(sink: Sink) -> None:
    assert sink.has_bm25
    assert sink.matching_lines("anything", 5, ALL) == []
    stored = [line(offset, text=f"Receiving block blk_{offset * 7_919} src: /10.250.19.{offset}", level="WARN") for offset in range(50)]
    sink.upsert_lines(stored)
    assert [hit.line for hit in sink.matching_lines("blk_55433", 5, ALL)] == [stored[7]]
    assert found(sink.matching_lines("where did BLK_55433 go", 1, ALL)) == [7]
    assert sink.matching_lines("blk_1", 5, ALL) == []
    assert sink.matching_lines("blk_55433", 0, ALL) == []


def test_more_and_rarer_words_in_common_come_first(sink: Sink) -> None:
    texts = ["disk full on host a", "disk full on host b", "disk fine on host a", "network fine on host b", "nothing of it"]
    sink.upsert_lines([line(offset, text=text) for offset, text in enumerate(texts)])
    assert found(sink.matching_lines("disk full a", 2, ALL))[0] == 0
    assert set(found(sink.matching_lines("network", 5, ALL))) == {3}
    assert 4 not in found(sink.matching_lines("disk full on host a", 5, ALL))
    assert len(sink.matching_lines("disk full on host a", 2, ALL)) == 2


def test_of_equally_good_lines_the_newest_come_first(sink: Sink) -> None:
    sink.upsert_lines([line(offset, text="session opened for user root") for offset in (3, 1, 5, 2, 4)])
    sink.upsert_lines([line(9, text="something else")])
    assert found(sink.matching_lines("session opened", 5, ALL)) == [5, 4, 3, 2, 1]


def test_only_lines_under_the_filter_are_found(sink: Sink) -> None:
    sink.upsert_lines(
        [
            line(offset, text="disk full", service="sshd" if offset % 2 else "cron", level="WARN" if offset > 3 else "INFO")
            for offset in range(8)
        ]
    )
    assert set(found(sink.matching_lines("full", 9, LineFilter(services=("sshd",))))) == {1, 3, 5, 7}
    assert set(found(sink.matching_lines("full", 9, LineFilter(services=("sshd",), levels=("WARN",))))) == {5, 7}
    assert set(found(sink.matching_lines("full", 9, LineFilter(since_ms=2_000, until_ms=5_000)))) == {2, 3, 4}
    assert found(sink.matching_lines("full", 9, LineFilter(services=('" or "" == "',)))) == []
    assert found(sink.matching_lines("full", 9, LineFilter(topics=("\ud800",)))) == []


def test_lines_in_memory_in_segments_and_written_again_are_found_once(sink: Sink) -> None:
    sink.upsert_lines([line(offset, text=f"disk {offset} failed") for offset in range(1_200)])
    assert found(sink.matching_lines("disk 7", 1, ALL)) == [7]  # writes out its memory first
    sink.upsert_lines([line(7, text="disk 7 failed again"), line(8, text="network up"), line(5_000, text="disk 5000 failed")])
    assert [hit.line.text for hit in sink.matching_lines("7", 5, ALL)] == ["disk 7 failed again"]
    assert found(sink.matching_lines("8", 5, ALL)) == []
    assert found(sink.matching_lines("5000", 5, ALL)) == [5_000]


def test_deleted_lines_are_not_found(sink: Sink) -> None:
    sink.upsert_lines([line(offset, text=f"disk {offset}") for offset in range(5)])
    sink.delete_lines([line(3).id])
    assert found(sink.matching_lines("3", 5, ALL)) == []
    assert sorted(found(sink.matching_lines("disk", 5, ALL))) == [0, 1, 2, 4]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
@example("")
@example("... !? \u00a0 \x00")
@example("\x00\x01\x1b[31m")
@example('" or 1 == 1 or text == "')
@example("\ud800 lone")
@example("x" * 4_096)
@example("\U0010ffff" * 4_096)
@example("a " * 2_048)
def test_any_text_may_be_asked_for(sink: Sink, text: str) -> None:
    sink.upsert_lines([line(1, text="disk full"), line(2, text="")])
    hits = sink.matching_lines(text, 5, ALL)
    assert found(hits) in ([], [1])


def test_a_text_without_a_word_finds_nothing(sink: Sink) -> None:
    sink.upsert_lines([line(1, text="..."), line(2, text="")])
    for text in ("", " ", "...", "-- !"):
        assert sink.matching_lines(text, 5, ALL) == []


def test_a_closed_sink_finds_nothing(sink: Sink) -> None:
    sink.close()
    with pytest.raises(SinkBusy):
        sink.matching_lines("disk", 5, ALL)


def test_without_bm25_no_lines_are_searched_by_their_words(wordless: Sink) -> None:
    assert not wordless.has_bm25
    with pytest.raises(ValueError, match=r"^milvus\.bm25 is off"):
        wordless.matching_lines("disk", 5, ALL)
