"""Ranking by words: which lines vote for which template, and what is shown for it."""

import pytest

from sinks.row import LineRow
from sinks.sink import LineFilter
from tests.fakes.sink import FakeSink
from tests.sinks.rows import DIM, line
from worker.querying.search.lexical import rank_by_words, votes_by_words
from worker.querying.search.ranking import Ranking, SearchBounds
from worker.querying.search.words import words_of


def sink_of(*lines: LineRow) -> FakeSink:
    sink = FakeSink(dim=DIM)
    sink.has_bm25 = True
    sink.open()
    sink.upsert_lines(lines)
    return sink


def rank(sink: FakeSink, text: str, k: int = 10, *, per_template: int = 1, reads: int = 100_000) -> Ranking:
    left = iter(range(reads))
    return rank_by_words(sink, words_of(text), SearchBounds(k, per_template, LineFilter(), lambda: next(left, None) is None))


def votes(sink: FakeSink, text: str, least_share: float) -> Ranking:
    return votes_by_words(sink, words_of(text), SearchBounds(1, 1, LineFilter(), lambda: False), least_share=least_share)


def offsets(ranking: Ranking) -> list[list[int]]:
    return [[one.offset for one in template.lines] for template in ranking.templates]


def test_the_best_line_of_each_template_ranks_it() -> None:
    sink = sink_of(
        line(1, template="a", text="disk"),
        line(2, template="a", text="disk full on node"),
        line(3, template="b", text="disk full"),
        line(4, template="c", text="network"),
    )
    ranking = rank(sink, "disk full")
    assert {template.digest: template.lines[0].offset for template in ranking.templates} == {"a": 2, "b": 3}
    scores = [template.score for template in ranking.templates]
    assert scores == sorted(scores, reverse=True)
    assert ranking.complete


def test_lines_with_the_identifier_whole_come_first() -> None:
    sink = sink_of(
        line(1, template="a", text="10 251 73 220 10 251 73 220 10.251.73.2201"),
        line(2, template="b", text="from 10.251.73.220: a very long line of words that has nothing else to do with what is looked for"),
    )
    assert offsets(rank(sink, "from 10.251.73.220 words")) == [[2], [1]]
    assert offsets(rank(sink, "10.251.73.220")) == [[2]], "only the identifier was asked for, and the other line does not have it"
    assert rank(sink, "10.251.73.99") == Ranking([], complete=True), "no line has it"


def test_lines_that_only_look_like_the_identifier_do_not_hide_it() -> None:
    sink = sink_of(
        *(line(n, template="near", text="10.250.102.19") for n in range(300)),
        line(999, template="it", text="10.250.19.102 in a line of many words that stands far down the list"),
    )
    ranking = rank(sink, "10.250.19.102")
    assert ([template.digest for template in ranking.templates], ranking.complete) == (["it"], True)


def test_lines_are_ranked_apart_where_lines_are_wanted() -> None:
    sink = sink_of(
        line(1, template="a", text="blk_7 sent to 10.0.0.1"),
        line(2, template="a", text="blk_7 gone"),
        line(3, template="b", text="blk_7 came from 10.0.0.1"),
    )
    bounds = SearchBounds(10, 1, LineFilter(), lambda: False)
    ranking = rank_by_words(sink, words_of("blk_7 10.0.0.1"), bounds, grouped=False)
    found = [offset for one in offsets(ranking) for offset in one]
    assert (sorted(found[:2]), found[2:]) == ([1, 3], [2]), "those with both come first, whatever their template"


def test_a_text_of_nothing_but_grammar_finds_nothing_and_asks_nobody() -> None:
    sink = sink_of(line(1, text="who is it"))
    sink.calls.clear()
    assert rank(sink, "who is it?") == Ranking([], complete=True)
    assert sink.calls == []


@pytest.mark.parametrize(("least_share", "found"), [(0.0, {1, 2}), (0.5, {2}), (1.0, set())])
def test_a_line_with_too_small_a_share_of_the_words_does_not_vote(least_share: float, found: set[int]) -> None:
    sink = sink_of(line(1, template="a", text="disk"), line(2, template="b", text="disk full"))
    ranking = votes(sink, "disk full sector", least_share)
    assert {template.lines[0].offset for template in ranking.templates} == found


def test_an_identifier_votes_whatever_the_share() -> None:
    sink = sink_of(line(1, template="a", text="lost blk_77 again"))
    assert offsets(votes(sink, "where has block blk_77 gone and why", 1.0)) == [[1]]


def test_votes_are_read_once_and_are_never_incomplete() -> None:
    sink = sink_of(*(line(n, template="busy", text="disk") for n in range(500)))
    sink.calls.clear()
    assert votes(sink, "disk", 0.5).complete
    assert sink.calls == ["matching_lines"]


def test_one_busy_template_does_not_hide_the_others() -> None:
    sink = sink_of(
        *(line(n, template="busy", text="disk disk") for n in range(300)), line(999, template="rare", text="disk and more words")
    )
    sink.calls.clear()
    ranking = rank(sink, "disk", k=2)
    assert ([template.digest for template in ranking.templates], ranking.complete) == (["busy", "rare"], True)
    assert sink.calls == ["matching_lines"] * 2


def test_a_bound_or_the_deadline_that_cuts_it_is_said() -> None:
    sink = sink_of(*(line(n, template="busy", text="disk") for n in range(1700)))
    assert not rank(sink, "disk", k=2).complete
    sink.calls.clear()
    assert not rank(sink, "disk", k=2, reads=0).complete
    assert sink.calls == ["matching_lines"]


def test_all_lines_of_a_template_are_there_when_so_many_are_wanted() -> None:
    sink = sink_of(*(line(n, template="a", text=f"request {n // 5}-x7") for n in range(10)))
    assert len(rank(sink, "1-x7", per_template=10).templates[0].lines) == 5
