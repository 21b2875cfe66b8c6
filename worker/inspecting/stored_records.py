"""Finds what the index holds of records: a replay of dead letters adds what is missing and replaces nothing."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from consumers.record import Partition, Record
from sinks.line import Line
from sinks.sink import Sink
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.kept_records import spans_of
from worker.inspecting.stored_blocks import read_window

_SPAN_OFFSETS: Final = 100
"""Most offsets whose blocks are in memory at once."""


def read_stored_lines(sink: Sink, busy_retry: BusyRetry, records: Sequence[Record]) -> list[list[Line]]:
    """Return what readers get of each of n records, in its epoch; also of an event that it is a part of. Raises the sink's exceptions."""
    wanted: dict[Partition, dict[tuple[int, str], list[Line]]] = defaultdict(dict)
    for record in records:
        wanted[Partition(record.topic, record.partition)].setdefault((record.offset, record.epoch), [])
    for partition, found in wanted.items():
        for span in spans_of({offset for offset, _ in found}, _SPAN_OFFSETS):
            for block in read_window(sink, busy_retry, *partition, span).blocks:
                for line, holds in zip(block.lines, block.holds, strict=True):
                    for offset in range(max(line.offset, span.start), min(line.offset + line.records, span.stop)) if holds else ():
                        if (lines := found.get((offset, line.epoch))) is not None:
                            lines.append(line)
    return [wanted[Partition(record.topic, record.partition)][record.offset, record.epoch] for record in records]
