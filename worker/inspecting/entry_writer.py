"""Writes whole entries in blocks of a run of their own: what a repair puts right, and what a replay of dead letters adds.

1. Every call begins new runs, above every run that is stored for these offsets: its copies of the entries are the ones that hold.
2. A run spans at most `SPAN_OFFSETS`: one wide block would overlap, and so unpack for every exact count, the whole partition.
3. A block that was sent is only sent again with the same content; blocks that the sink refuses are split by entries under another run.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import NamedTuple

from consumers.rejection import Rejection
from sinks.block import Block, BlockId, BlockPlace, new_run
from sinks.build import build
from sinks.line import Line
from sinks.lines import lines_of
from sinks.sink import BlockFilter, Sink, SinkRejected
from worker.indexing.dead_letter_reasons import refused_by_sink
from worker.inspecting.busy_retry import BusyRetry

SPAN_OFFSETS = 10_000
_CALL_BYTES = 4 * 1024 * 1024
_RUN_BITS = 32


class EntryKey(NamedTuple):
    """One entry of a record."""

    place: BlockPlace
    offset: int
    sub: int


def entry_of(line: Line) -> EntryKey:
    """Return the entry that a line is of, or is a chunk of."""
    return EntryKey(BlockPlace(line.topic, line.epoch, line.partition), line.offset, line.sub)


def wall_ms() -> int:
    """Return the time of now, milliseconds since 1970."""
    return round(time.time() * 1000)


class EntryOrigin(NamedTuple):
    """What a block says of its lines beside them."""

    masks: str
    """Version of the masks that made their templates."""
    written_ms: int
    """When they were first written, milliseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryWriter:
    """What a call does not return as refused is acknowledged.

    Thread: one.
    """

    sink: Sink
    busy_retry: BusyRetry
    wall_ms: Callable[[], int]
    random_bits: Callable[[int], int] = secrets.randbits

    def write_entries(self, lines: Sequence[Line], origin: EntryOrigin) -> dict[EntryKey, Rejection]:
        """Write whole entries of any partitions; return those that the sink refuses alone. Raises SinkBusy and SinkBroken."""
        refused: dict[EntryKey, Rejection] = {}
        ordered = sorted(lines, key=lambda line: (entry_of(line), line.chunk))
        for place, group in groupby(ordered, key=lambda line: entry_of(line).place):
            for span in _spans(list(group)):
                self._write_span(place, span, origin, refused)
        return refused

    def _write_span(self, place: BlockPlace, lines: list[Line], origin: EntryOrigin, refused: dict[EntryKey, Rejection]) -> None:
        run = self._greatest_run(place, lines[0].offset, lines[-1].offset)
        todo = [lines]
        while todo:
            part = todo.pop()
            run = new_run(self.wall_ms(), self.random_bits(_RUN_BITS), above=run)
            try:
                self._write_run(place, run, part, origin)
            except SinkRejected as error:
                entries = [list(entry) for _, entry in groupby(part, key=entry_of)]
                if len(entries) == 1:
                    refused[entry_of(part[0])] = refused_by_sink(error)
                else:
                    middle = len(entries) // 2
                    todo += [list(chain.from_iterable(half)) for half in (entries[middle:], entries[:middle])]

    def _write_run(self, place: BlockPlace, run: str, lines: Sequence[Line], origin: EntryOrigin) -> None:
        built = build(lines_of(lines), masks=origin.masks, written_ms=origin.written_ms)
        blocks = [one.block._replace(id=BlockId(place, run, number, number)) for number, one in enumerate(built)]
        for part in _calls(blocks):
            attempts = iter([False])  # the first one inserts; what became of it is unknown to all others
            self.busy_retry.call(partial(self._send, part, attempts))

    def _send(self, blocks: Sequence[Block], attempts: Iterator[bool]) -> None:
        self.sink.write_blocks(blocks, again=next(attempts, True))

    def _greatest_run(self, place: BlockPlace, first_offset: int, last_offset: int) -> str:
        topic, epoch, partition = place
        only = BlockFilter((topic,), epoch, partition, first_offset, last_offset + 1)
        heads = self.busy_retry.call(lambda: self.sink.find_blocks(only, strong=True)).heads
        return max((one.run for one in heads.ids), default="")


def _spans(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Cut the lines of a partition, in their order, into lists that span at most `SPAN_OFFSETS`."""
    span: list[Line] = []
    for line in lines:
        if span and line.offset + line.records > span[0].offset + SPAN_OFFSETS:
            yield span
            span = []
        span.append(line)
    if span:
        yield span


def _calls(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Cut blocks into what one request holds."""
    call: list[Block] = []
    size_bytes = 0
    for block in blocks:
        if call and size_bytes + block.size_bytes > _CALL_BYTES:
            yield call
            call, size_bytes = [], 0
        call.append(block)
        size_bytes += block.size_bytes
    if call:
        yield call
