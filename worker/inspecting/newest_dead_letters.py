"""The newest dead letters and how many there are for each reason, read from the end of the topic for a bounded time.

A replay's mark comes after its letter, in the same partition. So a reader that goes backwards, in whole spans of offsets, has seen all
marks of a letter when it meets the letter, however early it stops. A long record is cut as soon as it is read: a span of letters of a
megabyte each would be more than a process may take.
"""

import heapq
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from consumers.groupless.groupless_reader import GrouplessReader, RangeUnreadable
from consumers.record import Partition, Record
from worker.asking.places import RecordPlace
from worker.inspecting.replay_marks import ReplayMark, read_replay_mark
from worker.inspecting.stored_dead_letters import StoredDeadLetter, heading_of, read_dead_letter, read_origin

HEAD_BYTES: Final = 16_384
_FIRST_SPAN: Final = 500
_LONGEST_SPAN: Final = 8_000
_WIDER: Final = 4
MOST_RECORDS: Final = 100_000
WITHIN_S: Final = 5.0


class NewestLetter(NamedTuple):
    """A letter of which only the beginning of the value is kept."""

    letter: StoredDeadLetter
    """`letter.letter.value` has at most `HEAD_BYTES`."""
    obstacle: str
    """Why it cannot be replayed; empty if it can."""


@dataclass(slots=True)
class NewestLetters:
    """What was found, from the end of the topic backwards."""

    newest: list[NewestLetter] = field(default_factory=list)
    """The latest first."""
    by_reason: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Letters that were not replayed, by heading of the reason and topic of the record."""
    replayed: int = 0
    is_complete: bool = False
    """Whether the whole topic was read."""


class _Read(NamedTuple):
    """A record of the topic."""

    record: Record
    """If it was longer than `HEAD_BYTES`, with the beginning of its value and the headers of a letter only."""
    obstacle: str | None
    """Why it cannot be replayed; None: it is whole, so that it can still be seen."""


@dataclass(slots=True)
class _Unread:
    """What is left to read of a partition."""

    partition: Partition
    first_offset: int
    end_offset: int
    span: int = _FIRST_SPAN
    marks: dict[int, ReplayMark] = field(default_factory=dict)


def read_newest_letters(
    reader: GrouplessReader,
    topic: str,
    *,
    limit: int,
    of: RecordPlace | None = None,
    most_records: int = MOST_RECORDS,
    within_s: float = WITHIN_S,
    clock: Callable[[], float] = time.monotonic,
) -> NewestLetters:
    """Return the newest `limit` letters and the number of all, of the last `most_records` records, as far as the time allows.

    `of`: only letters of this record.

    Raises TopicUnknown, and RangeUnreadable if nothing can be read.
    """
    until_s = clock() + within_s
    ranges = reader.offset_ranges(reader.partitions([topic], within_s), max(until_s - clock(), 0.1))
    unread = [_Unread(partition, *held) for partition, held in ranges.items() if held.first_offset < held.end_offset]
    found = NewestLetters()
    heap: list[tuple[tuple[int, int, int], NewestLetter]] = []
    has_read = 0
    while unread and has_read < most_records:
        one = unread.pop(0)
        first_offset = max(one.first_offset, one.end_offset - min(one.span, most_records - has_read))
        try:
            records = _read_span(reader, one.partition, first_offset, one.end_offset, until_s, clock)
        except RangeUnreadable:
            if not has_read:
                raise
            records = None
        if records is None:
            break
        has_read += one.end_offset - first_offset
        _note(records, one.marks, found, heap, limit, of)
        one.end_offset, one.span = first_offset, min(one.span * _WIDER, _LONGEST_SPAN)
        if one.first_offset < first_offset:
            unread.append(one)
    else:
        found.is_complete = not unread
    found.newest = [letter for _, letter in sorted(heap, reverse=True)]
    return found


def _read_span(
    reader: GrouplessReader, partition: Partition, first_offset: int, end_offset: int, until_s: float, clock: Callable[[], float]
) -> list[_Read] | None:
    """Return the records of a span, or None if the time is over before its end: a part of it could lack the marks of its letters."""
    found: list[_Read] = []
    left_s = until_s - clock()
    if left_s <= 0:
        return None
    for records in reader.read(partition, first_offset, end_offset, epoch="", timeout_s=left_s):
        found += map(_cut, records)
        if clock() > until_s:
            return None
    return found


def _note(
    span: Sequence[_Read],
    marks: dict[int, ReplayMark],
    found: NewestLetters,
    heap: list[tuple[tuple[int, int, int], NewestLetter]],
    limit: int,
    of: RecordPlace | None,
) -> None:
    """Count the letters of a span, `of` one record or of all, and keep the newest; `marks` are those of later spans."""
    own: dict[int, ReplayMark] = {}
    for record, _ in span:
        mark = read_replay_mark(record)
        if mark is not None and not (mark.offset in own and own[mark.offset].is_done):
            own[mark.offset] = mark
    for offset, mark in own.items():
        if offset not in marks or mark.is_done:
            marks[offset] = mark
    for record, obstacle in span:
        origin = read_origin(record)
        if origin is None or (of is not None and not _is_of(record, of)):
            continue
        reason, topic = origin
        mark = marks.get(record.offset)
        if mark is not None and mark.is_done:
            found.replayed += 1
        else:
            found.by_reason[heading_of(mark.pieces[0].reason if mark is not None and mark.pieces else reason), topic] += 1
        key = (record.time_ms, record.partition, record.offset)
        if (len(heap) < limit or key > heap[0][0]) and (letter := read_dead_letter(record)) is not None:
            put = heapq.heappush if len(heap) < limit else heapq.heapreplace
            put(heap, (key, NewestLetter(letter.after_replay(mark), letter.obstacle if obstacle is None else obstacle)))


def _is_of(record: Record, place: RecordPlace) -> bool:
    letter = read_dead_letter(record)
    return letter is not None and (letter.topic, letter.partition, letter.offset) == place


def _cut(record: Record) -> _Read:
    """Return a record without what takes much and is not shown."""
    if record.size_bytes() <= HEAD_BYTES:
        return _Read(record, None)
    letter = read_dead_letter(record)
    value = None if record.value is None else record.value[:HEAD_BYTES]
    if letter is None:
        return _Read(record._replace(key=None, value=value), "")
    return _Read(record._replace(key=None, value=value, headers=record.headers[len(letter.own_headers) :]), letter.obstacle)
