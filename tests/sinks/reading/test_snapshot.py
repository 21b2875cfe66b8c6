"""One attempt at a read: how old it may become, and what a block that is gone or damaged does to it."""

from collections.abc import Collection

import numpy as np
import pytest

from sinks.arrow import pack
from sinks.block import Block, BlockColumns, BlockId
from sinks.reading.between import RecordRange
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter
from sinks.reading.matching import MatchingLines
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from sinks.reading.snapshot import LONGEST_S, MOST_ATTEMPTS
from sinks.sink import BlockFilter, ColumnName, FoundBlocks, SinkBusy
from tests.fakes.sink import FakeSink
from tests.world import DIM, TEMPLATE, block, blocks, line, offsets

ALL = LineFilter()
LINES = [line(offset) for offset in range(12)]


class SlowSink(FakeSink):
    """Every call takes time; blocks can be gone for readers that are not strong, or for all of them."""

    def __init__(self) -> None:
        super().__init__(DIM)
        self.now_s = 0.0
        self.call_s = 0.0
        self.late: set[BlockId] = set()
        """Not seen yet by reads that are not strong."""
        self.vanish_after_listing: list[BlockId] = []
        self.open()

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        self.now_s += self.call_s
        found = super().find_blocks(only, limit=limit, strong=strong)
        if self.vanish_after_listing:
            self.blocks.pop(self.vanish_after_listing.pop(), None)
        return found

    def read_columns(
        self, ids: Collection[BlockId], columns: Collection[ColumnName], *, strong: bool = False
    ) -> dict[BlockId, BlockColumns]:
        self.now_s += self.call_s
        found = super().read_columns(ids, columns, strong=strong)
        return {one: column for one, column in found.items() if strong or one not in self.late}


@pytest.fixture
def sink() -> SlowSink:
    sink = SlowSink()
    sink.write_blocks(blocks(LINES, 4))
    return sink


@pytest.fixture
def reader(sink: SlowSink) -> BlockReader:
    return BlockReader(sink, clock=lambda: sink.now_s)


def test_a_read_that_is_too_old_begins_anew_once_and_then_ends(sink: SlowSink, reader: BlockReader) -> None:
    sink.call_s = LONGEST_S / 2 - 0.1
    found = reader.newest_lines([TEMPLATE], 100, ALL)
    assert sink.calls.count("find_blocks") == 4  # each time those of the question, and those of other runs
    assert offsets(found.lines[TEMPLATE]) == list(range(12))[::-1]  # what was decoded in vain is in the cache
    assert found.complete


def test_an_answer_that_comes_too_late_begins_the_read_anew(sink: SlowSink, reader: BlockReader) -> None:
    sink.call_s = LONGEST_S - 1
    assert offsets(reader.lines_between(RecordRange("logs", 0, 0, 12)).lines) == list(range(12))
    assert sink.calls.count("find_blocks") == 2


def test_a_read_that_is_too_old_again_says_so() -> None:
    sink = SlowSink()
    sink.write_blocks(blocks(LINES, 4))
    sink.call_s = LONGEST_S - 1
    reader = BlockReader(sink, clock=lambda: sink.now_s, cache_bytes=0)
    assert not reader.newest_lines([TEMPLATE], 100, ALL).complete
    assert sink.calls.count("find_blocks") == 2


def test_a_read_that_keeps_its_time_is_made_once(sink: SlowSink, reader: BlockReader) -> None:
    sink.call_s = LONGEST_S / 3 - 0.1
    assert reader.newest_lines([TEMPLATE], 1, ALL).complete
    assert sink.calls.count("find_blocks") == 2


def test_a_listed_block_that_is_gone_begins_the_read_anew(sink: SlowSink, reader: BlockReader) -> None:
    sink.write_blocks([block(LINES[:8], first=0, last=1)])
    small = [one for one in sink.blocks if one.first == one.last]
    sink.blocks = {one: stored for one, stored in sink.blocks.items() if one in small} | {
        one: stored for one, stored in sink.blocks.items() if one not in small
    }
    sink.vanish_after_listing = [small[2]]
    found = reader.lines_between(RecordRange("logs", 0, 0, 12))
    assert sink.calls.count("find_blocks") == 2
    assert offsets(found.lines) == list(range(8))


def test_blocks_that_vanish_again_and_again_make_the_sink_busy(sink: SlowSink) -> None:
    reader = BlockReader(sink, clock=lambda: 0.0, cache_bytes=0)
    more = [block([line(100 + number)], first=100 + number) for number in range(MOST_ATTEMPTS)]
    sink.write_blocks(more)
    sink.vanish_after_listing = [one.id for one in more]
    with pytest.raises(SinkBusy, match="gone"):
        reader.lines_between(RecordRange("logs", 0, 0, 1_000))
    assert offsets(reader.lines_between(RecordRange("logs", 0, 0, 1_000)).lines) == list(range(12))


def test_a_block_that_a_bounded_read_does_not_see_yet_is_read_again_at_once(sink: SlowSink, reader: BlockReader) -> None:
    sink.late = set(sink.blocks)
    assert offsets(reader.lines_between(RecordRange("logs", 0, 0, 12)).lines) == list(range(12))
    assert sink.calls.count("find_blocks") == 1


def replaced(stored: Block, column: str) -> Block:
    return Block._make("damaged" if name == column else value for name, value in stored._asdict().items())


@pytest.mark.parametrize("column", ["places", "texts", "fields"])
def test_a_damaged_block_is_left_out_and_makes_an_answer_incomplete(sink: SlowSink, reader: BlockReader, column: str) -> None:
    one = next(one for one in sink.blocks if one.first == 1)
    sink.blocks[one] = replaced(sink.blocks[one], column)
    between = reader.lines_between(RecordRange("logs", 0, 0, 12))
    assert offsets(between.lines) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert not between.complete
    newest = reader.newest_lines([TEMPLATE], 100, ALL)
    assert offsets(newest.lines[TEMPLATE]) == [11, 10, 9, 8, 3, 2, 1, 0]
    assert not newest.complete


def with_literals(reader: BlockReader, *literals: str) -> MatchingLines:
    return reader.lines_with(Selection(ALL, is_match=lambda texts: np.ones(len(texts), np.bool_)), 100, literals=literals)


def test_a_block_without_a_literal_is_left_out_and_not_read_again_for_it(sink: SlowSink, reader: BlockReader) -> None:
    assert offsets(with_literals(reader, "line 1", "line 6").lines) == []
    read = sink.calls.count("read_columns")
    assert not with_literals(reader, "line 6", "line 1").lines
    assert with_literals(reader, "line 6", "line 1").complete
    assert sink.calls.count("read_columns") == read
    assert offsets(with_literals(reader, "line 1").lines) == [11, 10, 9, 8, 3, 2, 1, 0]  # each lacked the other one


@pytest.mark.parametrize("texts", [b"damaged", pack({}, {"vectail.layout": "2"}), pack({"text": np.arange(2)}, {"vectail.layout": "2"})])
def test_texts_that_cannot_be_read_may_hold_any_literal_so_the_answer_is_incomplete(
    sink: SlowSink, reader: BlockReader, texts: bytes
) -> None:
    one = next(one for one in sink.blocks if one.first == 1)
    sink.blocks[one] = sink.blocks[one]._replace(texts=texts)
    found = with_literals(reader, "line 1")
    assert (offsets(found.lines), found.complete) == ([11, 10, 9, 8, 3, 2, 1, 0], False)


def test_a_damaged_block_that_must_be_unpacked_makes_a_count_incomplete(sink: SlowSink, reader: BlockReader) -> None:
    one = next(one for one in sink.blocks if one.first == 1)
    sink.blocks[one] = sink.blocks[one]._replace(places=b"damaged")
    assert reader.count(CountQuery()).complete  # from heads
    cut = reader.count(CountQuery(LineFilter(since_ms=5_000)))
    assert (cut.rows[0].lines, cut.complete) == (4, False)


def test_a_deadline_that_is_over_ends_every_question(reader: BlockReader) -> None:
    def passed() -> bool:
        return True

    assert not reader.newest_lines([TEMPLATE], 1, ALL, deadline_passed=passed).complete
    assert not reader.lines_between(RecordRange("logs", 0, 0, 12), deadline_passed=passed).complete
    assert not reader.lines_with(Selection(ALL, is_match=lambda texts: [False] * len(texts)), 1, deadline_passed=passed).complete  # type: ignore[arg-type,return-value]
    assert not reader.newest_templates(ALL, deadline_passed=passed).complete
    assert not reader.count(CountQuery(LineFilter(since_ms=1_000)), deadline_passed=passed).complete
