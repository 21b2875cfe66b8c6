"""Copies that a question's own filter does not list: it gets what records hold now, though it asked for what they held before."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sinks.arrow import as_texts
from sinks.block import Column
from sinks.line import Line
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter
from sinks.reading.ordered import Reach
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from tests.template_ids import id_of
from tests.world import block, line, open_sink, run

OLD, NEW = id_of("old words"), id_of("new words")


def written(*runs: list[Line]) -> BlockReader:
    """Return a reader of blocks of one line each: the lines of each run, the latest last."""
    sink = open_sink()
    for number, lines in enumerate(runs, start=1):
        sink.write_blocks([block([one], run(number), first) for first, one in enumerate(lines)])
    return BlockReader(sink)


def old(offset: int, **values: object) -> Line:
    return line(offset, template_text="old words", text=f"req-{offset}-4711 old", service="before", **values)


def new(offset: int, **values: object) -> Line:
    return line(offset, template_text="new words", text=f"req-{offset}-4712 new", service="now", time=99_000_000, **values)


def with_old_id(texts: Column) -> NDArray[np.bool_]:
    return np.array(["4711" in text for text in as_texts(texts)], np.bool_)


REWRITTEN = ([old(3), old(4)], [new(3)])
JOINED = ([old(3), old(4), old(5)], [new(3, records=2)])
FEWER = ([old(4, sub=sub, entries=3) for sub in range(3)], [new(4)])
CASES = {"rewritten": (REWRITTEN, [4]), "joined": (JOINED, [5]), "fewer entries": (FEWER, [])}
"""What is stored, and the offsets of the old lines that are still there."""


@pytest.mark.parametrize(("stored", "left"), CASES.values(), ids=CASES)
def test_a_search_does_not_find_a_line_as_it_was_before_it_was_read_again(stored: tuple[list[Line], list[Line]], left: list[int]) -> None:
    reader = written(*stored)
    found = reader.newest_lines([OLD], 10, LineFilter())
    assert [one.offset for one in found.lines.get(OLD, [])] == left
    assert found.complete
    by_text = reader.lines_with(Selection(LineFilter(), is_match=with_old_id), 10)
    assert [one.offset for one in by_text.lines] == left


@pytest.mark.parametrize(("stored", "left"), CASES.values(), ids=CASES)
def test_counts_and_exports_have_it_no_more(stored: tuple[list[Line], list[Line]], left: list[int]) -> None:
    reader, only = written(*stored), LineFilter(services=("before",))
    assert sum(row.lines for row in reader.count(CountQuery(only)).rows) == len(left)
    found = reader.lines_in_order(Selection(only), Reach(0), 1 << 40, 100)
    assert [one.offset for one in found.lines] == left


def test_the_rest_of_a_record_may_be_in_blocks_that_were_not_asked_for() -> None:
    """Only one of the three entries is of the service: the version is whole all the same."""
    other = [new(4, sub=sub, entries=3)._replace(service="elsewhere") for sub in (1, 2)]
    reader = written([old(4, sub=sub, entries=2) for sub in (0, 1)], [new(4, entries=3), *other])
    only = LineFilter(services=("now",))
    assert sum(row.lines for row in reader.count(CountQuery(only)).rows) == 1
    assert [one.sub for one in reader.newest_lines([NEW], 10, only).lines[NEW]] == [0]
    assert not reader.newest_lines([OLD], 10, LineFilter()).lines


def test_where_no_offsets_were_read_again_one_query_more_is_enough() -> None:
    sink = open_sink()
    sink.write_blocks([block([old(offset)], run(1), offset) for offset in range(4)])
    sink.calls.clear()
    assert len(BlockReader(sink).newest_lines([OLD], 10, LineFilter()).lines[OLD]) == 4
    assert sink.calls.count("find_blocks") == 2
