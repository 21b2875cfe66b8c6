"""Upkeep: small blocks are merged, inner ones deleted when no reader can need them, and lost templates noticed."""

import pytest

from sinks.block import Block
from sinks.sink import SinkBusy
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS
from tests.worker.indexing.test_store import Rows
from worker.indexing.compaction import GRACE_S, Compactor
from worker.indexing.merging import QUIET_S
from worker.indexing.upkeep import EARLIER_RUNS_S, EVERY_S


def store_singly(chain: Chain, count: int) -> None:
    """Store lines of one template, each in a block of its own."""
    for _ in range(count):
        chain.feed("disk full")
        chain.run()


def turn(chain: Chain, after_s: float = EVERY_S) -> None:
    """Let time pass, then let a store thread do what is due."""
    chain.now_s += after_s
    chain.store_step.upkeep.turn()


def ranges(chain: Chain) -> list[tuple[int, int]]:
    return sorted((one.first, one.last) for one in chain.sink.blocks)


def test_eight_small_blocks_become_one_and_go_when_no_reader_can_need_them(chain: Chain) -> None:
    store_singly(chain, 8)
    turn(chain)
    assert ranges(chain) == [(0, 0), (0, 7), *((number, number) for number in range(1, 8))]
    turn(chain, GRACE_S - 1)
    assert len(chain.sink.blocks) == 9
    turn(chain, 2.0)
    assert ranges(chain) == [(0, 7)]
    assert len(chain.stored()) == 8
    tally = chain.store_step.tally
    assert (tally.merged, tally.sources, tally.deleted) == (1, 8, 8)
    assert tally.upkeep_seconds >= 0


def test_nothing_is_merged_over_a_block_that_is_not_acknowledged(chain: Chain) -> None:
    store_singly(chain, 4)

    def away(_rows: Rows) -> None:
        chain.sink.on_write = lambda _rows: None
        chain.ledger.revoke([])
        turn(chain, QUIET_S + 1)
        raise SinkBusy("planted")

    chain.sink.on_write = away
    store_singly(chain, 1)
    assert not any(one.first < 4 < one.last for one in chain.sink.written)


def test_a_merged_block_whose_answer_was_lost_is_sent_again_as_it_was(chain: Chain) -> None:
    store_singly(chain, 8)
    chain.sink.lost_acknowledgements = 1
    turn(chain)
    assert chain.store_step.tally.merged == 0
    merged = chain.sink.written[-1]
    assert (merged.first, merged.last) == (0, 7)
    turn(chain, GRACE_S + 5)
    assert chain.sink.written[-1] == merged, "the fake checks the content"
    assert len(chain.sink.deleted) == 0, "its sources go 20 s after it was acknowledged, not after it was sent"
    turn(chain, GRACE_S + 1)
    assert ranges(chain) == [(0, 7)]


def test_a_merged_block_that_is_refused_leaves_its_sources(chain: Chain) -> None:
    store_singly(chain, 8)
    chain.sink.rejects = lambda block: block.lines > 1
    turn(chain)
    turn(chain, QUIET_S)
    turn(chain, GRACE_S + 1)
    assert len(chain.sink.blocks) == 8
    assert chain.sink.deleted == []
    assert chain.letters.posted == []


def test_when_a_partition_is_lost_nothing_of_it_is_merged_any_more(chain: Chain) -> None:
    store_singly(chain, 8)
    chain.ledger.revoke([LOGS])
    turn(chain)
    assert len(chain.sink.blocks) == 8


def test_the_runs_before_it_are_merged_once_by_the_owner_minutes_after_its_assignment(chain: Chain) -> None:
    store_singly(chain, 3)
    chain.ledger.revoke([LOGS])
    chain.ledger.assign([LOGS])
    store_singly(chain, 1)
    earlier, own = sorted({one.run for one in chain.sink.blocks})
    turn(chain, EARLIER_RUNS_S - 5)
    assert len(chain.sink.blocks) == 4
    turn(chain, 10.0)
    assert {(one.first, one.last) for one in chain.sink.blocks if one.run == earlier} == {(0, 0), (1, 1), (2, 2), (0, 2)}
    turn(chain, GRACE_S + 1)
    assert {(one.run, one.first, one.last) for one in chain.sink.blocks} == {(earlier, 0, 2), (own, 0, 0)}
    chain.sink.calls.clear()
    turn(chain, EARLIER_RUNS_S)
    assert "find_blocks" not in chain.sink.calls


def test_small_blocks_beyond_the_bound_of_memory_are_left_to_the_next_owner(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.indexing.upkeep.TAIL_BYTES", 100)
    store_singly(chain, 5)
    turn(chain)
    (run,) = chain.runs.all()
    assert run.tail.size_bytes == 0
    turn(chain, QUIET_S)
    assert len(chain.sink.blocks) == 5


def test_when_a_known_template_is_gone_all_are_written_again(chain: Chain) -> None:
    chain.feed("disk full", "network down")
    chain.run()
    chain.sink.templates.clear()
    turn(chain, 61.0)
    assert [line.split(" is gone")[0].split()[0] for line in chain.said] == ["template"]
    chain.feed("disk full", "network down")
    chain.run()
    assert set(chain.sink.templates) == {chain.template("disk full"), chain.template("network down")}


def test_when_the_retention_changes_no_template_is_known_any_more(chain: Chain) -> None:
    chain.feed("disk full")
    chain.run()
    chain.sink.lifetime_s = 86_400.0
    turn(chain)
    assert chain.flights.sample_known(10) == []


def test_what_is_older_than_the_retention_is_dropped_within_a_minute(chain: Chain) -> None:
    chain.sink.lifetime_s = 120.0
    store_singly(chain, 1)
    turn(chain, 61.0)
    store_singly(chain, 1)
    assert ranges(chain) == [(0, 0), (1, 1)]
    turn(chain, 61.0)
    assert ranges(chain) == [(1, 1)]


def test_a_deletion_that_fails_is_tried_again(chain: Chain) -> None:
    store_singly(chain, 8)
    turn(chain)
    chain.sink.lost_acknowledgements = 1
    turn(chain, GRACE_S + 1)
    assert chain.store_step.tally.deleted == 0
    turn(chain, 6.0)
    assert chain.store_step.tally.deleted == 8
    assert ranges(chain) == [(0, 7)]


def test_the_tool_merges_all_runs_and_two_who_do_it_at_once_write_the_same(chain: Chain) -> None:
    store_singly(chain, 5)
    chain.ledger.revoke([LOGS])
    chain.ledger.assign([LOGS])
    store_singly(chain, 3)
    place = chain.runs.all()[0].place
    one, other = (Compactor(chain.sink, chain.surroundings) for _ in "12")
    blocks: list[Block] = []

    def let_the_other_go_first(_rows: Rows) -> None:
        if not blocks:
            blocks.append(chain.sink.blocks[chain.sink.written[0]])
            other.compact(place)

    chain.sink.on_write = let_the_other_go_first
    done = one.compact(place)
    assert (done.merged, done.sources, done.damaged) == (2, 8, 0)
    chain.now_s += GRACE_S + 1
    assert one.delete_due() == 8
    assert other.delete_due() == 8, "what is not there any more is no error"
    assert sorted((at.first, at.last) for at in chain.sink.blocks) == [(0, 2), (0, 4)]
    assert len(chain.stored()) == 8
    assert one.compact(place) == (0, 0, 0, 0)


def test_a_block_that_cannot_be_read_is_left_alone_and_counted(chain: Chain) -> None:
    store_singly(chain, 3)
    first = chain.sink.written[1]
    chain.sink.blocks[first] = chain.sink.blocks[first]._replace(places=b"!")
    tool = Compactor(chain.sink, chain.surroundings)
    assert tool.compact(chain.runs.all()[0].place).damaged == 1
    assert len(chain.sink.blocks) == 3
