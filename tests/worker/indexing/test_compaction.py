"""Compaction of runs that have ended: each run by itself, whatever other runs hold."""

from sinks.block import BlockPlace
from tests.fakes.sink import FakeSink
from tests.sinks.blocks import block, line, run
from worker.indexing.compaction import GRACE_S, Compactor

PLACE = BlockPlace("logs", "0a0b0c0d", 0)


def compact(sink: FakeSink) -> None:
    """Compact twice, with the grace between, so that what may go has gone."""
    now_s = [0.0]
    compactor = Compactor(sink, clock=lambda: now_s[0], date_ms=lambda: 0.0)
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


def test_blocks_of_two_runs_are_never_merged_with_each_other() -> None:
    sink = FakeSink()
    sink.open()
    sink.write_blocks([block([line(offset)], run(number), offset) for number in (1, 2) for offset in range(3)])
    compact(sink)
    assert sorted((one.run, one.first, one.last) for one in sink.blocks) == [(run(1), 0, 2), (run(2), 0, 2)]
    assert all(one.lines == 3 for one in sink.blocks.values())
