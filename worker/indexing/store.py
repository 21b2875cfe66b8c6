"""The store step: templates first, then the lines that point to them; only an acknowledged row settles a receipt.

While the sink is busy (away, slow, refusing access) the rows are held and tried again, for ever unless the service stops:
receipts stay open, so intake slows by itself. A row that the sink refuses alone becomes a dead letter; too many of them in a row stop
the service.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, TypeVar

import numpy as np

from consumers.decode.decoder import LogEntry
from consumers.rejection import Rejection
from sinks.row import LEVEL_BYTES, SERVICE_BYTES, LineRow, TemplateRow, row_id
from sinks.sink import Sink, SinkBusy, SinkRejected
from worker.indexing.dead_letter_reasons import refused_by_sink
from worker.indexing.flights import Completed, Flights
from worker.indexing.pieces import TemplatedPiece
from worker.messages import Chunk, EmbeddedChunk, StoreItem
from worker.runtime.histogram import LONG_SECONDS, Histogram
from worker.runtime.limits import FaultLimit
from worker.runtime.retry import BACK_OFF_S, SinkRetry
from worker.runtime.stage import Abandoned

__all__ = ["BACK_OFF_S", "Store", "StoreTally", "line_row"]

Row = TypeVar("Row", LineRow, TemplateRow)
Kind = Literal["lines", "templates"]


@dataclass(slots=True)
class StoreTally:
    """Counters that only grow; several store threads add to them, anyone reads them.

    Thread: any.
    """

    lines: int = 0
    templates: int = 0
    seconds: float = 0.0
    """Inside the sink."""
    writes: dict[Kind, Histogram] = field(default_factory=lambda: {"lines": Histogram(), "templates": Histogram()})
    """Seconds of each write that was taken."""
    errors: Counter[str] = field(default_factory=Counter)
    """Writes that were not: `busy` or `rejected`."""
    searchable: Histogram = field(default_factory=lambda: Histogram(LONG_SECONDS))
    """Seconds from a line's Kafka timestamp until it was acknowledged."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, lines: int = 0, templates: int = 0, seconds: float = 0.0) -> None:
        """Add to the counters."""
        with self._lock:
            self.lines += lines
            self.templates += templates
            self.seconds += seconds

    def failed(self, kind: str) -> None:
        """Count a write that was not taken."""
        with self._lock:
            self.errors[kind] += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A line settles only when its row *and* its template are acknowledged; one refusal too many is nobody's dead letter.

    Thread: any of the store threads.
    """

    sink: Sink
    flights: Flights
    say: Callable[[str], None]
    pause: Callable[[float], bool]
    """Waits so many seconds; True when the service stops hard."""
    clock: Callable[[], float]
    wall_ms: Callable[[], float] = lambda: time.time() * 1000
    """Milliseconds since 1970."""
    most_refused: int
    """So many lines, or templates, may be refused in a row: among those sent to the sink, in any batches."""
    fail_point: Callable[[str], None] = lambda _point: None
    tally: StoreTally = field(default_factory=StoreTally)
    retry: SinkRetry = field(init=False)
    _refused_lines: FaultLimit = field(init=False)
    _refused_templates: FaultLimit = field(init=False)
    """A limit of their own: templates that are stored say nothing about lines."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "retry", SinkRetry(say=self.say))
        for kind in ("lines", "templates"):
            object.__setattr__(self, f"_refused_{kind}", FaultLimit(f"{kind} that the sink refuses", most=self.most_refused))

    def step(self, items: Sequence[StoreItem]) -> None:
        """Write a list of templates and lines. Raises Abandoned, LimitReached, and the sink's own SinkBroken."""
        chunks = [item for item in items if isinstance(item, Chunk)]
        embedded = [item for item in items if isinstance(item, EmbeddedChunk)]
        if embedded:
            chunks += self._store_templates(embedded)
        alive: list[Chunk] = []
        for chunk in chunks:
            if chunk.receipt.is_alive:
                alive.append(chunk)
            else:
                chunk.receipt.settle()  # moves no offset: the partition's new owner writes this line
        if alive:
            self._store_lines(alive)

    def _store_templates(self, embedded: Sequence[EmbeddedChunk]) -> list[Chunk]:
        rows = [TemplateRow(chunk.template, chunk.vector, chunk.masked) for chunk in embedded]
        self.fail_point("before_templates")
        refused = self._write("templates", rows, self.sink.upsert_templates, self._refused_templates)
        self.fail_point("after_templates")
        self.tally.add(templates=len(rows) - len(refused))
        for template, rejection in refused.items():
            for parked in self.flights.fail(template, rejection):
                parked.receipt.reject(parked.entry.sub, parked.chunk, rejection)
        landed = [Completed(c.template, c.tokens, c.source) for c in embedded if c.template not in refused]
        freed = self.flights.land(landed)
        self.fail_point("landed")
        return freed

    def _store_lines(self, chunks: Sequence[Chunk]) -> None:
        rows = [line_row(chunk.entry, chunk) for chunk in chunks]
        self.fail_point("before_upsert")
        refused = self._write("lines", rows, self.sink.upsert_lines, self._refused_lines)
        self.fail_point("after_upsert")
        self.tally.add(lines=len(rows) - len(refused))
        self._note_ages(chunks)
        for chunk, row in zip(chunks, rows, strict=True):
            rejection = refused.get(row.id)
            if rejection is None:
                chunk.receipt.settle()
            else:
                chunk.receipt.reject(chunk.entry.sub, chunk.chunk, rejection)

    def _note_ages(self, chunks: Sequence[Chunk]) -> None:
        """Note how old the lines are; a clock that is behind the producer's gives none below nought."""
        times_ms = np.array([chunk.entry.time_ms for chunk in chunks], dtype=np.float64)
        self.tally.searchable.add_many(np.maximum(self.wall_ms() - times_ms[times_ms > 0], 0.0) / 1000)

    def _write(self, kind: Kind, rows: Sequence[Row], upsert: Callable[[Sequence[Row]], None], limit: FaultLimit) -> dict[str, Rejection]:
        """Write all rows, in their order; return those that the sink refuses alone, by key.

        At the limit nothing of these rows is settled and none is blamed: they are read again, under other settings.
        """
        refused: dict[str, Rejection] = {}
        todo: list[Sequence[Row]] = [rows]
        while todo:
            part = todo.pop()
            try:
                self._write_patiently(kind, part, upsert)
            except SinkRejected as error:
                self.tally.failed("rejected")
                if len(part) == 1:
                    refused[part[0][0]] = refused_by_sink(error)
                    limit.fault(str(error))
                else:
                    middle = len(part) // 2
                    todo += [part[middle:], part[:middle]]
            else:
                limit.good()
        return refused

    def _write_patiently(self, kind: Kind, rows: Sequence[Row], upsert: Callable[[Sequence[Row]], None]) -> None:
        for attempt in count():
            started_s = self.clock()
            try:
                upsert(rows)
            except SinkBusy as error:
                self.tally.failed("busy")
                self.retry.refused(str(error), len(rows), self.clock())
                if self.pause(self.retry.pause_s(attempt)):
                    raise Abandoned from error
            else:
                seconds = self.clock() - started_s
                self.tally.add(seconds=seconds)
                self.tally.writes[kind].add(seconds)
                if attempt:
                    self.retry.taken(self.clock())
                return


def line_row(entry: LogEntry, chunk: Chunk | TemplatedPiece) -> LineRow:
    """Make the row of one piece of an entry."""
    record = entry.record
    return LineRow(
        row_id(record.topic, record.epoch, record.partition, record.offset, entry.sub, chunk.chunk),
        chunk.template,
        chunk.text,
        entry.time_ms,
        _clip(entry.service, SERVICE_BYTES),
        _clip(entry.level, LEVEL_BYTES),
        record.topic,
        record.partition,
        record.offset,
        entry.sub,
        chunk.chunk,
        chunk.chunks,
    )


def _clip(text: str, most_bytes: int) -> str:
    """Cut a label to its column; a label is for filtering, so a cut one is better than a dead letter."""
    return text if len(text) * 4 <= most_bytes else text.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
