"""What stands around a line: its neighbours in the same partition, by offset."""

from typing import NamedTuple

from consumers.decode.kafka_times import is_far
from sinks.line import Line
from sinks.reading.reader import BlockReader
from worker.query import Around
from worker.querying.ranking import OutOfTime

_WIDER = 8
"""Offsets have gaps (compaction, transactions): on a side that lacks records, a range this many times as wide is read."""
MOST_LINES = 10_000
"""A record may hold as many lines alone."""


class Neighbours(NamedTuple):
    """Lines of one partition, in order."""

    lines: list[Line]
    complete: bool
    """False when a bound or the deadline cut it short; records that are nowhere are not missed."""


def lines_around(reader: BlockReader, place: Around, deadline_passed: OutOfTime, *, now_ms: float) -> Neighbours:
    """Return the lines of `before` records, of the one at `offset` and of `after` records. Raises SinkBusy."""
    first, end = max(place.offset - place.before, 0), place.offset + place.after + 1
    complete = True
    lines: list[Line] = []

    def read(first_offset: int, end_offset: int) -> list[Line]:
        nonlocal complete
        found = reader.lines_between(
            place.topic, place.partition, first_offset, end_offset, most_lines=MOST_LINES - len(lines), deadline_passed=deadline_passed
        )
        complete = complete and found.complete
        return found.lines

    lines += read(first, end)
    if len(_offsets(lines, first, place.offset)) < place.before and first > 0:
        lines += read(max(place.offset - _WIDER * place.before, 0), first)
    if len(_offsets(lines, place.offset + 1, end)) < place.after:
        lines += read(end, place.offset + _WIDER * place.after + 1)
    lines = _of_one_epoch(lines, place.offset, now_ms)
    before = _offsets(lines, 0, place.offset)
    after = _offsets(lines, place.offset + 1, place.offset + _WIDER * place.after + 1)
    shown = {*before[len(before) - min(place.before, len(before)) :], place.offset, *after[: place.after]}
    in_order = sorted((line for line in lines if line.offset in shown), key=lambda line: (line.offset, line.sub, line.chunk))
    return Neighbours(in_order, complete)


def _offsets(lines: list[Line], first: int, end: int) -> list[int]:
    return sorted({line.offset for line in lines if first <= line.offset < end})


def _of_one_epoch(lines: list[Line], offset: int, now_ms: float) -> list[Line]:
    """Keep the lines of the newest topic: one that was deleted and made again under the same name has the same offsets."""
    if not lines:
        return []
    at_offset = [line for line in lines if line.offset == offset] or lines
    epoch = max(at_offset, key=lambda line: -1 if is_far(line.kafka_time, now_ms) else line.kafka_time).epoch
    return [line for line in lines if line.epoch == epoch]
