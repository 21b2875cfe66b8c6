"""Whatever the history of an index, a reader answers what brute force does: property tests against `tests.sinks.reading.oracle`."""

from collections.abc import Iterable, Sequence
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.arrow import as_texts
from sinks.block import Column
from sinks.line import Line
from sinks.reading.between import RecordRange
from sinks.reading.counting import CountQuery
from sinks.reading.group_names import GroupBy
from sinks.reading.line_filter import LineFilter
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from sinks.row import TemplateId
from tests.sinks.reading import oracle
from tests.sinks.reading.histories import History, Settings, history
from tests.world import open_sink

ANYTHING = Settings(cut_logs=True, masks=True, services=True, times=True)
randoms = st.randoms(use_true_random=False)
BY: list[tuple[GroupBy, ...]] = [
    (),
    ("template",),
    ("time",),
    ("service",),
    ("level",),
    ("topic",),
    ("time", "template"),
    ("template", "time"),
    ("time", "service"),
    ("service", "level"),
    ("topic", "template"),
]


def reader_of(random: Random, stored: History) -> BlockReader:
    sink = open_sink(orders_blocks=random.random() < 0.5)
    sink.write_blocks(stored.blocks)
    return BlockReader(sink, cache_bytes=random.choice([0, 20_000, 10_000_000]), clock=lambda: 0.0, page_blocks=random.choice([1, 4, 128]))


def line_filter(random: Random, templates: Sequence[TemplateId] = ()) -> LineFilter:
    """Return any filter; `templates` are those of which it may exclude some."""
    return LineFilter(
        since_ms=random.choice([None, random.randint(0, 14_000)]),
        until_ms=random.choice([None, random.randint(0, 14_000)]),
        services=random.choice([(), (), ("s0",), ("s1", "s2")]),
        levels=random.choice([(), (), (), ("ERROR",)]),
        topics=random.choice([(), (), ("web",)]),
        not_services=random.choice([(), (), ("s0",), ("s1", "s2"), ("nobody",)]),
        not_levels=random.choice([(), (), (), ("INFO",), ("ERROR", "")]),
        not_topics=random.choice([(), (), (), ("web",), ("logs",)]),
        not_templates=frozenset(random.sample(templates, random.randint(0, len(templates))) if random.random() < 0.5 else ()),
        phrases=random.choice([(), (), (("offset 3",),), (("sub 0 0", "1 of 2"), ("v0", "v1", "offset 12"))]),
        not_phrases=random.choice([(), (), ("sub 1",), ("v0 offset 2", "0 of 1", "nowhere")]),
    )


def of_whole_entries(lines: Iterable[Line], whole: set[tuple[object, ...]]) -> list[Line]:
    return [line for line in lines if oracle.entry(line) in whole]


@given(randoms)
@settings(max_examples=60, deadline=None)
def test_a_range_of_offsets_is_the_union(random: Random) -> None:
    stored = history(random, ANYTHING)
    reader = reader_of(random, stored)
    first, end = sorted([random.randint(0, 30), random.randint(0, 30)])
    expected = [
        line for line in oracle.in_order(oracle.union(stored.stored)) if line[:3] == ("logs", "e1", 0) and first <= line.offset < end
    ]
    found = reader.lines_between(RecordRange("logs", 0, first, end))
    assert found.lines == expected
    assert found.complete
    every = [line for one in oracle.outermost(stored.stored) for line in one.lines if line[:3] == ("logs", "e1", 0)]
    assert found.copies == sum(first <= line.offset < end for line in every) - len(expected)
    most = random.randint(0, 20)
    some = reader.lines_between(RecordRange("logs", 0, first, end), most_lines=most)
    assert some.lines == expected[:most]
    assert some.complete == (len(expected) <= most)


@given(randoms)
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_the_lines_one_by_one(random: Random) -> None:
    stored = history(random, ANYTHING)
    reader = reader_of(random, stored)
    lines = oracle.union(stored.stored)
    templates = sorted({line.template for line in lines})
    for _ in range(4):
        by = random.choice(BY)
        query = CountQuery(line_filter(random, templates), by=by, bucket_ms=random.choice([1, 3_000, 100_000]) if "time" in by else None)
        found = reader.count(query)
        assert found.complete
        assert found.rows == oracle.counts(lines, query)


@given(randoms)
@settings(max_examples=60, deadline=None)
def test_counts_of_some_templates_are_those_of_the_lines_one_by_one(random: Random) -> None:
    stored = history(random, ANYTHING._replace(chunk_templates=False))
    reader = reader_of(random, stored)
    lines = oracle.union(stored.stored)
    templates = sorted({line.template for line in lines} | {TemplateId("0" * 32)})
    for _ in range(4):
        by = random.choice(BY)
        wanted = tuple(random.sample(templates, random.randint(0, len(templates))))
        query = CountQuery(line_filter(random, templates), wanted, by, bucket_ms=random.choice([1, 3_000]) if "time" in by else None)
        assert reader.count(query).rows == oracle.counts(lines, query)


@given(randoms)
@settings(max_examples=60, deadline=None)
def test_the_newest_lines_of_templates_are_those_of_the_union(random: Random) -> None:
    stored = history(random, Settings(chunk_templates=False))
    reader = reader_of(random, stored)
    lines = oracle.union(stored.stored)
    templates = sorted({line.template for line in lines} | {TemplateId("0" * 32)})
    for _ in range(3):
        only, limit = line_filter(random, templates), random.choice([1, 2, 5, 1_000])
        wanted = random.sample(templates, random.randint(1, len(templates)))
        found = reader.newest_lines(wanted, limit, only)
        assert found.complete
        newest = {
            one: [line for line in oracle.newest_first(lines) if line.template == one and oracle.passes(line, only)] for one in wanted
        }
        assert found.lines == {one: some[:limit] for one, some in newest.items() if some}


@given(randoms)
@settings(max_examples=60, deadline=None)
def test_whole_lines_in_chunks_of_several_templates_are_never_torn(random: Random) -> None:
    stored = history(random, Settings())
    reader = reader_of(random, stored)
    lines = oracle.union(stored.stored)
    whole = oracle.are_whole(lines)
    for template in {line.template for line in lines}:
        found = reader.newest_lines([template], 1_000, LineFilter()).lines.get(template, [])
        expected = [line for line in oracle.newest_first(lines) if line.template == template]
        assert of_whole_entries(found, whole) == of_whole_entries(expected, whole)


@given(randoms)
@settings(max_examples=60, deadline=None)
def test_lines_that_match_are_those_of_the_union(random: Random) -> None:
    stored = history(random, Settings(chunk_templates=False))
    reader = reader_of(random, stored)
    lines = oracle.union(stored.stored)
    for _ in range(3):
        ids = sorted({line.template for line in lines})
        only, limit, digit = line_filter(random, ids), random.choice([1, 3, 1_000]), str(random.randint(0, 9))
        templates = random.choice([None, frozenset(random.sample(ids, min(1, len(ids))))])

        def has_digit(texts: Column, digit: str = digit) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            return np.array([digit in text for text in as_texts(texts)], np.bool_)

        found = reader.lines_with(Selection(only, templates=templates, is_match=has_digit), limit)
        expected = [
            line
            for line in oracle.newest_first(lines)
            if digit in (line.text or "") and oracle.passes(line, only) and (templates is None or line.template in templates)
        ]
        assert found.lines == expected[:limit]
        assert found.complete


@given(randoms)
@settings(max_examples=60, deadline=None)
def test_the_templates_of_the_newest_blocks_are_those_of_the_lines(random: Random) -> None:
    stored = history(random, Settings())
    reader = reader_of(random, stored)
    lines = oracle.union(stored.stored)
    only = line_filter(random, sorted({line.template for line in lines}))
    found = reader.newest_templates(only)
    assert found.complete
    stored_lines = [line for one in stored.stored for line in one.lines]
    assert set(found.templates) >= {line.template for line in lines if oracle.passes(line, only)}
    assert set(found.templates) <= {line.template for line in stored_lines if oracle.passes(line, only)}, "a hidden copy may name one"
    few = reader.newest_templates(only, most_blocks=1)
    assert set(few.templates) <= set(found.templates)
