"""Entries are written whole, in runs of their own that span few offsets and are above what is stored."""

import numpy as np

from sinks.block import Block
from tests.worker.inspecting.audited_index import AuditedIndex, lines_in, own_line
from tests.world import line
from worker.inspecting.entry_writer import SPAN_OFFSETS, entry_of


def test_a_block_spans_few_offsets_and_each_span_is_a_run(audited: AuditedIndex) -> None:
    wanted = [own_line(offset) for offset in (0, 1, SPAN_OFFSETS - 1, SPAN_OFFSETS, 5 * SPAN_OFFSETS, 6 * SPAN_OFFSETS - 1)]
    assert audited.entry_writer.write_entries(wanted[::-1], audited.origin()) == {}
    assert audited.lines() == wanted
    blocks = audited.sink.blocks.values()
    assert sorted([one.offset for one in lines_in(block)] for block in blocks) == [
        [0, 1, SPAN_OFFSETS - 1], [SPAN_OFFSETS], [5 * SPAN_OFFSETS, 6 * SPAN_OFFSETS - 1],
    ]  # fmt: skip
    assert len({block.id.run for block in blocks}) == 3


def test_an_entry_of_several_records_is_covered_by_its_span(audited: AuditedIndex) -> None:
    audited.entry_writer.write_entries([own_line(0), own_line(SPAN_OFFSETS - 1, records=2)], audited.origin())
    assert len(audited.sink.blocks) == 2


def test_what_is_written_holds_over_every_run_that_is_stored_even_of_a_clock_ahead(audited: AuditedIndex) -> None:
    late = f"{audited.wall_ms() + 86_400_000:012x}{9:08x}"
    audited.store(own_line(3, text="old"), run=int(late[:12], 16))
    audited.entry_writer.write_entries([own_line(3, text="new")], audited.origin())
    assert [one.text for one in audited.lines()] == ["new"]
    assert audited.window().copies == 1


def test_lines_of_several_partitions_and_epochs_go_into_blocks_of_their_own(audited: AuditedIndex) -> None:
    wanted = [own_line(3), own_line(3, partition=1), line(3), own_line(3, topic="more")]
    audited.entry_writer.write_entries(wanted, audited.origin())
    assert sorted(one for block in audited.sink.blocks.values() for one in lines_in(block)) == sorted(wanted)
    assert len(audited.sink.blocks) == 4


def test_a_block_whose_answer_was_lost_is_sent_again_and_not_inserted_twice(audited: AuditedIndex) -> None:
    audited.sink.lost_acknowledgements = 2
    audited.entry_writer.write_entries([own_line(3)], audited.origin())
    assert len(audited.sink.written) == 3
    assert len(set(audited.sink.written)) == 1


def test_refused_blocks_are_split_by_entries_under_other_runs(audited: AuditedIndex) -> None:
    chunks = [own_line(5, chunk=chunk, chunks=3, cut=1, text=f"part {chunk}") for chunk in range(3)]
    wanted = [own_line(3), own_line(4), *chunks, own_line(6), own_line(6, sub=1)]
    tried: list[str] = []
    refused_lines = {"line 4", "part 1"}

    def is_refused(block: Block) -> bool:
        tried.append(block.id.run)
        return not refused_lines.isdisjoint(one.text for one in lines_in(block))

    audited.sink.rejects = is_refused
    refused = audited.entry_writer.write_entries(wanted, audited.origin())
    assert set(refused) == {entry_of(wanted[1]), entry_of(chunks[0])}
    assert all("told to reject" in rejection.reason for rejection in refused.values())
    assert audited.lines() == [wanted[0], *wanted[5:]]
    assert tried == sorted(tried)
    assert len(set(tried)) == len(tried), "no run is tried twice"


def test_many_lines_are_blocks_numbered_from_nought(audited: AuditedIndex) -> None:
    chance = np.random.default_rng(1)
    wanted = [own_line(offset, text=chance.bytes(2_000).hex()) for offset in range(1_500)]
    audited.entry_writer.write_entries(wanted, audited.origin())
    assert audited.lines() == wanted
    ids = sorted(audited.sink.blocks, key=lambda one: one.first)
    assert [(one.first, one.last) for one in ids] == [(number, number) for number in range(len(ids))]
    assert len({one.run for one in ids}) == 1
    assert audited.sink.calls.count("write_blocks") > 1, "a request is bounded"
