"""Readers against merging: no line is missed and none is seen twice, whatever happens between two calls; every broken rule is found."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from sinks.block import BlockId
from sinks.heads import Heads
from sinks.reading.counting import CountQuery
from sinks.reading.filters import LineFilter
from sinks.reading.reader import BlockReader
from sinks.reading.snapshot import BeginAnew, Snapshot
from sinks.sink import BlockFilter, ColumnName, FoundBlocks, SinkBusy
from tests.sinks.reading.racing import BLOCKS, LINES, RacingSink
from tests.world import TEMPLATE

EVERY = list(range(BLOCKS * LINES))
ALL = LineFilter()
Question = Callable[[BlockReader], tuple[list[int], bool]]


def newest_offsets(reader: BlockReader) -> tuple[list[int], bool]:
    found = reader.newest_lines([TEMPLATE], 1_000, ALL)
    return [line.offset for line in found.lines.get(TEMPLATE, [])], found.complete


def matching_offsets(reader: BlockReader) -> tuple[list[int], bool]:
    found = reader.lines_with((), lambda texts: np.ones(len(texts), np.bool_), 1_000, ALL)
    return [line.offset for line in found.lines], found.complete


def offsets_between(reader: BlockReader) -> tuple[list[int], bool]:
    found = reader.lines_between("logs", 0, 0, 100)
    return [line.offset for line in found.lines], found.complete


def counted_offsets(reader: BlockReader) -> tuple[list[int], bool]:
    """Take each line for the bucket of time that it is counted in."""
    found = reader.count(CountQuery(by=("time",), bucket_ms=1_000))
    return [int(row.key[0]) // 1_000 for row in found.rows for _ in range(row.lines)], found.complete


QUESTIONS: list[Question] = [newest_offsets, matching_offsets, offsets_between, counted_offsets]


def trial(random: Random, question: Question, *, grace_s: float = 20.0) -> str:
    sink = RacingSink(random, grace_s=grace_s, longest_call_s=random.choice([0.2, 1.0, 3.0]))
    for _ in range(random.randint(0, 6)):
        sink.find_blocks(BlockFilter())
    reader = BlockReader(sink, cache_bytes=0, clock=sink.clock, page_blocks=random.choice([1, 2, 128]))
    try:
        offsets, is_complete = question(reader)
    except SinkBusy:
        return "busy"
    if not is_complete:
        return "cut"
    times = Counter(offsets)
    return "missed" if set(times) < set(EVERY) else "twice" if max(times.values()) > 1 else "right"


def race(question: Question, trials: int, *, grace_s: float = 20.0) -> Counter[str]:
    return Counter(trial(Random(seed), question, grace_s=grace_s) for seed in range(trials))


@pytest.mark.parametrize("question", QUESTIONS)
def test_readers_see_every_line_once_while_blocks_are_merged(question: Question) -> None:
    outcomes = race(question, 100)
    assert outcomes.keys() <= {"right", "cut"}
    assert outcomes["right"] > 50, outcomes


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_race_finds_that_inner_blocks_are_counted_too(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    def every_block(ids: Sequence[BlockId]) -> NDArray[np.int64]:
        return np.arange(len(ids))

    def not_shared(heads: Heads, of: object = None) -> NDArray[np.bool_]:
        del of
        return np.zeros(heads.size, np.bool_)

    for module in ("newest", "matching", "between", "counting"):
        monkeypatch.setattr(f"sinks.reading.{module}.outer_blocks", every_block)
    monkeypatch.setattr("sinks.reading.union.sharing_blocks", not_shared)
    monkeypatch.setattr("sinks.reading.counting.sharing_blocks", not_shared)
    assert race(question, 60)["twice"]


def test_the_race_finds_that_a_listed_block_is_passed_over_when_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_what_is_there(
        self: Snapshot, ids: Sequence[BlockId], columns: Sequence[ColumnName], literals: Collection[str], into: dict[BlockId, object]
    ) -> None:
        there = [one for one in ids if one in self._sink.read_columns(ids, columns)]
        try:
            fetch(self, there, columns, literals, into)  # type: ignore[arg-type]
        except BeginAnew:
            return

    fetch = Snapshot._fetch  # noqa: SLF001
    assert race(newest_offsets, 150, grace_s=0.0).keys() <= {"right", "cut", "busy", "missed"}
    monkeypatch.setattr(Snapshot, "_fetch", read_what_is_there)
    assert race(offsets_between, 150, grace_s=0.0)["missed"]


def test_the_race_finds_windows_by_the_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(self: Snapshot, only: BlockFilter, limit: int | None = None) -> FoundBlocks:
        found = find_overlapping(self, only, limit)
        if only.until_ms is None or not found.is_all:
            return found
        return found._replace(heads=found.heads.select(np.flatnonzero(found.heads.last_ms < only.until_ms)))

    find_overlapping = Snapshot.find
    # Where blocks are deleted at once, some reads miss one anyway: the two shards differ.
    missed = race(newest_offsets, 200, grace_s=0.0)["missed"]
    monkeypatch.setattr(Snapshot, "find", find)
    assert race(newest_offsets, 200, grace_s=0.0)["missed"] > missed + 3
