"""Templates are ranked, lines are shown: by meaning, by words, by both."""

import json
from typing import Any

import numpy as np
import pytest

from sinks.line import Line
from sinks.reading.line_filter import never
from tests.fakes.sink import FakeSink
from tests.template_ids import id_of
from tests.world import index_of, line, open_sink, template, unit, write
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.querying.counts import find_counts
from worker.querying.dense import MOST_TEMPLATES
from worker.querying.forms import parse_query
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery, SearchResult, mode_of, search


def of(place: int, name: str, **values: Any) -> Line:  # noqa: ANN401 - any column of a line
    """Return a line of the template with this text."""
    return line(place, template_text=name, **values)


@pytest.fixture
def index() -> Index:
    """Three templates, "a" the nearest, each with several lines; the newest line has the highest offset."""
    sink = open_sink([template("b", unit(1.0, 0.5)), template("a", unit(1.0, 0.1)), template("c", unit(0.0, 1.0))])
    return index_of(sink, [of(place, name, service=f"service-{name}") for place, name in enumerate("cabcab")])


def meaning(**values: Any) -> Query:  # noqa: ANN401 - any part of a query
    return Query(**{"text": "x", "mode": "dense", **values})


def find(index: Index, query: Query, *, reads: int = 100_000) -> SearchResult:
    """Search until the deadline, which passes after `reads` readings of the clock."""
    left = iter(range(reads))
    return search(index, PreparedQuery(query, unit(1.0)), deadline_passed=lambda: next(left, None) is None)


def places(found: SearchResult) -> list[tuple[str, int]]:
    return [(hit.line.template_text, hit.line.offset) for hit in found.hits]


def sink_of(index: Index) -> FakeSink:
    assert isinstance(index.sink, FakeSink)
    return index.sink


def many(count: int, *lines: Line) -> Index:
    """Return an index of `count` templates, each farther from the query than the one before, with these lines."""
    angles = np.linspace(0.0, 1.0, count).tolist()
    return index_of(open_sink(template(f"t{n:04}", unit(1.0, angle)) for n, angle in enumerate(angles)), lines)


def test_of_each_template_as_many_lines_come_as_were_asked_for(index: Index) -> None:
    assert places(find(index, meaning(per_template=2))) == [("a", 4), ("a", 1), ("b", 5), ("b", 2), ("c", 3), ("c", 0)]
    assert places(find(index, meaning(per_template=2, k=3))) == [("a", 4), ("a", 1), ("b", 5)]


def test_no_more_than_k_hits_come_and_few_reads_are_made(index: Index) -> None:
    sink_of(index).calls.clear()
    found = find(index, meaning(k=2))
    assert (places(found), found.complete) == ([("a", 4), ("b", 5)], True)
    assert sink_of(index).calls == ["templates.nearest", "find_blocks", "read_columns", "find_blocks"]  # the last one: of other runs


def test_an_empty_index_has_a_complete_answer_without_hits() -> None:
    for query in (meaning(), Query(text="x"), Query(text="ab-123")):
        assert find(index_of(open_sink()), query) == SearchResult([], complete=True)


def test_when_time_is_up_what_was_found_is_returned_as_incomplete(index: Index) -> None:
    query = meaning(k=2, filters=Filters(service=["service-a", "service-c"]))
    cut = find(index, query, reads=0)
    assert (places(cut), cut.complete) == ([], False)
    whole = find(index, query)
    assert (places(whole), whole.complete) == ([("a", 4), ("c", 3)], True)
    for reads in range(1, 20):
        assert places(find(index, query, reads=reads)) == places(whole)[: len(find(index, query, reads=reads).hits)]


def test_a_time_range_without_lines_of_the_nearest_templates_has_the_best_of_what_is_there() -> None:
    late = [of(10_000 + n, f"t{299 - n:04}") for n in range(50)]
    index = many(300, *(of(n, f"t{n:04}") for n in range(200)), *late)
    found = find(index, meaning(k=5, filters=Filters(since_ms=min(one.time for one in late))))
    assert [name for name, _ in places(found)] == [f"t{n:04}" for n in range(250, 255)]
    assert found.complete
    scores = [hit.score or 0.0 for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_the_nearest_templates_with_lines_come_before_those_that_are_found_turned_round() -> None:
    index = many(300, *(of(n, f"t{n:04}", service="cron") for n in (3, 290, MOST_TEMPLATES - 1, 120)))
    found = find(index, meaning(filters=Filters(service=["cron"])))
    assert [name for name, _ in places(found)] == ["t0003", f"t{MOST_TEMPLATES - 1:04}", "t0120", "t0290"]


def test_a_bound_on_the_blocks_that_are_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.dense.MOST_BLOCKS", 2)
    index = many(300, *(of(n, f"t{n:04}", service="cron") for n in range(100, 300)))
    found = find(index, meaning(k=100, filters=Filters(service=["cron"])))
    assert 0 < len(found.hits) < 100
    assert not found.complete
    assert find(index, meaning(k=3, filters=Filters(service=["cron"]))).complete


def test_what_was_read_for_several_queries_is_used_and_read_on_from(index: Index) -> None:
    near = index.sink.templates.nearest(unit(1.0)[None], MOST_TEMPLATES)[0]
    sink_of(index).calls.clear()

    def found(k: int) -> list[tuple[str, int]]:
        return places(search(index, PreparedQuery(meaning(k=k), unit(1.0), near=near), deadline_passed=lambda: False))

    assert found(2) == [("a", 4), ("b", 5)]
    assert found(3) == [("a", 4), ("b", 5), ("c", 3)]
    assert "templates.nearest" not in sink_of(index).calls
    assert found(MOST_TEMPLATES + 1) == [("a", 4), ("b", 5), ("c", 3)]
    assert "templates.nearest" in sink_of(index).calls


@pytest.mark.parametrize(
    ("mode", "has_vector", "ranked"),
    [
        (None, True, "hybrid"),
        ("dense", True, "dense"),
        ("hybrid", True, "hybrid"),
        ("words", False, "words"),
        ("hybrid", False, "words"),
    ],
)
def test_without_a_wish_both_rankings_count_where_both_are_possible(mode: str | None, *, has_vector: bool, ranked: str) -> None:
    query = Query.model_validate({"text": "x", "mode": mode})
    assert mode_of(PreparedQuery(query, unit(1.0) if has_vector else None)) == ranked


@pytest.mark.parametrize("ranks_words", [True, False])
def test_words_decide_between_templates_that_are_about_equally_near(*, ranks_words: bool) -> None:
    rows = [template("a", unit(1.0, 0.1)), template("voucher refused", unit(1.0, 0.1001)), template("voucher lost", unit(0.0, 1.0))]
    index = index_of(open_sink(rows, ranks_words=ranks_words), [of(n, row.text) for n, row in enumerate(rows)])
    found = find(index, Query(text="voucher refused"))
    assert [name for name, _ in places(found)] == ["voucher refused", "a", "voucher lost"]
    assert [hit.score for hit in found.hits] == pytest.approx([np.dot(unit(1.0), rows[n].vector) for n in (1, 0, 2)])
    assert places(find(index, meaning(text="voucher refused")))[0][0] == "a", "not where meaning alone is asked for"


@pytest.mark.parametrize("text", ["the ab-123 vanished", 'gone "AB-123"', "ab-123 OR cd-456 gone"])
def test_an_identifier_of_a_question_must_match(index: Index, text: str) -> None:
    write(sink_of(index), of(90, "c", text="sent ab-123"), of(91, "b", text="ab-123"), of(92, "b"), of(93, "a", text="ab-1234"))
    query = parse_query(json.dumps({"text": text}).encode())
    assert places(find(index, query)) == [("b", 91), ("c", 90)]
    counted = parse_query(json.dumps({"text": text, "as": "counts", "by": ["level"]}).encode())
    assert sum(row.lines for row in find_counts(index, PreparedQuery(counted, unit(1.0)), never, now_ms=1e6).listings[0].rows) == 2


@pytest.mark.parametrize("text", ["why is web-1234 slow", '"of web-1234" slow', '"slow answer of web-1234"'])
def test_an_identifier_is_found_at_the_beginning_of_a_longer_name_too(index: Index, text: str) -> None:
    write(sink_of(index), of(90, "c", text="slow answer of web-1234.prod.example.com"), of(91, "b", text="web-12345 is slow"))
    query = parse_query(json.dumps({"text": text, "filters": {"since_ms": 0}}).encode())
    assert places(find(index, query)) == [("c", 90)]


def test_an_identifier_that_a_template_holds_is_found_in_its_lines_too(index: Index) -> None:
    sink_of(index).templates.upsert([template("node-17 down", unit(0.9, 0.1))])
    write(sink_of(index), of(90, "node-17 down", text="node-17 down"))
    write(sink_of(index), of(91, "c", text="left node-17"))
    query = parse_query(b'{"text": "why is node-17 away"}')
    assert places(find(index, query)) == [("node-17 down", 90), ("c", 91)]


def test_every_line_with_the_identifier_comes_newest_first_where_nothing_else_was_asked_for(index: Index) -> None:
    write(sink_of(index), *(of(90 + n, "a", text=f"ab-123 {n}") for n in range(4)))

    def find_exact(query: Query) -> list[tuple[str, int]]:
        return places(search(index, PreparedQuery(query, None, is_exact=True), deadline_passed=lambda: False))

    assert find_exact(Query(text="ab-123")) == [("a", 93), ("a", 92), ("a", 91), ("a", 90)]
    assert find_exact(Query(text="ab-123", k=2)) == [("a", 93), ("a", 92)]
    assert find_exact(Query(text="ab-123", filters=Filters(until_ms=92_000))) == [("a", 91), ("a", 90)]
    assert len(find_exact(Query(text="ab-123", per_template=1))) == 1


def test_without_a_text_the_newest_lines_of_the_filters_templates_come(index: Index) -> None:
    filters = Filters(template=[id_of("a"), id_of("c")])
    found = find(index, Query(filters=filters, k=3))
    assert places(found) == [("a", 4), ("c", 3), ("a", 1)]
    assert [hit.score for hit in found.hits] == [None] * 3
    assert places(find(index, Query(filters=filters, per_template=1))) == [("a", 4), ("c", 3)]


def test_a_sampled_line_is_found_by_its_template_and_not_by_a_word() -> None:
    sink = open_sink([template("disk full on <host>", unit(1.0)), template("login", unit(0.0, 1.0))], ranks_words=True)
    lines = [
        of(1, "disk full on <host>", text="disk full on host-0001"),
        of(2, "disk full on <host>", text=None),
        of(3, "login", text=None),
    ]
    index = index_of(sink, lines)
    assert places(find(index, meaning())) == [("disk full on <host>", 2), ("login", 3)]
    assert places(find(index, Query(text="disk is full"))) == [("disk full on <host>", 2), ("login", 3)]
    exact = search(index, PreparedQuery(Query(text="host-0001"), None, is_exact=True), deadline_passed=lambda: False)
    assert places(exact) == [("disk full on <host>", 1)]
    assert [
        hit.line.offset for hit in search(index, PreparedQuery(Query(text="host-0001 disk"), None), deadline_passed=lambda: False).hits
    ] == [1]
