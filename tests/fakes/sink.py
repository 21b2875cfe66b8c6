"""A sink in memory that keeps the contract of `sinks.sink.Sink`, and breaks it on request.

For every test that needs a sink but no Milvus. `tests/contracts/test_sink.py` runs the same suite on this sink and on Milvus. The
switches are plain attributes, set between calls or from another thread.
"""

import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from sinks.row import ID_BYTES, LEVEL_BYTES, SERVICE_BYTES, TEXT_BYTES, TOPIC_BYTES, LineRow, TemplateRow
from sinks.sink import (
    LineFilter,
    LineHit,
    SinkBroken,
    SinkBusy,
    SinkCounts,
    SinkMismatch,
    SinkRejected,
    StoredLines,
    TemplateCount,
    TemplateCounts,
    TemplateHit,
    never,
)

_BYTES = {
    "id": ID_BYTES,
    "digest": 32,
    "template": 32,
    "text": TEXT_BYTES,
    "service": SERVICE_BYTES,
    "level": LEVEL_BYTES,
    "topic": TOPIC_BYTES,
}
_WORD = re.compile(r"\w+")
_BITS = {"time": 63, "offset": 63, "partition": 31, "sub": 31, "chunk": 31, "chunks": 31}


class FakeSink:
    """Rows in two dicts; every call takes one lock, so it is atomic.

    Thread: any.
    """

    def __init__(self, dim: int = 384, *, has_bm25: bool = False) -> None:
        self.dim = dim
        self.has_bm25 = has_bm25
        self.lines: dict[str, LineRow] = {}
        self.templates: dict[str, TemplateRow] = {}
        self.calls: list[str] = []
        """Names of all calls so far, including refused ones, `open` and `close`."""
        self.is_open = False
        self.exists = False
        """Whether the collections exist; the first `open` with `create` creates them."""
        self.lifetime_s: float | None = None
        """The value of `retention_s`; nothing is ever removed here."""
        self.mismatch = ""
        """Not empty: `open` raises SinkMismatch with it."""
        self.busy_calls = 0
        """The next n calls (any but `close`) raise SinkBusy and do nothing."""
        self.lost_acknowledgements = 0
        """The next n upserts or deletes do their work and then raise SinkBusy."""
        self.rejected_texts: set[str] = set()
        """An upsert with one of these texts raises SinkRejected and stores nothing."""
        self.broken = ""
        """Not empty: every call but `close` raises SinkBroken with it."""
        self.doubles: dict[str, int] = {}
        """Extra stored rows by id: counted, but read as one row."""
        self.gate = threading.Event()
        """While cleared, upserts and reads wait here without holding the lock. Initially set."""
        self.gate.set()
        self.entered = threading.Event()
        """Set when a call reaches the gate; a test clears it and waits for it."""
        self.on_upsert: Callable[[Sequence[TemplateRow] | Sequence[LineRow]], None] = lambda _rows: None
        """Called with the rows before they are stored, outside the lock; may raise."""
        self._lock = threading.Lock()

    @property
    def retention_s(self) -> float | None:
        return self.lifetime_s

    def open(self, *, create: bool = True) -> None:
        self._begin("open", needs_open=False)
        if self.mismatch:
            raise SinkMismatch(self.mismatch)
        if not create and not self.exists:
            raise SinkMismatch("the fake sink does not exist; nothing has been indexed yet")
        self.exists = True
        self.is_open = True

    def upsert_templates(self, rows: Sequence[TemplateRow]) -> None:
        self._begin("upsert_templates")
        for row in rows:
            self._check_vector(row.vector)
        self._check_values(rows)
        self.on_upsert(rows)
        with self._lock:
            self.templates.update((row.digest, row._replace(vector=np.array(row.vector, np.float32))) for row in rows)
        self._acknowledge()

    def upsert_lines(self, rows: Sequence[LineRow]) -> None:
        self._begin("upsert_lines")
        self._check_values(rows)
        self.on_upsert(rows)
        with self._lock:
            self.lines.update((row.id, row) for row in rows)
        self._acknowledge()

    def template_vectors(self, digests: Collection[str]) -> dict[str, NDArray[np.float32]]:
        self._begin("template_vectors")
        with self._lock:
            return {digest: self.templates[digest].vector.copy() for digest in set(digests) & self.templates.keys()}

    def template_texts(self, digests: Collection[str]) -> dict[str, str]:
        self._begin("template_texts")
        with self._lock:
            return {digest: self.templates[digest].text for digest in set(digests) & self.templates.keys()}

    def nearest_templates(self, vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        self._begin("nearest_templates")
        for vector in vectors:
            self._check_vector(vector)
        with self._lock:
            rows = list(self.templates.values())
        answers = [[TemplateHit(row.digest, _cosine(row.vector, vector), row.text) for row in rows] for vector in vectors]
        return [sorted(hits, key=lambda hit: -hit.score)[: max(limit, 0)] for hits in answers]

    def newest_lines(self, templates: Collection[str], limit: int, only: LineFilter) -> dict[str, list[LineRow]]:
        self._begin("newest_lines")
        found: dict[str, list[LineRow]] = {one: [] for one in templates}
        with self._lock:
            for line in self.lines.values():
                if line.template in found and _passes(line, only):
                    found[line.template].append(line)
        return {one: sorted(lines, key=_age, reverse=True)[:limit] for one, lines in found.items() if lines and limit > 0}

    def matching_lines(self, text: str, limit: int, only: LineFilter) -> list[LineHit]:
        """Rank by BM25 (Robertson and Zaragoza 2009) over the lines that pass the filter."""
        self._begin("matching_lines")
        if not self.has_bm25:
            raise ValueError("milvus.bm25 is off: the fake sink is told to have no words")
        with self._lock:
            lines = [line for line in self.lines.values() if _passes(line, only)]
        words = [Counter(_WORD.findall(line.text.lower())) for line in lines]
        mean = sum(map(Counter.total, words)) / max(len(lines), 1)
        scores = [0.0] * len(lines)
        for wanted, times in Counter(_WORD.findall(text.lower())).items():
            have = sum(wanted in one for one in words)
            rarity = math.log(1 + (len(lines) - have + 0.5) / (have + 0.5))
            for place, one in enumerate(words):
                if one[wanted]:
                    scores[place] += times * rarity * one[wanted] * 2.5 / (one[wanted] + 1.5 * (0.25 + 0.75 * one.total() / mean))
        hits = [LineHit(score, line) for score, line in zip(scores, lines, strict=True) if score > 0]
        return sorted(hits, key=lambda hit: (hit.score, _age(hit.line)), reverse=True)[: max(limit, 0)]

    def count_templates(
        self, only: LineFilter, *, templates: Collection[str] | None, most_rows: int, deadline_passed: Callable[[], bool]
    ) -> TemplateCounts:
        self._begin("count_templates")
        if deadline_passed():
            return TemplateCounts([], complete=False)
        with self._lock:
            found = [line for line in self.lines.values() if _passes(line, only)]
        found = sorted((line for line in found if templates is None or line.template in templates), key=_age, reverse=True)
        times: dict[str, list[int]] = {}
        for line in found[: max(most_rows, 0)]:
            times.setdefault(line.template, []).append(line.time)
        counts = [TemplateCount(digest, len(seen), min(seen), max(seen)) for digest, seen in times.items()]
        return TemplateCounts(sorted(counts, key=lambda one: (-one.lines, one.digest)), complete=len(found) <= most_rows)

    def ping(self) -> None:
        """Leave no trace in `calls`: a thread of its own calls this at any time."""
        if self.broken:
            raise SinkBroken(self.broken)
        if self.busy_calls or not self.is_open:
            raise SinkBusy("the fake sink is busy")

    def counts(self) -> SinkCounts:
        self._begin("counts")
        with self._lock:
            return SinkCounts(lines=len(self.lines), templates=len(self.templates))

    def lines_between(
        self,
        topic: str,
        partition: int,
        first_offset: int,
        end_offset: int,
        *,
        most_rows: int | None = None,
        deadline_passed: Callable[[], bool] = never,
    ) -> StoredLines:
        self._begin("lines_between")
        if first_offset < end_offset and deadline_passed():
            return StoredLines([], 0, complete=False)
        with self._lock:
            rows = [line for line in self.lines.values() if (line.topic, line.partition) == (topic, partition)]
        rows = [line for line in rows if first_offset <= line.offset < end_offset]
        counted = len(rows) + sum(self.doubles.get(line.id, 0) for line in rows)
        return StoredLines(rows[:most_rows], counted, complete=most_rows is None or len(rows) <= most_rows)

    def stored_templates(self, digests: Collection[str]) -> set[str]:
        self._begin("stored_templates")
        with self._lock:
            return set(digests) & self.templates.keys()

    def delete_lines(self, ids: Collection[str]) -> None:
        self._begin("delete_lines")
        with self._lock:
            for one in ids:
                self.lines.pop(one, None)
                self.doubles.pop(one, None)
        self._acknowledge()

    def close(self) -> None:
        self.calls.append("close")
        self.is_open = False

    def _begin(self, call: str, *, needs_open: bool = True) -> None:
        self.calls.append(call)
        self.entered.set()
        self.gate.wait()
        if self.broken:
            raise SinkBroken(self.broken)
        with self._lock:
            if self.busy_calls > 0:
                self.busy_calls -= 1
                raise SinkBusy("the fake sink is told to be busy")
        if needs_open and not self.is_open:
            raise SinkBusy("the fake sink is not open")

    def _acknowledge(self) -> None:
        with self._lock:
            if self.lost_acknowledgements > 0:
                self.lost_acknowledgements -= 1
                raise SinkBusy("the fake sink stored the rows and lost the answer")

    def _check_values(self, rows: Sequence[TemplateRow] | Sequence[LineRow]) -> None:
        for row in rows:
            if row.text in self.rejected_texts:
                raise SinkRejected(f"row {row[0]!r}: the fake sink is told to reject its text")
            for column, value in row._asdict().items():
                if isinstance(value, str) and not _fits(value, _BYTES[column]):
                    raise SinkRejected(f"row {row[0]!r}: {column} does not fit")
                if isinstance(value, int) and not -(1 << _BITS[column]) <= value < 1 << _BITS[column]:
                    raise SinkRejected(f"row {row[0]!r}: {column} does not fit")

    def _check_vector(self, vector: NDArray[np.float32]) -> None:
        if vector.shape != (self.dim,) or not np.isfinite(vector).all():
            raise ValueError(f"a vector is not finite float32[{self.dim}]")


def _fits(text: str, most_bytes: int) -> bool:
    try:
        return len(text.encode()) <= most_bytes
    except UnicodeEncodeError:
        return False


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def _passes(line: LineRow, only: LineFilter) -> bool:
    return (
        (only.since_ms is None or line.time >= only.since_ms)
        and (only.until_ms is None or line.time < only.until_ms)
        and (not only.services or line.service in only.services)
        and (not only.levels or line.level in only.levels)
        and (not only.topics or line.topic in only.topics)
    )


def _age(line: LineRow) -> tuple[int, str, int, int, int, int]:
    return line.time, line.topic, line.partition, line.offset, line.sub, line.chunk
