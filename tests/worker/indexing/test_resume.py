"""What is read back at the first record of an assignment, and what is passed over because of it.

`tests/properties/test_resume.py` compares with an oracle what is passed over.
"""

import threading
from collections.abc import Collection

import pytest

from consumers.record import Partition
from consumers.waiting_place import drop_ended
from sinks.block import Block, BlockPlace
from sinks.row import TemplateId
from sinks.sink import BlockFilter, FoundBlocks
from tests.fakes.sink import FakeSink
from tests.worker.indexing.resuming import EPOCH, NOW_MS, TOPIC, Resuming
from tests.world import DIM, TEMPLATE_TEXT, block, blocks, line, run
from worker.runtime.retry import BACK_OFF_S

PLACE = BlockPlace(TOPIC, EPOCH, 0)
OURS = f"{NOW_MS:012x}00000007"
"""The id of a run that begins now and knows of no other."""
WAIT_S = 20.0


def lines_block(*offsets: int, number: int = 1, first: int = 0, partition: int = 0) -> Block:
    """Return block `first` of run `number`, with a usual line at each offset."""
    return block([line(offset, partition=partition) for offset in offsets], run(number), first)


def resuming(*stored: Block, window_records: int = 1_000, sink: FakeSink | None = None) -> Resuming:
    """Return a worker behind an index of these blocks and the rows of their templates."""
    if sink is not None:
        sink.open()
    rig = Resuming(*stored, window_records=window_records, sink=sink)
    rig.store_templates(TEMPLATE_TEXT)
    rig.sink.calls.clear()
    return rig


def test_what_an_earlier_run_has_stored_is_passed_over_and_the_rest_is_not() -> None:
    rig = resuming(lines_block(5, 6, 8))
    assert rig.skipped(5, 6, 7, 8, 9) == [5, 6, 8]
    assert rig.passed == ["resume_read"]


def test_in_an_empty_index_one_look_is_enough_for_ever() -> None:
    rig = resuming()
    assert rig.skipped(5, 6) == []
    assert rig.reads() == 1
    assert rig.skipped(7, 8_000, 10**9) == []
    assert rig.reads() == 0
    assert rig.resume.tally.windows == 1


def test_windows_are_read_ahead_of_the_records_until_one_holds_nothing() -> None:
    rig = resuming(*blocks([line(offset) for offset in range(30)], 5), window_records=10)
    assert rig.skipped(*range(12, 16)) == list(range(12, 16))
    assert rig.reads() >= 1
    assert rig.skipped(*range(16, 22)) == list(range(16, 22))
    rig.reads()
    assert rig.skipped(*range(22, 40)) == list(range(22, 30))
    assert rig.resume.tally.windows == 3  # 12 … 21, 22 … 31, and 32 … 41, which holds nothing
    rig.reads()
    rig.store(lines_block(50, number=2))
    assert rig.skipped(50) == []
    assert rig.reads() == 0


def test_a_list_of_records_may_be_longer_than_a_window() -> None:
    rig = resuming(*blocks([line(offset) for offset in range(50)], 5), window_records=7)
    assert rig.skipped(*range(60)) == list(range(50))


def test_a_window_begins_at_a_record_so_a_gap_costs_nothing() -> None:
    rig = resuming(lines_block(1, 2), lines_block(10**9, 10**9 + 1, first=1), window_records=10)
    assert rig.skipped(1, 2, 10**9, 10**9 + 1, 10**9 + 2) == [1, 2, 10**9, 10**9 + 1]
    assert rig.resume.tally.windows == 2


def test_windows_that_are_left_behind_are_forgotten() -> None:
    rig = resuming(*blocks([line(offset) for offset in range(20)], 5), window_records=10)
    old = rig.admit(0)
    assert rig.resume.look_back([old])
    assert rig.skips(old, [line(0)]) == [True]
    assert rig.skipped(*range(1, 16)) == list(range(1, 16))
    assert rig.skipped(16) == [16]
    assert rig.skips(old, [line(0)]) == [False], "records come in order"
    assert rig.resume.has_windows(old.assignment)
    assert rig.skipped(10**6) == []
    assert not rig.resume.has_windows(old.assignment)


def test_an_entry_of_another_epoch_or_topic_or_partition_is_another_entry() -> None:
    rig = resuming(
        block([line(5, epoch="ffffffff")]), block([line(5, topic="logs2")]), block([line(5, partition=1)]), lines_block(5, partition=2)
    )
    assert rig.skipped(5) == []
    assert rig.skipped(5, partition=2) == [5]


def test_a_block_that_cannot_be_read_makes_nothing_of_its_slice_skipped() -> None:
    rig = resuming(lines_block(5, 6)._replace(places=b"damaged"), lines_block(6, 7, number=2))
    assert rig.skipped(5, 6, 7) == []


def test_the_run_of_an_assignment_begins_before_its_records_go_on_and_above_every_run_that_was_seen() -> None:
    later = f"{NOW_MS + 60_000:012x}ffffffff"
    rig = resuming(block([line(5)], run(1)), block([line(6)], later))
    first, second = rig.admit(5), rig.admit(5, partition=1)
    assert rig.resume.look_back([first, second])
    assert rig.run_id(first) > later
    assert rig.run_id(second) == OURS


def test_a_later_run_that_comes_in_sight_begins_another_run() -> None:
    """The process before us had a clock an hour ahead: what we write must hold against what it wrote further on."""
    later = f"{NOW_MS + 3_600_000:012x}ffffffff"
    rig = resuming(lines_block(5), block([line(16)], run(2)), block([line(27)], later), window_records=10)
    first = rig.admit(5)
    assert rig.resume.look_back([first])
    assert rig.run_id(first) == OURS
    assert rig.resume.look_back([rig.admit(15)])
    assert rig.run_id(first) == OURS, "run 2 is below ours, so ours goes on"
    assert rig.resume.look_back([rig.admit(25)])
    assert rig.run_id(first) > later


def test_each_assignment_is_read_back_anew() -> None:
    rig = resuming()
    assert rig.skipped(5) == []
    old = rig.admit(6)
    rig.store(lines_block(5, 6))
    rig.begin_again(0)
    assert rig.skipped(5, 6) == [5, 6]
    assert not rig.resume.has_windows(old.assignment)
    assert rig.skips(old, [line(6)]) == [False]


def test_records_of_a_dead_assignment_are_not_looked_up() -> None:
    rig = resuming()
    receipt = rig.admit(5)
    rig.ledger.revoke([Partition(TOPIC, 0)])
    assert rig.resume.look_back([receipt])
    assert rig.sink.calls == []


def test_what_is_kept_of_dead_assignments_is_dropped() -> None:
    rig = resuming(lines_block(5))
    for _ in range(5):
        assert rig.skipped(5) == [5]
        rig.begin_again(0)
        drop_ended([rig.resume])
        assert len(rig.resume.assignments()) == 0


def test_it_waits_for_this_processs_own_writes_before_it_reads() -> None:
    rig = resuming()
    rig.runs.writes_begin(PLACE)
    receipt = rig.admit(5)
    looked: list[bool] = []
    thread = threading.Thread(target=lambda: looked.append(rig.resume.look_back([receipt])), daemon=True)
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    assert "find_blocks" not in rig.sink.calls
    rig.store(lines_block(5))
    rig.runs.writes_end([PLACE])
    thread.join(WAIT_S)
    assert looked == [True]
    assert rig.skips(receipt, [line(5)]) == [True]


def test_a_hard_stop_ends_the_wait_for_own_writes() -> None:
    rig = resuming()
    rig.give_up_after = 2
    rig.runs.writes_begin(PLACE)
    assert not rig.resume.look_back([rig.admit(5)])


def test_a_partition_that_is_lost_meanwhile_is_waited_for_no_longer() -> None:
    rig = resuming()
    rig.runs.writes_begin(PLACE)
    receipt = rig.admit(5)
    rig.on_pause = lambda: rig.ledger.revoke([Partition(TOPIC, 0)])
    assert rig.resume.look_back([receipt])


def test_a_busy_sink_is_asked_again_until_it_answers_and_said_once() -> None:
    rig = resuming(lines_block(5))
    rig.sink.busy_calls = 9
    assert rig.skipped(5, 6) == [5]
    assert rig.pauses == [*BACK_OFF_S, *[BACK_OFF_S[-1]] * 3]
    assert len(rig.said) == 2
    assert "busy" in rig.said[0]
    assert f"after {sum(rig.pauses):.0f} s" in rig.said[1]


@pytest.mark.parametrize("call", ["find_blocks", "read_columns", "templates.stored"])
def test_whatever_the_sink_does_not_answer_is_asked_again(call: str) -> None:
    sink = BusyOnce(call)
    rig = resuming(lines_block(5), sink=sink)
    assert rig.skipped(5, 6) == [5]
    assert sink.calls.count(call) >= 2


class BusyOnce(FakeSink):
    """Busy at the first of one kind of calls."""

    def __init__(self, call: str) -> None:
        super().__init__(DIM)
        self._call = call

    def begin(self, call: str, *, needs_open: bool = True) -> None:
        if call == self._call:
            self._call, self.busy_calls = "", 1
        super().begin(call, needs_open=needs_open)


class StrongOnly(FakeSink):
    """Says nothing to those who do not ask at Strong."""

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        return super().find_blocks(only if strong else only._replace(templates=()), limit=limit)


def test_it_reads_at_strong() -> None:
    assert resuming(lines_block(5), sink=StrongOnly(DIM)).skipped(5) == [5]


def test_a_window_ends_early_where_entries_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record may have ten thousand entries: what is kept is bounded by entries, not by offsets."""
    monkeypatch.setattr("worker.indexing.resume._SLICE_PIECES", 20)
    stored = [block([line(offset, sub=sub) for sub in range(10)], run(1), offset) for offset in range(40)]
    rig = resuming(*stored, window_records=50)
    first = rig.admit(0)
    assert rig.resume.look_back([first])
    assert 50 <= rig.resume.tally.read_entries < 100
    rest = rig.admit(*range(1, 40))
    assert rig.resume.look_back([first, rest])
    assert all(rig.skips(rest, [line(offset, sub=sub) for offset in range(1, 40) for sub in range(10)]))


def test_while_many_partitions_are_read_back_their_windows_are_shorter() -> None:
    stored = [block([line(offset, partition=partition) for offset in range(128)], run(1)) for partition in range(8)]
    rig = resuming(*stored, window_records=64)
    kept: list[int] = []
    for partition in range(8):
        before = rig.resume.tally.read_entries
        assert rig.resume.look_back([rig.admit(0, partition=partition)])
        kept.append(rig.resume.tally.read_entries - before)
    assert kept == [64] + [1] * 7


def test_its_work_is_counted() -> None:
    rig = resuming(lines_block(5, 6, 7))
    rig.sink.busy_calls = 1
    rig.skipped(5, 6)
    tally = rig.resume.tally
    assert (tally.windows, tally.read_entries) == (1, 3)
    assert tally.seconds == pytest.approx(sum(rig.pauses))


def asked_templates(sink: FakeSink) -> list[Collection[TemplateId]]:
    """Note for which templates a sink is asked from now on."""
    asked: list[Collection[TemplateId]] = []
    stored_templates = sink.templates.stored

    def ask(templates: Collection[TemplateId]) -> set[TemplateId]:
        asked.append(list(templates))
        return stored_templates(templates)

    sink.templates.stored = ask  # type: ignore[method-assign]
    return asked


def test_a_template_is_asked_for_once_a_slice() -> None:
    rig = resuming(*blocks([line(offset) for offset in range(500)], 100))
    asked = asked_templates(rig.sink)
    assert len(rig.skipped(*range(500))) == 500
    assert [len(one) for one in asked] == [1]
