"""Templates are ranked, lines are shown: by meaning, by words, by both."""

import numpy as np
import pytest

from sinks.sink import LineFilter, SinkBusy
from tests.fakes.sink import FakeSink
from tests.sinks.rows import DIM, line, template, unit
from worker.query import Filters, Query
from worker.querying.search.dense import MOST_TEMPLATES
from worker.querying.search.search import PreparedQuery, SearchResult, mode_of, search


@pytest.fixture
def sink() -> FakeSink:
    """Three templates, "a" the nearest, each with several lines; the newest line has the highest offset."""
    sink = FakeSink(dim=DIM)
    sink.open()
    sink.upsert_templates([template("b", unit(1.0, 0.5)), template("a", unit(1.0, 0.1)), template("c", unit(0.0, 1.0))])
    for place, name in enumerate("cabcab"):
        sink.upsert_lines([line(place, template=name, service=f"service-{name}")])
    return sink


def find(sink: FakeSink, query: Query, *, reads: int = 1000) -> SearchResult:
    """Search until the deadline, which passes after `reads` readings of the clock."""
    left = iter(range(reads))
    return search(sink, PreparedQuery(query, unit(1.0)), deadline_passed=lambda: next(left, None) is None)


def places(found: SearchResult) -> list[tuple[str, int]]:
    return [(hit.line.template, hit.line.offset) for hit in found.hits]


def many(count: int) -> FakeSink:
    """Return a sink with `count` templates, each farther from the query than the one before, without lines."""
    sink = FakeSink(dim=DIM)
    sink.open()
    sink.upsert_templates([template(f"t{n:04}", unit(1.0, angle)) for n, angle in enumerate(np.linspace(0.0, 1.0, count).tolist())])
    return sink


def test_templates_are_ranked_and_each_shows_its_newest_line(sink: FakeSink) -> None:
    found = find(sink, Query(text="x"))
    assert places(found) == [("a", 4), ("b", 5), ("c", 3)]
    assert [hit.score for hit in found.hits] == pytest.approx([unit(1.0, 0.1)[0], unit(1.0, 0.5)[0], 0.0], abs=1e-6)
    assert found.complete


def test_of_each_template_as_many_lines_come_as_were_asked_for(sink: FakeSink) -> None:
    assert places(find(sink, Query(text="x", per_template=2))) == [("a", 4), ("a", 1), ("b", 5), ("b", 2), ("c", 3), ("c", 0)]
    assert places(find(sink, Query(text="x", per_template=2, k=3))) == [("a", 4), ("a", 1), ("b", 5)]


def test_no_more_than_k_hits_come_and_all_are_read_at_once(sink: FakeSink) -> None:
    sink.calls.clear()
    found = find(sink, Query(text="x", k=2))
    assert (places(found), found.complete) == ([("a", 4), ("b", 5)], True)
    assert sink.calls == ["nearest_templates", "newest_lines"]


def test_a_template_without_a_line_under_the_filters_is_passed_over(sink: FakeSink) -> None:
    found = find(sink, Query(text="x", k=1, filters=Filters(service=["service-b", "service-c"])))
    assert places(found) == [("b", 5)]
    assert places(find(sink, Query(text="x", filters=Filters(until_ms=2000)))) == [("a", 1), ("c", 0)]


def test_an_empty_index_has_a_complete_answer_without_hits() -> None:
    sink = FakeSink(dim=DIM)
    sink.open()
    assert find(sink, Query(text="x")) == SearchResult([], complete=True)


@pytest.mark.parametrize(("reads", "found"), [(0, []), (1, [("a", 4)])])
def test_when_time_is_up_what_was_found_is_returned_as_incomplete(sink: FakeSink, reads: int, found: list[tuple[str, int]]) -> None:
    query = Query(text="x", k=2, filters=Filters(service=["service-a", "service-c"]))
    cut = find(sink, query, reads=reads)
    assert (places(cut), cut.complete) == (found, False)
    assert find(sink, query).complete


def test_one_hit_under_a_selective_filter_costs_no_more_reads_than_many() -> None:
    sink = many(300)
    sink.upsert_lines([line(n, template=f"t{n:04}") for n in range(300)] + [line(5000, template="t0060", service="cron")])
    for k in (1, 10):
        sink.calls.clear()
        assert places(find(sink, Query(text="x", k=k, filters=Filters(service=["cron"]))))[:1] == [("t0060", 5000)]
        assert sink.calls.count("newest_lines") <= 4


def test_a_filter_that_one_template_of_a_thousand_meets_still_finds_its_lines() -> None:
    sink = many(1000)
    sink.upsert_lines([line(n, template=f"t{n:04}") for n in range(1000)] + [line(5000, template="t0777", service="cron")])
    found = find(sink, Query(text="x", filters=Filters(service=["cron"])))
    assert (places(found), found.complete) == ([("t0777", 5000)], True)


def test_a_time_range_without_lines_of_the_nearest_templates_has_the_best_of_what_is_there() -> None:
    sink = many(300)
    sink.upsert_lines([line(n, template=f"t{n:04}") for n in range(200)])
    late = [line(10_000 + n, template=f"t{299 - n:04}") for n in range(50)]
    sink.upsert_lines(late)
    found = find(sink, Query(text="x", k=5, filters=Filters(since_ms=min(one.time for one in late))))
    assert [hit.line.template for hit in found.hits] == [f"t{n:04}" for n in range(250, 255)]
    assert found.complete
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_the_nearest_templates_with_lines_come_before_those_that_are_found_turned_round() -> None:
    sink = many(300)
    sink.upsert_lines([line(n, template=f"t{n:04}", service="cron") for n in (3, 290, MOST_TEMPLATES - 1, 120)])
    found = find(sink, Query(text="x", filters=Filters(service=["cron"])))
    assert [hit.line.template for hit in found.hits] == ["t0003", f"t{MOST_TEMPLATES - 1:04}", "t0120", "t0290"]


def test_a_bound_on_the_lines_that_are_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.search.dense.MOST_LINES", 10)
    sink = many(300)
    sink.upsert_lines([line(n, template=f"t{n:04}", service="cron") for n in range(100, 300)])
    found = find(sink, Query(text="x", k=20, filters=Filters(service=["cron"])))
    assert [hit.line.template for hit in found.hits] == [f"t{n:04}" for n in range(290, 300)], "those of the newest lines"
    assert not found.complete


def test_more_hits_than_the_usual_bound_can_be_asked_for() -> None:
    sink = many(100)
    sink.upsert_lines([line(n, template=f"t{n:04}") for n in range(100)])
    assert len(find(sink, Query(text="x", k=90)).hits) == 90


def test_what_was_read_for_several_queries_is_used_and_read_on_from(sink: FakeSink) -> None:
    near = sink.nearest_templates(unit(1.0)[None], 2)[0]
    sink.calls.clear()
    assert places(search(sink, PreparedQuery(Query(text="x", k=2), unit(1.0), near=near), deadline_passed=lambda: False)) == [
        ("a", 4),
        ("b", 5),
    ]
    assert "nearest_templates" not in sink.calls
    assert places(search(sink, PreparedQuery(Query(text="x", k=3), unit(1.0), near=near), deadline_passed=lambda: False))[2:] == [("c", 3)]


def test_a_busy_sink_is_the_callers_to_wait_for(sink: FakeSink) -> None:
    sink.busy_calls = 1
    with pytest.raises(SinkBusy):
        find(sink, Query(text="x"))


def test_the_sink_gets_typed_filters(sink: FakeSink) -> None:
    assert Filters(service=['" or 1 == 1']).as_line_filter() == LineFilter(services=('" or 1 == 1',))
    assert find(sink, Query(text="x", filters=Filters(service=['" or 1 == 1']))).hits == []


@pytest.mark.parametrize(
    ("mode", "has_vector", "has_bm25", "ranked"),
    [
        (None, True, False, "dense"),
        (None, True, True, "hybrid"),
        ("dense", True, True, "dense"),
        ("hybrid", True, True, "hybrid"),
        ("bm25", False, True, "bm25"),
        ("hybrid", False, True, "bm25"),
    ],
)
def test_without_a_wish_both_rankings_count_where_both_are_possible(
    mode: str | None, *, has_vector: bool, has_bm25: bool, ranked: str
) -> None:
    sink = FakeSink(dim=DIM)
    sink.has_bm25 = has_bm25
    query = Query.model_validate({"text": "x", "mode": mode})
    assert mode_of(PreparedQuery(query, unit(1.0) if has_vector else None), sink) == ranked


def test_a_line_with_the_words_stands_for_its_template_and_templates_that_both_find_come_first(sink: FakeSink) -> None:
    sink.has_bm25 = True
    sink.upsert_lines([line(90, template="c", text="voucher refused"), line(91, template="c", text="voucher")])
    found = find(sink, Query(text="voucher refused"))
    assert places(found)[0] == ("c", 90)
    assert {template for template, _ in places(found)} == {"a", "b", "c"}
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1 / 61 + 1 / 63)


def test_both_rankings_give_their_lines_of_a_template(sink: FakeSink) -> None:
    sink.has_bm25 = True
    sink.upsert_lines([line(90, template="a", text="voucher"), line(91, template="a", text="nothing"), line(92, template="a", text="else")])
    found = find(sink, Query(text="voucher", per_template=3))
    assert places(found)[:3] == [("a", 90), ("a", 92), ("a", 91)]


def test_the_order_does_not_depend_on_how_many_are_wanted() -> None:
    sink = many(50)
    sink.has_bm25 = True
    sink.upsert_lines([line(n, template=f"t{n:04}") for n in range(50)])
    sink.upsert_lines([line(900, template="t0012", text="voucher"), line(901, template="t0045", text="voucher refused and more")])
    whole = places(find(sink, Query(text="voucher refused", k=50)))
    assert [places(find(sink, Query(text="voucher refused", k=k))) for k in (1, 3, 10, 20)] == [whole[:k] for k in (1, 3, 10, 20)]


def test_of_equal_votes_meaning_comes_first_unless_an_identifier_was_asked_for(sink: FakeSink) -> None:
    sink.has_bm25 = True
    sink.upsert_templates([template(f"z{n}", unit(-1.0, n / 10)) for n in range(200)])
    sink.upsert_lines([line(90, template="z99", text="voucher refused"), line(91, template="z98", text="voucher ab-123")])
    assert [hit.line.template for hit in find(sink, Query(text="voucher refused", k=2)).hits] == ["a", "z99"]
    assert [hit.line.template for hit in find(sink, Query(text="voucher ab-123", k=2)).hits] == ["z98", "a"]


def test_every_line_with_the_identifier_comes_where_nothing_else_was_asked_for(sink: FakeSink) -> None:
    sink.has_bm25 = True
    sink.upsert_lines([line(90 + n, template="a", text=f"ab-123 {n}") for n in range(4)])
    query = Query(text="ab-123")
    found = search(sink, PreparedQuery(query, None, is_exact=True), deadline_passed=lambda: False)
    assert sorted(places(found)) == [("a", 90 + n) for n in range(4)]
    once = search(sink, PreparedQuery(Query(text="ab-123", per_template=1), None, is_exact=True), deadline_passed=lambda: False)
    assert len(once.hits) == 1


def test_a_line_with_few_of_many_words_does_not_vote(sink: FakeSink) -> None:
    sink.has_bm25 = True
    sink.upsert_lines([line(90, template="c", text="voucher")])
    assert places(find(sink, Query(text="voucher refused socket")))[0] == ("a", 4)
    assert places(find(sink, Query(text="voucher refused")))[0] == ("c", 90)


def test_the_clock_is_looked_at_between_both_rankings(sink: FakeSink) -> None:
    sink.has_bm25 = True
    sink.upsert_lines([line(90, template="c", text="voucher")])
    found = find(sink, Query(text="voucher"), reads=1)
    assert (places(found)[0], found.complete) == (("a", 4), False)
