"""When the store step closes blocks: lines wait for others, not long and not in vain, and are built in turns."""

from collections.abc import Mapping

import numpy as np
import pytest

from consumers.record import Partition
from sinks.block import BlockPlace
from sinks.lines import lines_of
from tests.consumers.records import admit_batch
from tests.worker.chain import FLUSH_S, Chain
from tests.worker.chain_values import record
from tests.worker.conftest import NewChain
from tests.world import line
from worker.indexing.line_batch import LineBatch, StoreItem
from worker.runtime.lane import Lane
from worker.runtime.stage import Abandoned, Meter


def test_lines_wait_for_others_but_not_longer_than_the_flush_time(chain: Chain) -> None:
    chain.feed("disk full")
    chain.embed()
    chain.take_to_store()
    chain.store_step.flush()
    chain.now_s += FLUSH_S - 0.01
    chain.feed("disk full")
    chain.take_to_store()
    chain.store_step.flush()
    assert (len(chain.sink.blocks), chain.store_step.waiting_lines, chain.committable()) == (0, 2, None)
    chain.now_s += 0.02
    chain.store_step.flush()
    assert [block.lines for block in chain.sink.blocks.values()] == [2]
    assert (chain.store_step.waiting_lines, chain.committable()) == (0, 2)


@pytest.mark.parametrize(("blocks_per_s", "partitions", "waits_s"), [(4, 8, 2.0), (0.01, 1, 5.0)], ids=["many", "very many"])
def test_the_more_partitions_the_longer_lines_wait_so_that_few_small_blocks_are_written_but_never_above_five_seconds(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, blocks_per_s: float, partitions: int, waits_s: float
) -> None:
    monkeypatch.setattr("worker.indexing.store._BLOCKS_PER_S", blocks_per_s)
    chain.store_step.step([batch_of(chain, Partition("logs", number), 1) for number in range(1, partitions + 1)])
    chain.now_s += waits_s - 0.01
    chain.store_step.flush()
    assert chain.store_step.waiting_lines == partitions
    chain.now_s += 0.02
    chain.store_step.flush()
    assert chain.store_step.waiting_lines == 0


def test_a_full_block_does_not_wait(chain: Chain) -> None:
    chain.feed("disk full")
    chain.run()
    chain.feed(*["disk full"] * 1500)
    chain.take_to_store()
    chain.store_step.flush()
    assert [block.lines for block in chain.sink.blocks.values()] == [1, 1024]
    assert (chain.committable(), chain.store_step.waiting_lines) == (1025, 476)


def test_nothing_waits_that_the_intake_waits_for(new_chain: NewChain) -> None:
    chain = new_chain(cap_records=10)
    chain.feed("disk full", "disk full", "disk full", "disk full")
    chain.embed()
    chain.take_to_store()
    chain.store_step.flush()
    assert len(chain.sink.blocks) == 0, "there is room for more"
    waiting = chain.admit("disk full", "disk full")
    chain.store_step.flush()
    assert len(chain.sink.blocks) == 0, "more is on its way"
    chain.prepare.step(waiting)
    chain.take_to_store()
    chain.store_step.flush()
    assert chain.committable() == 6, "there is no room, and all that is open waits here"


def test_lines_wait_for_no_others_when_none_are_on_their_way(chain: Chain) -> None:
    chain.feed("disk full", "disk full")
    chain.embed()
    chain.take_to_store()
    on_its_way = chain.admit("disk full")
    chain.store_step.flush(is_idle=True)
    assert len(chain.sink.blocks) == 0
    chain.prepare.step(on_its_way)
    chain.take_to_store()
    chain.store_step.flush()
    assert len(chain.sink.blocks) == 0, "more may come at once"
    chain.store_step.flush(is_idle=True)
    assert chain.committable() == 3


class LaneInTime(Lane[StoreItem]):
    """Gives what it is told at its time, and nothing when nothing comes for `timeout_s` and a millisecond, in a chain's time."""

    def __init__(self, chain: Chain, arrivals: Mapping[float, LineBatch | None]) -> None:
        super().__init__("store")
        self._chain = chain
        self._arrivals = dict(sorted(arrivals.items()))

    def take(self, most: int, *, wait: bool = True, timeout_s: float | None = None) -> list[StoreItem] | None:
        assert most
        assert wait
        assert timeout_s
        if not self._arrivals:
            return None
        at_s = next(iter(self._arrivals))
        until_s = min(at_s, self._chain.now_s + timeout_s + 0.001)
        self._chain.now_s = until_s
        given = self._arrivals.pop(at_s) if until_s == at_s else None
        return [] if given is None else [given]


def closed_at(chain: Chain, arrivals: Mapping[float, LineBatch | None]) -> list[tuple[float, int]]:
    """Run the store step's loop; return when each write of blocks began, and how many lines it had. None: a wait is over just then."""
    written: list[tuple[float, int]] = []
    chain.sink.on_write = lambda rows: written.append((round(chain.now_s, 6), sum(getattr(one, "lines", 0) for one in rows)))
    lane = LaneInTime(chain, arrivals)
    lane.abandon()  # what waits at the end is not written
    chain.store_step.body(lane, Meter())
    return written


def test_a_line_that_comes_alone_is_written_after_a_tenth_of_a_second(chain: Chain) -> None:
    one = batch_of(chain, Partition("logs", 1), 1)
    assert closed_at(chain, {100.0: one, 101.0: one.take(np.arange(0))}) == [(100.101, 1)]


def test_a_thread_whose_wait_is_over_just_after_another_took_a_line_does_not_write_it_yet(chain: Chain) -> None:
    one = batch_of(chain, Partition("logs", 1), 1)
    assert closed_at(chain, {100.0: one, 100.02: None, 101.0: one.take(np.arange(0))}) == [(100.121, 1)]


def test_lines_that_come_every_twentieth_of_a_second_wait_for_each_other(chain: Chain) -> None:
    batch = batch_of(chain, Partition("logs", 1), 8)
    arrivals = {100.0 + number / 20: batch.take(np.array([number])) for number in range(8)}
    assert closed_at(chain, arrivals | {102.0: batch.take(np.arange(0))}) == [(100.451, 8)]


def test_lines_of_many_partitions_are_not_written_early(chain: Chain) -> None:
    batches = [batch_of(chain, Partition("logs", number), 1) for number in range(1, 18)]
    arrivals = {100.0 + number / 1000: batch for number, batch in enumerate(batches)}
    written = closed_at(chain, arrivals | {102.0: batches[0].take(np.arange(0))})
    assert (written[0][0] - 100.0) == pytest.approx(FLUSH_S, abs=0.11)
    assert sum(lines for _, lines in written) == 17


def test_when_decoded_bytes_reach_their_cap_nothing_waits(new_chain: NewChain) -> None:
    chain = new_chain(cap_bytes=4096)
    chain.feed("disk full", "disk full")
    chain.embed()
    chain.admit("disk full")
    chain.take_to_store()
    assert not chain.ledger.has_decoded_room()
    chain.store_step.flush()
    assert chain.committable() == 2


def batch_of(chain: Chain, partition: Partition, size: int) -> LineBatch:
    """Take records of another partition in, and return their lines, of known templates, as prepare hands them on."""
    chain.ledger.assign([partition])
    receipt = admit_batch(chain.ledger, *(record(offset, b"x", partition=partition) for offset in range(size)))
    receipt.expect(np.arange(size), np.ones(size, np.int64), np.full(size, 10))
    chain.runs.begin(receipt.assignment, BlockPlace(*partition[:1], "e1", *partition[1:]), "")
    return LineBatch(receipt.assignment, receipt.arrival, lines_of([line(offset) for offset in range(size)]))


def test_lines_of_many_partitions_in_one_list_go_into_blocks_of_their_own(chain: Chain) -> None:
    partitions = [Partition("logs", number) for number in range(1, 6)]
    batches = [batch_of(chain, partition, 4) for partition in partitions]
    halves = [batch.take(rows) for rows in (np.arange(2), np.arange(2, 4)) for batch in batches]
    chain.ledger.revoke(partitions[:1])
    chain.store_step.step(halves)
    chain.store_step.flush(everything=True)
    assert sorted((one.id.place.partition, one.lines) for one in chain.sink.blocks.values()) == [(number, 4) for number in range(2, 6)]
    assert chain.ledger.committable() == dict.fromkeys(partitions[1:], 4)
    assert (chain.ledger.open_bytes, chain.ledger.decoded_bytes) == (0, 0)


def test_lines_leave_their_run_only_when_they_can_be_sent(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the sink is busy, what waits is not encoded and held a second time."""
    monkeypatch.setattr("worker.indexing.block_writer._CALL_BYTES", 1)
    monkeypatch.setattr("worker.indexing.store._TURN_RUNS", 1)
    chain.store_step.step([batch_of(chain, Partition("logs", number), 3) for number in range(1, 6)])
    chain.sink.busy_calls = 10**9
    chain.give_up_after = 3
    with pytest.raises(Abandoned):
        chain.store_step.flush(everything=True)
    assert chain.store_step.waiting_lines >= 3 * 3


def test_small_blocks_of_many_partitions_are_built_in_few_turns_and_a_turn_is_bounded(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.indexing.store._TURN_RUNS", 4)
    monkeypatch.setattr("worker.indexing.store._STEP_LINES", 12)
    sizes = [3] * 6 + [12] + [3] * 3
    chain.store_step.step([batch_of(chain, Partition("logs", number), size) for number, size in enumerate(sizes, start=1)])
    before = chain.computing.turns
    chain.store_step.flush(everything=True)
    assert chain.store_step.waiting_lines == 0
    # Four of three lines; two and the one of twelve; the last three.
    assert chain.computing.turns - before == 3
