"""Compaction of runs that have ended: each run by itself, whatever other runs hold."""

import pytest

from sinks.block import BlockPlace
from sinks.sink import BlockFilter, FoundBlocks
from tests.fakes.sink import FakeSink
from tests.world import block, line, run
from worker.indexing.compaction import GRACE_S, Compacted, Compactor
from worker.runtime.surroundings import Surroundings

PLACE = BlockPlace("logs", "0a0b0c0d", 0)


def compact(sink: FakeSink) -> None:
    """Compact twice, with the grace between, so that what may go has gone."""
    now_s = [0.0]
    compactor = Compactor(sink, Surroundings(clock=lambda: now_s[0]))
    for _ in range(2):
        compactor.compact(PLACE)
        now_s[0] += GRACE_S + 1
        compactor.delete_due()


def test_a_block_whose_lines_another_run_has_under_wider_numbers_stays() -> None:
    sink = FakeSink()
    sink.open()
    copies = [block([line(0)], run(1)), block([line(0), line(1)], run(2), 0, 1)]
    sink.write_blocks(copies)
    compact(sink)
    assert sink.blocks.keys() == {one.id for one in copies}
    assert sink.deleted == []


@pytest.mark.parametrize("damage", [b"", b"no frame"])
def test_inner_blocks_stay_while_the_one_that_stands_for_them_cannot_be_read(damage: bytes) -> None:
    sink = FakeSink()
    sink.open()
    inner = [block([line(offset)], run(1), offset) for offset in range(2)]
    outer = block([line(0), line(1)], run(1), 0, 1)
    sink.write_blocks([*inner, outer, *(block([line(offset)], run(1), offset) for offset in (2, 3))])
    sink.blocks[outer.id] = outer._replace(places=damage)
    compactor = Compactor(sink, Surroundings(clock=lambda: 0.0))
    done = compactor.compact(PLACE)
    assert (done.inner, done.damaged, done.merged) == (0, 1, 1), "the blocks behind it are merged all the same"
    assert {one.id for one in inner}.isdisjoint(compactor.deletions.due(GRACE_S))
    sink.blocks[outer.id] = outer
    assert compactor.compact(PLACE).inner == 2 + 2
    assert {one.id for one in inner} <= set(compactor.deletions.due(GRACE_S))


def test_inner_blocks_stay_if_the_one_that_stands_for_them_is_gone_before_it_is_looked_at() -> None:
    inner = [block([line(offset)], run(1), offset) for offset in range(2)]
    outer = block([line(0), line(1)], run(1), 0, 1)

    class LosingSink(FakeSink):
        def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
            found = super().find_blocks(only, limit=limit, strong=strong)
            self.blocks.pop(outer.id, None)
            return found

    sink = LosingSink()
    sink.open()
    sink.write_blocks([*inner, outer])
    compactor = Compactor(sink, Surroundings(clock=lambda: 0.0))
    assert compactor.compact(PLACE) == Compacted(sources=0, merged=0, inner=0)
    assert len(compactor.deletions) == 0


def test_blocks_of_two_runs_are_never_merged_with_each_other() -> None:
    sink = FakeSink()
    sink.open()
    sink.write_blocks([block([line(offset)], run(number), offset) for number in (1, 2) for offset in range(3)])
    compact(sink)
    assert sorted((one.run, one.first, one.last) for one in sink.blocks) == [(run(1), 0, 2), (run(2), 0, 2)]
    assert all(one.lines == 3 for one in sink.blocks.values())
