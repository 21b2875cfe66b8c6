"""Search by meaning and words: the order is that of brute force, and lines are read only of what is shown."""

import random
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest

from consumers.text.families import family_of
from sinks.line import Line
from sinks.reading.line_filter import never
from tests.fakes.sink import FakeSink
from tests.worker.querying.families_world import STATES, WORDS, World, world
from tests.world import counted, index_of, line, open_sink, template, unit
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.querying.counts import find_counts
from worker.querying.dense import MOST_TEMPLATES
from worker.querying.family_listing import find_families
from worker.querying.hybrid import order_of
from worker.querying.query_words import words_of
from worker.querying.ranking import Index, OutOfTime
from worker.querying.search import PreparedQuery, SearchResult, search
from worker.querying.template_listing import find_templates


def find(index: Index, vector: Any, **request: Any) -> SearchResult:  # noqa: ANN401 - any part of a query
    return search(index, PreparedQuery(Query.model_validate({"k": 10, **request}), vector), deadline_passed=never)


def find_within(index: Index, reads: int) -> SearchResult:
    """Search until the deadline, which passes after `reads` readings of the clock."""
    left = iter(range(reads))
    sought = PreparedQuery(Query(text="unknown", k=10), unit(1.0))
    return search(index, sought, deadline_passed=lambda: next(left, None) is None)


def with_lines(made: World, draw: random.Random, lacking: Collection[str] = ()) -> World:
    """Return a world whose templates have one to three lines each, but for those that lack lines."""
    texts = [row.text for row in made.rows if row.text not in lacking for _ in range(draw.choice((1, 2, 3)))]
    draw.shuffle(texts)
    return World(made.rows, [line(n, template_text=text, text=text, time=draw.randrange(100_000)) for n, text in enumerate(texts)])


def by_brute_force(made: World, vector: Any, text: str, k: int) -> list[str]:  # noqa: ANN401 - as find
    """Return the newest line of the best template of each family; words count among the nearest templates only."""
    rows = sorted(made.rows, key=lambda row: -float(row.vector @ vector))
    near, far = rows[:MOST_TEMPLATES], rows[MOST_TEMPLATES:]
    cosines = np.array([row.vector @ vector for row in near], np.float32)
    best: dict[str, Line] = {}
    for row in [*(near[at] for at in order_of(cosines, [row.text for row in near], words_of(text))), *far]:
        lines = [one for one in made.lines if one.template == row.template]
        if lines:
            best.setdefault(family_of(row.text), max(lines, key=lambda one: (one.time, one.offset)))
    return [one.id for one in best.values()][:k]


@pytest.mark.slow
@pytest.mark.parametrize("lacking", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(6))
def test_the_hits_are_those_of_reading_every_template(seed: int, lacking: float) -> None:
    draw = random.Random(seed)
    rows = world(seed, families=draw.choice((3, 12, 40)), most_templates=draw.choice((5, 30, 100)), lines=0)
    made = with_lines(rows, draw, {row.text for row in rows.rows if draw.random() < lacking})
    index = made.opened()
    for count in (1, 2, 3):
        vector, text = unit(*(draw.uniform(-1, 1) for _ in range(4))), " ".join(draw.sample([*WORDS, *STATES], count))
        for k in (1, 10, 100):
            found = find(index, vector, text=text, k=k)
            assert [hit.line.id for hit in found.hits] == by_brute_force(made, vector, text, k)
            assert found.complete


def count(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime) -> object:
    return find_counts(index, sought, deadline_passed, now_ms=1e6).listings


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_listings_are_those_of_reading_all_lines(seed: int) -> None:
    draw = random.Random(seed)
    index = with_lines(world(seed, most_templates=60, lines=0), draw).opened()
    for words in (1, 2, 3):
        vector, text = unit(*(draw.uniform(-1, 1) for _ in range(4))), " ".join(draw.sample([*WORDS, *STATES], words))
        for listing in (find_templates, find_families, count):
            lazy, eager = (PreparedQuery(Query(text=text, k=10, filters=filters), vector) for filters in (Filters(), Filters(since_ms=0)))
            assert listing(index, lazy, never) == listing(index, eager, never)


@pytest.mark.parametrize(("share", "order"), [(0.02, [0, 2, 1, 3]), (0.03, [0, 1, 2, 3])])
def test_words_outweigh_only_a_small_part_of_what_cosines_differ_by(share: float, order: list[int]) -> None:
    gap = share * float(np.std([0.9, 0.5, 0.5, 0.1]))  # of four templates with words in one, its z-score is 2.31 above the others
    cosines = np.array([0.9, 0.5 + gap, 0.5, 0.1], np.float32)
    assert order_of(cosines, ["network", "network", "disk full", "network"], words_of("disk full")).tolist() == order


def test_where_all_are_alike_the_nearest_first_stay_as_they_are() -> None:
    assert order_of(np.array([0.5, 0.5], np.float32), ["disk", "disk"], words_of("disk")).tolist() == [0, 1]
    assert order_of(np.empty(0, np.float32), [], words_of("disk")).tolist() == []
    assert order_of(np.array([0.5, 0.5], np.float32), ["network", "disk"], words_of("disk")).tolist() == [1, 0]


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
    assert offsets(find(index, unit(1.0), text="unknown")) == [0, 1, 4, 5, 6, 7, 8, 9, 11, 12]
    assert asked == [10, 2, 1], "those that move up"


def test_where_no_near_template_has_a_line_farther_ones_are_found() -> None:
    index = in_order(300, lacking=range(200))
    asked = counted(index)
    found = find(index, unit(1.0), text="unknown")
    assert (offsets(found), found.complete) == (list(range(200, 210)), True)
    assert asked[:2] == [10, MOST_TEMPLATES - 10], "the others at once, as most have none"


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
    found = [find_within(in_order(300, lacking=(2, 3, 10)), reads) for reads in range(40)]
    whole = [0, 1, 4, 5, 6, 7, 8, 9, 11, 12]
    assert (offsets(found[0]), found[0].complete) == ([], False)
    assert all(offsets(one) == whole[: len(one.hits)] for one in found)
    assert all(offsets(one) == whole for one in found if one.complete)
    assert found[-1].complete
    assert (whole[:8], False) in [(offsets(one), one.complete) for one in found[1:]]
