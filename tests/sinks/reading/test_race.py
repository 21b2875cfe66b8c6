"""Readers against merging: no line is missed and none is seen twice, whatever happens between two calls."""

from collections import Counter
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from sinks.reading.between import RecordRange
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from sinks.sink import BlockFilter
from tests.sinks.reading.racing import BLOCKS, LINES, RacingSink
from tests.world import TEMPLATE

EVERY = list(range(BLOCKS * LINES))
ALL = LineFilter()
Question = Callable[[BlockReader], tuple[list[int], bool]]


def newest_offsets(reader: BlockReader) -> tuple[list[int], bool]:
    found = reader.newest_lines([TEMPLATE], 1_000, ALL)
    return [line.offset for line in found.lines.get(TEMPLATE, [])], found.complete


def matching_offsets(reader: BlockReader) -> tuple[list[int], bool]:
    found = reader.lines_with(Selection(ALL, is_match=lambda texts: np.ones(len(texts), np.bool_)), 1_000)
    return [line.offset for line in found.lines], found.complete


def offsets_between(reader: BlockReader) -> tuple[list[int], bool]:
    found = reader.lines_between(RecordRange("logs", 0, 0, 100))
    return [line.offset for line in found.lines], found.complete


def counted_offsets(reader: BlockReader) -> tuple[list[int], bool]:
    """Take each line for the bucket of time that it is counted in."""
    found = reader.count(CountQuery(by=("time",), bucket_ms=1_000))
    return [int(row.key[0]) // 1_000 for row in found.rows for _ in range(row.lines)], found.complete


QUESTIONS: list[Question] = [newest_offsets, matching_offsets, offsets_between, counted_offsets]


def trial(random: Random, question: Question) -> str:
    sink = RacingSink(random, longest_call_s=random.choice([0.2, 1.0, 3.0]))
    for _ in range(random.randint(0, 6)):
        sink.find_blocks(BlockFilter())
    reader = BlockReader(sink, cache_bytes=0, clock=sink.clock, page_blocks=random.choice([1, 2, 128]))
    offsets, is_complete = question(reader)
    if not is_complete:
        return "cut"
    times = Counter(offsets)
    return "missed" if set(times) < set(EVERY) else "twice" if max(times.values()) > 1 else "right"


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_readers_see_every_line_once_while_blocks_are_merged(question: Question) -> None:
    outcomes = Counter(trial(Random(seed), question) for seed in range(100))
    assert outcomes.keys() <= {"right", "cut"}
    assert outcomes["right"] > 50, outcomes
