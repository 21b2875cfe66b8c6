"""Batches of lines that differ, for tests of what happens between prepare and store."""

from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np

from consumers.assignment import PartitionLedger
from consumers.ledger import Ledger
from consumers.record import Partition
from sinks.block import BlockPlace
from sinks.line import Line
from sinks.lines import all_lines, lines_of
from tests.consumers.records import admit_batch, record
from tests.worker.letters import Letters
from tests.world import line, offsets
from worker.indexing.line_batch import LineBatch

LOGS = Partition("logs", 0)
_MOST = 1 << 30


class LineBatches:
    """Makes batches: `batches("aba")` has three new lines, of the templates a, b and a. Lines are numbered from 0.

    Thread: any.
    """

    def __init__(self, partitions: Sequence[Partition] = (LOGS,)) -> None:
        self._numbers = count()
        self._assignments = {partition: _assignment(partition) for partition in partitions}

    def __call__(self, templates: Iterable[str], partition: Partition = LOGS) -> LineBatch:
        lines = [_line(next(self._numbers), partition, template) for template in templates]
        return LineBatch(self._assignments[partition], np.array(offsets(lines)), lines_of(lines))


def numbers_of(*batches: LineBatch) -> list[int]:
    """Return the numbers of the lines; checks that each is whole, and the batch's own."""
    numbers: list[int] = []
    for batch in batches:
        partition = batch.assignment.partition
        for arrival, one in zip(
            batch.arrival.tolist(), all_lines(BlockPlace(partition.topic, "e90c", partition.partition), batch.lines), strict=True
        ):
            assert one == _line(arrival, partition, one.template_text)
            numbers.append(arrival)
    return numbers


def _assignment(partition: Partition) -> PartitionLedger:
    ledger = Ledger(cap_records=_MOST, cap_bytes=_MOST, dead_letter=Letters())
    ledger.assign([partition])
    receipt = admit_batch(ledger, record(partition=partition))
    return receipt.assignment


def _line(number: int, partition: Partition, template: str) -> Line:
    return line(
        number,
        topic=partition.topic,
        epoch="e90c",
        partition=partition.partition,
        sub=number % 3,
        template_text=template,
        time=number + 1,
        kafka_time=number + 2,
        service=f"service {number % 5}",
        level="WARN" * (number % 2),
    )
