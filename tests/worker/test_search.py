"""Templates are ranked, lines are shown."""

import numpy as np
import pytest

from sinks.sink import LineFilter, SinkBusy
from tests.fakes.sink import FakeSink
from tests.sinks.rows import DIM, line, template, unit
from worker.query import Filters, Query
from worker.search import MOST_TEMPLATES, Found, search


@pytest.fixture
def sink() -> FakeSink:
    """Three templates, a nearest; of each several lines, the newest with the highest offset."""
    sink = FakeSink(dim=DIM)
    sink.open()
    sink.upsert_templates([template("b", unit(1.0, 0.5)), template("a", unit(1.0, 0.1)), template("c", unit(0.0, 1.0))])
    for place, name in enumerate("cabcab"):
        sink.upsert_lines([line(place, template=name, service=f"service-{name}")])
    return sink


def find(sink: FakeSink, query: Query, *, reads: int = 1000) -> Found:
    """Search until the time is up, after so many looks at the clock."""
    left = iter(range(reads))
    return search(sink, query, unit(1.0), out_of_time=lambda: next(left, None) is None)


def places(found: Found) -> list[tuple[str, int]]:
    return [(hit.line.template, hit.line.offset) for hit in found.hits]


def test_templates_are_ranked_and_each_shows_its_newest_line(sink: FakeSink) -> None:
    found = find(sink, Query(text="x"))
    assert places(found) == [("a", 4), ("b", 5), ("c", 3)]
    assert [hit.score for hit in found.hits] == pytest.approx([unit(1.0, 0.1)[0], unit(1.0, 0.5)[0], 0.0], abs=1e-6)
    assert found.complete


def test_no_more_than_k_hits_come_and_no_more_are_asked_for(sink: FakeSink) -> None:
    sink.calls.clear()
    found = find(sink, Query(text="x", k=2))
    assert (places(found), found.complete) == ([("a", 4), ("b", 5)], True)
    assert sink.calls.count("newest_lines") == 2


def test_a_template_without_a_line_under_the_filters_is_passed_over(sink: FakeSink) -> None:
    found = find(sink, Query(text="x", k=1, filters=Filters(service=["service-b", "service-c"])))
    assert places(found) == [("b", 5)]
    assert places(find(sink, Query(text="x", filters=Filters(until_ms=2000)))) == [("a", 1), ("c", 0)]


def test_an_empty_index_has_a_complete_answer_without_hits() -> None:
    sink = FakeSink(dim=DIM)
    sink.open()
    assert find(sink, Query(text="x")) == Found([], complete=True)


def test_when_time_is_up_what_was_found_is_returned_as_incomplete(sink: FakeSink) -> None:
    found = find(sink, Query(text="x"), reads=2)
    assert (places(found), found.complete) == ([("a", 4), ("b", 5)], False)


def test_a_search_that_the_bound_on_templates_cut_short_says_so() -> None:
    sink = FakeSink(dim=DIM)
    sink.open()
    angles = np.linspace(0.0, 1.0, MOST_TEMPLATES + 10)
    sink.upsert_templates([template(f"t{n:03}", unit(1.0, angle)) for n, angle in enumerate(angles)])
    sink.upsert_lines([line(1, template="t000"), line(2, template=f"t{MOST_TEMPLATES + 5:03}", service="cron")])
    assert find(sink, Query(text="x", k=1)).complete
    cut = find(sink, Query(text="x", k=2))
    assert (places(cut), cut.complete) == ([("t000", 1)], False)
    assert find(sink, Query(text="x", filters=Filters(service=["cron"]))) == Found([], complete=False)


def test_more_hits_than_the_usual_bound_can_be_asked_for() -> None:
    sink = FakeSink(dim=DIM)
    sink.open()
    sink.upsert_templates([template(f"t{n}", unit(1.0, n / 100)) for n in range(100)])
    sink.upsert_lines([line(n, template=f"t{n}") for n in range(100)])
    assert len(find(sink, Query(text="x", k=90)).hits) == 90


def test_a_busy_sink_is_the_callers_to_wait_for(sink: FakeSink) -> None:
    sink.busy_calls = 1
    with pytest.raises(SinkBusy):
        find(sink, Query(text="x"))


def test_the_sink_gets_typed_filters(sink: FakeSink) -> None:
    assert Filters(service=['" or 1 == 1']).as_line_filter() == LineFilter(services=('" or 1 == 1',))
    assert find(sink, Query(text="x", filters=Filters(service=['" or 1 == 1']))).hits == []
