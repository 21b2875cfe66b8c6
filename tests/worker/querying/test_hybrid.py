"""Hybrid search without a filter on lines: lines are read last, and the answer is the one that reading all of them gives."""

import random
from collections.abc import Collection, Sequence
from typing import Any

import pytest

from sinks.reading.line_filter import LineFilter, never
from sinks.row import TemplateId
from tests.fakes.sink import FakeSink
from tests.template_ids import id_of
from tests.worker.querying.families_world import STATES, WORDS, World, world
from tests.world import counted, index_of, line, open_sink, template, unit
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.querying.counts import find_counts
from worker.querying.family_listing import find_families
from worker.querying.ranking import Index, OutOfTime
from worker.querying.search import PreparedQuery, SearchResult, search
from worker.querying.template_listing import find_templates

EACH_REQUEST = [
    pytest.param({}, id="no filter"),
    pytest.param({"k": 1}, id="one hit"),
    pytest.param({"k": 100}, id="more than there are"),
    pytest.param({"per_family": 3}, id="several of a family"),
    pytest.param({"filters": {"not_template": [id_of("disk full")]}}, id="without a template"),
    pytest.param({"filters": {"template": [id_of(f"{word} {state}!") for word in WORDS for state in STATES[:3]]}}, id="some templates"),
]


def find(index: Index, vector: Any, **request: Any) -> SearchResult:  # noqa: ANN401 - any part of a query
    return search(index, PreparedQuery(Query.model_validate({"k": 10, **request}), vector), deadline_passed=never)


def find_within(index: Index, reads: int) -> SearchResult:
    """Search until the deadline, which passes after `reads` readings of the clock."""
    left = iter(range(reads))
    sought = PreparedQuery(Query(text="unknown", k=10), unit(1.0))
    return search(index, sought, deadline_passed=lambda: next(left, None) is None)


def eagerly(index: Index, vector: Any, **request: Any) -> SearchResult:  # noqa: ANN401 - as find
    """Return what is found when the lines of all ranked templates are read, because of a filter that all lines pass."""
    return find(index, vector, **{**request, "filters": {**request.get("filters", {}), "since_ms": 0}})


def with_lines(made: World, draw: random.Random, lacking: Collection[str] = ()) -> World:
    """Return a world whose templates have one to three lines each, some with an identifier, but for those that lack lines."""
    texts = [row.text for row in made.rows if row.text not in lacking for _ in range(draw.choice((1, 2, 3)))]
    draw.shuffle(texts)
    lines = [
        line(n, template_text=text, text=f"{text} req-{n % 7}a1" if draw.random() < 0.1 else text, time=draw.randrange(100_000))
        for n, text in enumerate(texts)
    ]
    return World(made.rows, lines)


def questions(draw: random.Random) -> list[tuple[Any, str]]:
    """Return vectors and texts, one of them with an identifier, and one of nothing else."""
    texts = [" ".join(draw.sample([*WORDS, *STATES], count)) for count in (1, 2, 3)]
    return [(unit(*(draw.uniform(-1, 1) for _ in range(4))), text) for text in (*texts, "disk full req-3a1", "req-5a1")]


@pytest.mark.slow
@pytest.mark.parametrize("request_", EACH_REQUEST)
@pytest.mark.parametrize("ranks_words", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_where_every_template_has_a_line_the_answer_is_that_of_reading_them_all(
    seed: int, request_: dict[str, Any], *, ranks_words: bool
) -> None:
    draw = random.Random(seed)
    made = with_lines(world(seed, families=draw.choice((3, 12, 40)), most_templates=draw.choice((5, 30, 100)), lines=0), draw)
    index = made.opened(ranks_words=ranks_words)
    for vector, text in questions(draw):
        request = {"text": text, **request_}
        found, wanted = find(made.opened(ranks_words=ranks_words), vector, **request), eagerly(index, vector, **request)
        assert found == wanted
        assert found.hits or "filters" in request_
        assert find(index, vector, **request) == wanted, "what is known already of templates changes nothing"


def count(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime) -> object:
    return find_counts(index, sought, deadline_passed, now_ms=1e6).listings


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_listings_are_those_of_reading_all_lines(seed: int) -> None:
    draw = random.Random(seed)
    index = with_lines(world(seed, most_templates=60, lines=0), draw).opened()
    for vector, text in questions(draw):
        for listing in (find_templates, find_families, count):
            lazy, eager = (PreparedQuery(Query(text=text, k=10, filters=filters), vector) for filters in (Filters(), Filters(since_ms=0)))
            assert listing(index, lazy, never) == listing(index, eager, never)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(6))
def test_templates_without_lines_are_passed_over(seed: int, share: float) -> None:
    draw = random.Random(seed)
    rows = world(seed, families=40, most_templates=draw.choice((5, 30)), lines=0)
    made = with_lines(rows, draw, {row.text for row in rows.rows if draw.random() < share})
    families = {one.template_text.rstrip("!") for one in made.lines}
    for vector, text in questions(draw)[:4]:
        found = find(made.opened(), vector, text=text)
        shown = [hit.line.template_text.rstrip("!") for hit in found.hits]
        assert len(shown) == len(set(shown)) == min(10, len(families))
        assert found.complete


def in_order(count: int, lacking: Sequence[int] = ()) -> Index:
    """Return an index of `count` templates, each farther from `unit(1.0)` than the one before, with a line unless they lack it."""
    rows = [template(f"t{chr(97 + n % 26)}{chr(97 + n // 26)}", unit(1.0, n / 100)) for n in range(count)]
    return index_of(open_sink(rows), [line(n, template_text=row.text) for n, row in enumerate(rows) if n not in lacking])


def offsets(found: SearchResult) -> list[int]:
    return [hit.line.offset for hit in found.hits]


def test_lines_are_read_once_and_only_of_what_is_shown() -> None:
    index = in_order(300)
    asked = counted(index)
    assert offsets(find(index, unit(1.0), text="unknown")) == list(range(10))
    assert asked == [10]


def test_others_move_up_where_a_template_has_no_line() -> None:
    index = in_order(300, lacking=(2, 3, 10))
    asked = counted(index)
    found = find(index, unit(1.0), text="unknown")
    assert offsets(found) == [0, 1, 4, 5, 6, 7, 8, 9, 11, 12]
    assert [hit.score for hit in found.hits] == pytest.approx([float(unit(1.0, n / 100)[0]) for n in offsets(found)]), (
        "a cosine, no sum of ranks"
    )
    assert asked == [10, 2, 1], "those that move up"


def test_where_no_near_template_has_a_line_farther_ones_are_found() -> None:
    found = find(in_order(300, lacking=range(200)), unit(1.0), text="unknown")
    assert (offsets(found), found.complete) == (list(range(200, 210)), True)


def test_with_a_filter_on_lines_or_several_lines_of_a_template_all_are_read() -> None:
    for request in ({"filters": {"service": ["sshd"]}}, {"per_template": 2, "per_family": 2}):
        index = in_order(100)
        asked = counted(index)
        find(index, unit(1.0), text="unknown", **request)
        assert asked == [64]


def test_a_line_with_the_identifier_is_not_read_again() -> None:
    rows = [template(f"t{letter}", unit(1.0, n)) for n, letter in enumerate("abcd")]
    lines = [line(n, template_text=row.text) for n, row in enumerate(rows)]
    index = index_of(open_sink(rows), [line(90, template_text="td", text="sent ab-123"), *lines])
    asked = counted(index)
    assert offsets(find(index, unit(1.0), text="where is ab-123", k=3)) == [90, 0, 1]
    assert asked == [2]


def test_a_block_that_cannot_be_read_is_said() -> None:
    index = in_order(30)
    sink = index.sink
    assert isinstance(sink, FakeSink)
    oldest = min(sink.blocks, key=lambda one: sink.blocks[one].last_ms)
    sink.blocks[oldest] = sink.blocks[oldest]._replace(places=b"broken")
    found = find(index, unit(1.0), text="unknown", k=5)
    assert (offsets(found), found.complete) == (list(range(10, 15)), False)


@pytest.mark.slow
def test_reading_ends_between_two_pages_when_time_is_up() -> None:
    found = [find_within(in_order(300, lacking=(2, 3, 10)), reads) for reads in range(1, 40)]
    whole = [0, 1, 4, 5, 6, 7, 8, 9, 11, 12]
    assert (offsets(found[0]), found[0].complete) == (whole[:8], False), "the first page is read even if ranking took all the time"
    assert all(offsets(one) == whole[: len(one.hits)] for one in found)
    assert all(offsets(one) == whole for one in found if one.complete)
    assert found[-1].complete
    assert (whole[:8], False) in [(offsets(one), one.complete) for one in found[1:]]


def test_filters_on_templates_are_not_on_lines() -> None:
    assert not LineFilter(not_templates=frozenset({TemplateId("a")})).is_on_lines
    for values in ({"since_ms": 0}, {"until_ms": 1}, {"levels": ("INFO",)}, {"not_fields": (("a", "b"),)}, {"not_topics": ("a",)}):
        assert LineFilter(**values).is_on_lines
