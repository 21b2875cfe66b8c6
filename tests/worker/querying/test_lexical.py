"""Ranking by words: identifiers in lines and in templates, templates by their words, and what is shown for each."""

from typing import Any

import pytest

from sinks.line import Line
from sinks.reading.line_filter import LineFilter
from tests.fakes.sink import FakeSink
from tests.template_ids import id_of
from tests.world import index_of, line, open_sink, template
from worker.querying.lexical import IDENTIFIER_SCORE, FoundLines, lines_with_identifiers, rank_by_words
from worker.querying.query_words import words_of
from worker.querying.ranking import Index, Ranking, SearchBounds


def of(place: int, template_text: str, text: str, **values: Any) -> Line:  # noqa: ANN401 - any column of a line
    return line(place, template_text=template_text, text=text, **values)


def stored(*lines: Line, ranks_words: bool = False) -> Index:
    """Return an index of lines and their templates."""
    sink = open_sink((template(text) for text in {one.template_text: None for one in lines}), ranks_words=ranks_words)
    return index_of(sink, lines)


def bounds(k: int = 10, *, per_template: int = 1, reads: int = 100_000, only: LineFilter | None = None) -> SearchBounds:
    left = iter(range(reads))
    return SearchBounds(k, per_template, only or LineFilter(), lambda: next(left, None) is None)


def rank(index: Index, text: str, k: int = 10, **limits: Any) -> Ranking:  # noqa: ANN401 - as bounds
    return rank_by_words(index, words_of(text), bounds(k, **limits))


def find(index: Index, text: str, limit: int = 10, **limits: Any) -> FoundLines:  # noqa: ANN401 - as bounds
    return lines_with_identifiers(index, words_of(text), limit, bounds(**limits))


def offsets(ranking: Ranking) -> list[list[int]]:
    return [[one.offset for one in template.lines] for template in ranking.templates]


def found_offsets(found: FoundLines) -> list[int]:
    return [one.offset for one in found.lines]


@pytest.mark.parametrize("ranks_words", [True, False])
def test_templates_are_ranked_by_their_words_and_show_their_newest_lines(*, ranks_words: bool) -> None:
    index = stored(
        of(1, "disk", "disk"),
        of(2, "disk full on node", "disk full on node 7"),
        of(3, "disk full", "disk full"),
        of(4, "disk full", "disk full!"),
        of(5, "network", "network"),
        ranks_words=ranks_words,
    )
    ranking = rank(index, "disk full", per_template=2)
    assert offsets(ranking) == [[4, 3], [2], [1]]
    scores = [template.score for template in ranking.templates]
    assert scores == sorted(scores, reverse=True)
    assert ranking.complete


def test_lines_with_the_identifier_whole_come_first() -> None:
    index = stored(
        of(1, "words from 251 of 10", "words from 251 of 10 and 10.251.73.2201"),
        of(2, "other", "from 10.251.73.220: a very long line"),
    )
    ranking = rank(index, "words from 10.251.73.220")
    assert offsets(ranking) == [[2], [1]]
    assert ranking.templates[0].score == IDENTIFIER_SCORE
    assert offsets(rank(index, "10.251.73.220")) == [[2]], "only the identifier was asked for, and the other line does not have it"
    assert rank(index, "10.251.73.99") == Ranking([], complete=True), "no line has it"


@pytest.mark.parametrize("ranks_words", [True, False])
def test_an_identifier_that_masks_left_in_the_template_is_found_too(*, ranks_words: bool) -> None:
    index = stored(
        of(1, "node-17 is down", "node-17 is down"),
        of(2, "node <n> is down", "node-17 is down again"),
        of(3, "node-171 is down", "node-171 is down"),
        ranks_words=ranks_words,
    )
    assert found_offsets(find(index, "node-17")) == [2, 1]
    assert found_offsets(find(index, "node-17", limit=1)) == [2]
    alone = stored(of(1, "node-17 is down", "node-17 is down"), ranks_words=ranks_words)
    assert found_offsets(find(alone, "node-17")) == [1], "no word of the block says so"


def test_too_many_templates_that_hold_an_identifier_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    index = stored(*(of(n, f"node-17 {'a' * n}", "node-17") for n in range(1, 5)))
    assert find(index, "node-17").complete
    monkeypatch.setattr("worker.querying.template_index.MOST_HOLDING", 3)
    found = find(index, "node-17")
    assert (len(found.lines), found.complete) == (3, False)


def test_lines_with_more_of_the_identifiers_come_first_wherever_each_of_them_stands() -> None:
    index = stored(
        of(1, "sent to node-17", "blk_7 sent to node-17"),
        of(2, "sent", "blk_7 sent to node-17"),
        of(3, "sent", "blk_7 sent"),
        of(4, "came from node-17", "blk_8 came from node-17"),
        of(5, "sent", "blk_9 sent"),
    )
    found = find(index, "blk_7 node-17")
    assert (found_offsets(found), found.complete) == ([2, 1, 4, 3], True)
    assert found_offsets(find(index, "blk_7 node-17", limit=2)) == [2, 1]


def test_of_lines_with_as_many_identifiers_those_with_more_of_the_words_come_first() -> None:
    index = stored(
        of(1, "claim successful", "[req-7f3a91] claim successful"),
        of(2, "total cpus used", "[req-7f3a91] total cpus used"),
        of(3, "claim rejected", "[req-7f3a91] claim rejected"),
    )
    assert found_offsets(find(index, "req-7f3a91 claim successful")) == [1, 3, 2]
    assert found_offsets(find(index, "req-7f3a91")) == [3, 2, 1], "the newest first"


def test_lines_that_only_look_like_the_identifier_do_not_hide_it() -> None:
    index = stored(
        *(of(n, "near", "10.250.102.19") for n in range(300)),
        of(999, "it", "10.250.19.102 in a line of many words"),
    )
    ranking = rank(index, "10.250.19.102")
    assert ([template.template for template in ranking.templates], ranking.complete) == ([id_of("it")], True)


def test_a_frequent_identifier_is_looked_for_until_there_are_templates_enough() -> None:
    busy = [of(n, "busy", f"10.0.0.1 {n}") for n in range(1_000, 1_150)]
    index = stored(of(1, "rare", "10.0.0.1"), *busy)
    ranking = rank(index, "10.0.0.1", k=2)
    assert ([template.lines[0].offset for template in ranking.templates], ranking.complete) == ([1_149, 1], True)


def test_a_bound_on_lines_that_cuts_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.lexical._FIRST_LINES", 5)
    monkeypatch.setattr("worker.querying.lexical._MOST_LINES", 10)
    index = stored(*(of(n, "busy", f"10.0.0.1 {n}") for n in range(20)))
    ranking = rank(index, "10.0.0.1", k=2)
    assert (len(ranking.templates), ranking.complete) == (1, False)
    assert rank(index, "10.0.0.1", k=1).complete


def test_templates_without_lines_under_the_filters_do_not_hide_those_that_have_some() -> None:
    old = [of(n, f"disk {'a' * (n + 1)}", "old") for n in range(100)]
    index = stored(*old, of(5_000, "disk and a good many other words in a long text", "new"))
    ranking = rank(index, "disk", k=1, only=LineFilter(since_ms=1_000_000))
    assert (offsets(ranking), ranking.complete) == ([[5_000]], True)


def test_the_deadline_that_cuts_it_is_said() -> None:
    index = stored(*(of(n, f"disk {n}", f"disk 10.0.0.1 {n}") for n in range(30)))
    for text in ("disk", "disk 10.0.0.1", "10.0.0.1 10.0.0.2"):
        assert not rank(index, text, k=100, reads=0).complete
        assert rank(index, text, k=5).complete


def test_a_busy_template_index_is_not_read_for_identifiers_alone_when_the_sink_ranks() -> None:
    index = stored(of(1, "a", "blk_7"), ranks_words=True)
    sink = index.sink
    assert isinstance(sink, FakeSink)
    sink.calls.clear()
    find(index, "blk_7")
    assert "templates.all_above" not in sink.calls
