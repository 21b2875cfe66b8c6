"""What waits in a run: whose memory it holds, when it is due, and which records it settles."""

import weakref

import numpy as np
import pytest
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger
from consumers.ledger import Ledger
from consumers.record import Partition, Record
from sinks.block import BlockPlace, CodedColumn, Lines
from sinks.build import BlockBounds, build
from sinks.line import Line
from sinks.lines import lines_of
from tests.consumers.records import Letters, admit_batch
from tests.world import MASKS, line
from worker.indexing.runs import Run

PLACE = BlockPlace("logs", "e1", 0)
FLUSH_S = 0.5
BOUNDS = BlockBounds(lines=100, raw_bytes=50_000)


def assigned() -> tuple[Ledger, PartitionLedger]:
    """Return a ledger with an assignment of one partition."""
    ledger = Ledger(cap_records=1 << 20, cap_bytes=1 << 30, dead_letter=Letters())
    ledger.assign([Partition("logs", 0)])
    receipt = admit_batch(ledger, Record("logs", 0, 0, "e1", 0, None, b"x", ()))
    return ledger, receipt.assignment


@pytest.fixture
def run() -> Run:
    return Run(assigned()[1], PLACE, "r", BOUNDS, began_s=0.0)


def columns(offsets: range, **values: object) -> Lines:
    return lines_of([line(offset, **values) for offset in offsets])


def part_of(lines: Lines, rows: slice) -> Lines:
    """Return some lines of a batch as views on its memory, as prepare hands them on."""
    return Lines._make(column._replace(codes=column.codes[rows]) if isinstance(column, CodedColumn) else column[rows] for column in lines)


def arrivals(first: int, size: int) -> NDArray[np.int64]:
    return np.arange(first, first + size)


def test_a_block_settles_the_records_of_its_own_lines_in_its_own_order(run: Run) -> None:
    lines = lines_of([line(offset) for offset in (9, 2, 7, 4)])
    built = build(lines, masks=MASKS, written_ms=0, bounds=BlockBounds(lines=3))
    sealed = run.seal(lines, built, np.array([90, 20, 70, 40]))
    assert [one.arrival.tolist() for one in sealed] == [[20, 40, 70], [90]]
    assert [(one.block.id.first, one.block.id.last) for one in sealed] == [(0, 0), (1, 1)]


def test_a_few_lines_that_wait_do_not_hold_the_memory_of_their_batch(run: Run) -> None:
    batch = columns(range(5_000), text="x" * 1_000, fields="{}")
    owners = [weakref.ref(column) for column in (*batch[:8], batch.service.codes, batch.level.codes, batch.template.codes)]
    numbers = arrivals(0, 5_000)
    owners.append(weakref.ref(numbers))
    assert run.add(part_of(batch, slice(4_000, 4_003)), numbers[4_000:4_003], 1.0)
    del batch, numbers
    assert [owner() for owner in owners] == [None] * len(owners)
    (group,) = run.take(2.0, flush_s=FLUSH_S, everything=True)
    assert group.lines.text.get_total_buffer_size() < 2 * 3_000
    assert group.lines.fields.get_total_buffer_size() < 100
    assert group.lines.text.to_pylist() == ["x" * 1_000] * 3
    assert group.tags.tolist() == [4_000, 4_001, 4_002]


def test_short_lines_do_not_hold_the_large_fields_of_their_batch(run: Run) -> None:
    batch = lines_of([*(line(offset) for offset in range(9)), line(9, fields="y" * 9_000)])
    assert run.add(part_of(batch, slice(0, 9)), arrivals(0, 9), 1.0)
    (group,) = run.take(2.0, flush_s=FLUSH_S, everything=True)
    assert group.lines.fields.get_total_buffer_size() < 100


def test_lines_that_are_most_of_their_batch_are_not_copied(run: Run) -> None:
    batch = columns(range(10))
    run.add(part_of(batch, slice(0, 9)), arrivals(0, 9), 1.0)
    (group,) = run.take(2.0, flush_s=FLUSH_S, everything=True)
    assert np.shares_memory(group.lines.offset, batch.offset)


def test_lines_are_due_when_the_oldest_has_waited_for_the_flush_time(run: Run) -> None:
    assert not run.is_due(1_000.0, FLUSH_S)
    run.add(columns(range(3)), arrivals(0, 3), 1.0)
    run.add(columns(range(3, 6)), arrivals(3, 3), 1.4)
    assert not run.is_due(1.0 + FLUSH_S - 0.01, FLUSH_S)
    assert run.is_due(1.0 + FLUSH_S, FLUSH_S)
    assert run.take(1.0 + FLUSH_S - 0.01, flush_s=FLUSH_S, everything=False) == []
    assert not run.is_due(1.0 + FLUSH_S - 0.01, FLUSH_S)
    assert run.waiting_lines == 6


def test_lines_that_fill_a_block_are_due_at_once(run: Run) -> None:
    run.add(columns(range(99)), arrivals(0, 99), 1.0)
    assert not run.is_due(1.0, FLUSH_S)
    run.add(columns(range(99, 100)), arrivals(99, 1), 1.0)
    assert run.is_due(1.0, FLUSH_S)
    assert [group.lines.size for group in run.take(1.0, flush_s=FLUSH_S, everything=False)] == [100]
    assert not run.is_due(1_000.0, FLUSH_S)


@pytest.mark.parametrize("column", ["text", "fields"])
def test_bytes_that_fill_a_block_are_due_at_once(run: Run, column: str) -> None:
    run.add(columns(range(6), **{column: "x" * 8_000}), arrivals(0, 6), 1.0)
    assert not run.is_due(1.0, FLUSH_S)
    run.add(columns(range(6, 8), **{column: "x" * 8_000}), arrivals(6, 2), 1.0)
    assert run.is_due(1.0, FLUSH_S)
    assert [group.lines.size for group in run.take(1.0, flush_s=FLUSH_S, everything=False)] == [6]
    assert run.waiting_lines == 2
    assert not run.is_due(1.0, FLUSH_S)


def test_lines_behind_a_full_block_wait_from_when_they_came(run: Run) -> None:
    """Else each full block would drag a small one behind it."""
    for number in range(6):
        run.add(columns(range(20 * number, 20 * number + 20)), arrivals(20 * number, 20), 1.0 + number)
    assert [group.lines.size for group in run.take(6.0, flush_s=10.0, everything=False)] == [100]
    assert run.waiting_lines == 20
    assert not run.is_due(15.9, 10.0)
    assert run.is_due(16.0, 10.0)
    (rest,) = run.take(16.0, flush_s=10.0, everything=False)
    assert rest.tags.tolist() == list(range(100, 120))


def test_a_run_that_is_dropped_gives_back_what_waits_and_takes_nothing_more(run: Run) -> None:
    run.add(columns(range(150)), arrivals(0, 150), 1.0)
    run.take(1.0, flush_s=FLUSH_S, everything=False)
    run.add(lines_of([line(150, chunk=chunk, chunks=2, cut=1) for chunk in (0, 1)]), np.array([150, 150]), 1.1)
    assert sorted(run.end().tolist()) == [*range(100, 151), 150]
    assert run.waiting_lines == 0
    assert not run.add(columns(range(3)), arrivals(0, 3), 1.2)
    assert run.end().tolist() == []


def test_lines_of_different_times_wait_side_by_side_and_all_come_out() -> None:
    run = Run(assigned()[1], PLACE, "r", BOUNDS, began_s=0.0)
    lines: list[Line] = [line(number, time=number % 5 * 10**9, kafka_time=0) for number in range(90)]
    for first in range(0, 90, 9):
        run.add(lines_of(lines[first : first + 9]), arrivals(first, 9), 1.0)
    groups = run.take(1.0, flush_s=FLUSH_S, everything=True)
    assert sorted(tag for group in groups for tag in group.tags.tolist()) == list(range(90))
    assert all((group.lines.offset == group.tags).all() for group in groups)
