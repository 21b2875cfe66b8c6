"""Upkeep that the sink refuses: a chore that always fails holds up no other, and what waits for it is bounded."""

from collections.abc import Callable, Collection, Sequence

import pytest

from consumers.record import Partition
from sinks.block import Block, BlockId
from sinks.sink import BlockFilter, FoundBlocks, SinkBusy
from tests.consumers.records import admit_batch
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS, record
from tests.worker.indexing.test_store import Rows
from tests.worker.indexing.test_upkeep import ranges, store_singly, turn
from worker.indexing.compaction import GRACE_S
from worker.indexing.upkeep import BUSY_S, EARLIER_RUNS_S, EVERY_S
from worker.runtime.retry import REMIND_S

OTHERS = [Partition("logs", number) for number in (1, 2)]


def refuse_merged(chain: Chain, *, takes_s: float = 0.0) -> list[Sequence[BlockId]]:
    """Let a role insert and not upsert; returns the ids of each call that is refused, `takes_s` after it was made."""
    refused: list[Sequence[BlockId]] = []

    def upsert(rows: Rows) -> None:
        merged = [row.id for row in rows if isinstance(row, Block) and row.id.first < row.id.last]
        if merged:
            refused.append(merged)
            chain.now_s += takes_s
            raise SinkBusy("may not upsert")

    chain.sink.on_write = upsert
    return refused


def refuse_to_delete(chain: Chain, monkeypatch: pytest.MonkeyPatch, *, takes_s: float = 0.0) -> list[int]:
    """Let a role write and not delete; returns how many blocks each refused call names."""
    refused: list[int] = []

    def delete(ids: Collection[BlockId]) -> None:
        refused.append(len(ids))
        chain.now_s += takes_s
        raise SinkBusy("may not delete")

    monkeypatch.setattr(chain.sink, "delete_blocks", delete)
    return refused


def listed(chain: Chain, monkeypatch: pytest.MonkeyPatch, fails: Callable[[int | None], bool]) -> list[int | None]:
    """Let the sink time out when it lists the blocks of some partitions; returns the partitions whose blocks were asked for."""
    asked: list[int | None] = []
    find_blocks = chain.sink.find_blocks

    def find(only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        asked.append(only.partition)
        if fails(only.partition):
            raise SinkBusy("timed out")
        return find_blocks(only, limit=limit, strong=strong)

    monkeypatch.setattr(chain.sink, "find_blocks", find)
    return asked


def assign_three(chain: Chain) -> None:
    """Give the worker three partitions with a run each."""
    chain.ledger.assign(OTHERS)
    chain.feed("disk full")
    for partition in OTHERS:
        chain.prepare.step([admit_batch(chain.ledger, record(0, b"disk full", partition=partition))])
    chain.run()


def said_of(chain: Chain, chore: str) -> list[str]:
    return [line for line in chain.said if line.startswith(chore)]


def assert_vanished_templates_are_noticed(chain: Chain) -> None:
    """Let all templates vanish; the look of the next minute must see it."""
    chain.sink.templates.clear()
    turn(chain, 61.0)
    turn(chain)
    assert said_of(chain, "template ")


def tails_bytes(chain: Chain) -> int:
    return sum(run.tail.size_bytes for run in chain.runs.all())


def test_small_blocks_are_bounded_in_memory_while_merged_ones_are_refused(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    bound_bytes = 12 * 3000
    monkeypatch.setattr("worker.indexing.upkeep.TAIL_BYTES", bound_bytes)
    refused = refuse_merged(chain)
    store_singly(chain, 8)
    turn(chain)
    assert (len(refused), tails_bytes(chain) > 0) == (1, True)
    for _ in range(20):
        store_singly(chain, 3)
        turn(chain)
        assert tails_bytes(chain) <= bound_bytes
    assert len(refused) == 1 + 20 // BUSY_S
    assert len(set(map(tuple, refused))) == 1, "a merged block is sent again as it was"
    chain.sink.on_write = lambda _rows: None
    turn(chain, BUSY_S)
    assert (0, 7) in ranges(chain)
    assert len(chain.stored()) == 8 + 60


def test_small_blocks_are_bounded_in_memory_while_a_store_thread_holds_what_the_sink_refuses(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.indexing.upkeep.TAIL_BYTES", 100)
    chain.store_step.writes.retry.refused("planted", 1, chain.now_s)
    store_singly(chain, 1)
    chain.sink.calls.clear()
    turn(chain)
    assert (tails_bytes(chain), chain.sink.calls) == (0, [])


def test_small_blocks_are_bounded_in_memory_while_another_thread_waits_for_the_sink(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.indexing.upkeep.TAIL_BYTES", 8 * 3000)
    held_bytes: list[int] = []

    def slow(rows: Rows) -> None:
        if isinstance(rows[0], Block) and rows[0].id.last > rows[0].id.first:
            chain.sink.on_write = lambda _rows: None
            store_singly(chain, 8)
            held_bytes.append(tails_bytes(chain))
            turn(chain)
            held_bytes.append(tails_bytes(chain))

    store_singly(chain, 8)
    chain.sink.on_write = slow
    turn(chain)
    assert held_bytes[0] > 8 * 3000
    assert held_bytes[1:] == [0]


def test_while_merged_blocks_are_refused_all_else_is_done(chain: Chain) -> None:
    store_singly(chain, 8)
    turn(chain)
    refuse_merged(chain)
    store_singly(chain, 8)
    turn(chain)
    turn(chain, GRACE_S + 1)
    turn(chain)
    assert len(chain.sink.deleted) == 8
    assert_vanished_templates_are_noticed(chain)
    turn(chain, EARLIER_RUNS_S)
    turn(chain)
    assert all(run.is_compacted for run in chain.runs.all())


def test_while_deletes_are_refused_all_else_is_done(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = refuse_to_delete(chain, monkeypatch)
    store_singly(chain, 8)
    turn(chain)
    turn(chain, GRACE_S + 1)
    assert refused == [8]
    chain.sink.lifetime_s = 86_400.0
    turn(chain)
    assert chain.flights.sample_known(10) == []
    store_singly(chain, 8)
    assert_vanished_templates_are_noticed(chain)
    turn(chain, EARLIER_RUNS_S)
    turn(chain)
    assert all(run.is_compacted for run in chain.runs.all())
    assert (0, 7) in ranges(chain)
    assert (8, 15) in ranges(chain)


def test_blocks_that_may_not_be_deleted_are_given_up_beyond_a_bound_and_readers_ignore_them(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.indexing.upkeep.DELETIONS_KEPT", 10)
    refuse_to_delete(chain, monkeypatch)
    for _ in range(4):
        store_singly(chain, 8)
        turn(chain, GRACE_S + 1)
    turn(chain, GRACE_S + 1)
    assert len(chain.store_step.upkeep.compactor.deletions) == 10
    monkeypatch.undo()
    turn(chain, GRACE_S + 1)
    assert chain.sink.deleted == [one for one in chain.sink.written if one.first == one.last][-10:], "the latest are kept"
    assert len(chain.stored()) == 32


def test_templates_are_looked_up_while_nothing_that_expired_can_be_dropped(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    def drop() -> int:
        raise SinkBusy("may not delete")

    monkeypatch.setattr(chain.sink, "drop_expired", drop)
    store_singly(chain, 1)
    assert_vanished_templates_are_noticed(chain)


def test_a_partition_whose_blocks_cannot_be_listed_holds_up_no_other_and_is_tried_again(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    assign_three(chain)
    asked = listed(chain, monkeypatch, lambda partition: partition == LOGS.partition)
    turn(chain, EARLIER_RUNS_S)
    for _ in range(4):
        turn(chain, BUSY_S)
    assert asked == [0, 1, 2, 0, 0]
    assert_vanished_templates_are_noticed(chain)
    assert len(said_of(chain, "blocks of earlier runs cannot be merged (timed out)")) == 1, "others work, and it still fails"
    monkeypatch.undo()
    turn(chain, BUSY_S)
    turn(chain, EVERY_S)
    assert all(run.is_compacted for run in chain.runs.all())


def test_merged_blocks_that_are_refused_go_to_the_end_of_the_line(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.indexing.upkeep._MERGE_BYTES", 1)

    def refuse_the_first(rows: Rows) -> None:
        if isinstance(rows[0], Block) and (rows[0].id.first, rows[0].id.last) == (0, 7):
            raise SinkBusy("planted")

    store_singly(chain, 16)
    chain.runs.all()[0].forget_merge([one for one in chain.sink.blocks if one.first == 8])  # so there are two to merge
    store_singly(chain, 1)
    chain.sink.on_write = refuse_the_first
    turn(chain)
    assert (9, 16) not in ranges(chain)
    turn(chain, BUSY_S)
    assert (9, 16) in ranges(chain)
    assert (0, 7) not in ranges(chain)


def test_two_chores_that_time_out_hold_up_no_third_and_each_ends_its_turn(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    store_singly(chain, 8)
    turn(chain)
    chain.now_s += GRACE_S
    timed_out_s = 2 * BUSY_S
    merges = refuse_merged(chain, takes_s=timed_out_s)
    deletes = refuse_to_delete(chain, monkeypatch, takes_s=timed_out_s)
    store_singly(chain, 8)
    chain.sink.templates.clear()
    for _ in range(8):
        before = len(merges) + len(deletes)
        turn(chain)
        assert len(merges) + len(deletes) <= before + 1
        again = len(merges) + len(deletes)
        turn(chain, 0.0)
        assert len(merges) + len(deletes) == again, "a time-out is longer than a rest, and the thread has other work"
    assert min(len(merges), len(deletes)) >= 2
    assert said_of(chain, "template ")


def test_a_chore_rests_from_the_end_of_its_time_out(chain: Chain) -> None:
    refused = refuse_merged(chain, takes_s=2 * BUSY_S)
    store_singly(chain, 8)
    turn(chain)
    turn(chain, BUSY_S - 1)
    assert len(refused) == 1
    turn(chain, 1.0)
    assert len(refused) == 2


def test_what_comes_after_the_sink_became_busy_waits(chain: Chain) -> None:
    store_singly(chain, 8)
    chain.sink.on_write = lambda _rows: chain.store_step.writes.retry.refused("planted", 1, chain.now_s)
    chain.sink.calls.clear()
    turn(chain, 61.0)
    assert chain.sink.calls == ["write_blocks"]


def test_that_a_chore_fails_is_said_once_with_what_follows_and_again_after_it_worked(chain: Chain) -> None:
    refuse_merged(chain)
    store_singly(chain, 8)
    for _ in range(100):
        turn(chain)
    reason = "small blocks cannot be merged (may not upsert); they stay as they are, and searches read more blocks; trying again"
    assert chain.said == [reason]
    chain.sink.on_write = lambda _rows: None
    turn(chain, BUSY_S)
    refuse_merged(chain)
    store_singly(chain, 8)
    turn(chain)
    assert chain.said == [reason, reason]


def test_a_chore_that_fails_and_works_in_turns_is_a_line_a_minute(chain: Chain) -> None:
    began_s = chain.now_s
    for _ in range(20):
        refuse_merged(chain)
        store_singly(chain, 8)
        turn(chain)
        chain.sink.on_write = lambda _rows: None
        turn(chain, BUSY_S)
    assert chain.now_s - began_s >= 20 * (BUSY_S + EVERY_S)
    assert 2 <= len(chain.said) <= (chain.now_s - began_s) / REMIND_S + 1
