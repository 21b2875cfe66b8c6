"""Stores pieces outside the stream: first their templates, embedded if missing, then their lines.

`vectail verify --repair` and the replay of dead letters call it. It assigns fault as the worker does: a text that fails alone while the
golden texts pass, or a row that the sink refuses alone, is rejected and returned; every other fault stops the command. The engine is
loaded when the first text must be embedded. While the sink is busy, calls are retried for a bounded time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import NamedTuple, TypeVar

from consumers.rejection import Rejection
from sinks.row import LineRow, TemplateRow
from sinks.sink import Sink, SinkBusy, SinkRejected
from worker.audit.expected import ExpectedRow
from worker.embedding.embed import rejected_text
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.vectors import EmbeddingFailed, Outcome, TokenIds
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import refused_by_sink
from worker.runtime.retry import BACK_OFF_S

T = TypeVar("T")
Row = TypeVar("Row", LineRow, TemplateRow)

ROWS_AT_ONCE = 2_000
_TEMPLATES_AT_ONCE = 512
"""Bounds the vectors that are held."""


class RejectedRow(NamedTuple):
    """A row that cannot be stored: it belongs in a dead letter."""

    row: LineRow
    rejection: Rejection


@dataclass(slots=True)
class Repaired:
    """What one call wrote.

    Thread: one.
    """

    lines: int = 0
    templates: int = 0
    rejected: list[RejectedRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyRetry:
    """Retries a call while the sink is busy, for at most `limit_s`."""

    limit_s: float
    say: Callable[[str], None]
    pause: Callable[[float], bool]
    """Waits this many seconds; True if the user wants to stop."""
    clock: Callable[[], float]

    def call(self, ask: Callable[[], T]) -> T:
        """Return what `ask` returns. Raises SinkBusy after `limit_s`, and whatever else the sink raises."""
        until_s = self.clock() + self.limit_s
        for attempt in count():
            try:
                return ask()
            except SinkBusy as error:
                if self.clock() >= until_s:
                    raise
                if attempt == 0:
                    self.say(f"the sink does not answer ({error}); trying again")
                if self.pause(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)]):
                    raise
        raise AssertionError  # count() has no end


class Repairer:
    """Every line that it reports as written has its template in the index.

    Thread: one; it holds an engine and a tokenizer once a template was missing.
    """

    def __init__(self, *, sink: Sink, load: Callable[[], LoadedModel], busy_retry: BusyRetry, rows_at_once: int = ROWS_AT_ONCE) -> None:
        """`load` is called at most once, when the first text must be embedded; it may raise ModelError."""
        self._sink = sink
        self._load = load
        self._busy_retry = busy_retry
        self._rows_at_once = rows_at_once
        self._embedder: _Embedder | None = None

    def repair_rows(self, pieces: Sequence[ExpectedRow]) -> Repaired:
        """Store all pieces; returns those that cannot be stored. Raises the sink's exceptions, EngineFailed and ModelError."""
        repaired = self.repair_templates(pieces)
        without_template = {one.row.id for one in repaired.rejected}
        rows = [piece.row for piece in pieces if piece.row.id not in without_template]
        refused = self._write(rows, self._sink.upsert_lines)
        repaired.lines += len(rows) - len(refused)
        repaired.rejected += (RejectedRow(row, refused[row.id]) for row in rows if row.id in refused)
        return repaired

    def repair_templates(self, pieces: Sequence[ExpectedRow]) -> Repaired:
        """Store the templates of these pieces that are missing, and no lines; returns the pieces whose template cannot be stored.

        With a retention, templates that are there are written again: their lines must not outlive them.
        """
        repaired = Repaired()
        texts = {piece.row.template: piece.masked for piece in pieces}
        rejections: dict[str, Rejection] = {}
        for digests in _parts(list(texts), _TEMPLATES_AT_ONCE):
            rows = list(self._template_rows({digest: texts[digest] for digest in digests}, rejections))
            refused = self._write(rows, self._sink.upsert_templates)
            repaired.templates += len(rows) - len(refused)
            rejections |= refused
        repaired.rejected += (RejectedRow(one.row, rejections[one.row.template]) for one in pieces if one.row.template in rejections)
        return repaired

    def rewrite_rows(self, rows: Sequence[LineRow]) -> None:
        """Remove rows and write them again: a row that was stored twice under one id is then stored once."""
        self.remove_rows([row.id for row in rows])
        refused = self._write(rows, self._sink.upsert_lines)
        if refused:
            raise SinkRejected(f"rows that were stored are refused: {next(iter(refused.values())).reason}")

    def remove_rows(self, ids: Sequence[str]) -> None:
        """Remove rows by their ids."""
        for part in _parts(ids, self._rows_at_once):
            self._busy_retry.call(partial(self._sink.delete_lines, part))

    def close(self) -> None:
        """Free the engine and the tokenizer, if they were loaded."""
        if self._embedder is not None:
            self._embedder.close()
            self._embedder = None

    def _template_rows(self, texts: dict[str, str], rejections: dict[str, Rejection]) -> Iterator[TemplateRow]:
        if self._sink.retention_s is None:
            stored = self._busy_retry.call(lambda: self._sink.stored_templates(texts))
            missing = {digest: text for digest, text in texts.items() if digest not in stored}
        else:
            vectors = self._busy_retry.call(lambda: self._sink.template_vectors(texts))
            yield from (TemplateRow(digest, vector, texts[digest]) for digest, vector in vectors.items())
            missing = {digest: text for digest, text in texts.items() if digest not in vectors}
        if not missing:
            return
        if self._embedder is None:
            self._embedder = _Embedder(self._load(), self._busy_retry)
        for (digest, text), outcome in zip(missing.items(), self._embedder.embed(list(missing.values())), strict=True):
            if isinstance(outcome, EmbeddingFailed):
                rejections[digest] = rejected_text(outcome)
            else:
                yield TemplateRow(digest, outcome, text)

    def _write(self, rows: Sequence[Row], upsert: Callable[[Sequence[Row]], None]) -> dict[str, Rejection]:
        """Write all rows; return those that the sink refuses alone, by key."""
        refused: dict[str, Rejection] = {}
        todo = list(_parts(rows, self._rows_at_once))
        while todo:
            part = todo.pop()
            try:
                self._busy_retry.call(partial(upsert, part))
            except SinkRejected as error:
                if len(part) == 1:
                    refused[part[0][0]] = refused_by_sink(error)
                else:
                    todo += _parts(part, (len(part) + 1) // 2)
        return refused


class _Embedder:
    """A guarded engine with its tokenizer.

    Thread: one.
    """

    def __init__(self, model: LoadedModel, busy_retry: BusyRetry) -> None:
        self._prefix = model.prepared.document_prefix
        self._tokenizer: Tokenizer = model.new_tokenizer()
        self._engine = GuardedEngine(model.engine, model.golden, new_engine=model.new_engine, say=busy_retry.say, clock=busy_retry.clock)

    def embed(self, texts: Sequence[str]) -> Iterator[Outcome]:
        encoded = self._tokenizer.encode([self._prefix + text for text in texts])
        for batch in _batches([encoded.text(i) for i in range(len(texts))], self._engine):
            yield from self._engine.embed(batch)

    def close(self) -> None:
        self._engine.close()
        self._tokenizer.close()


def _batches(texts: Iterable[TokenIds], engine: GuardedEngine) -> Iterator[list[TokenIds]]:
    """Fill batches up to the current limit."""
    batch: list[TokenIds] = []
    tokens = 0
    for ids in texts:
        if batch and tokens + len(ids) > engine.limit_tokens:
            yield batch
            batch, tokens = [], 0
        batch.append(ids)
        tokens += len(ids)
    if batch:
        yield batch


def _parts(rows: Sequence[T], at_once: int) -> Iterator[Sequence[T]]:
    return (rows[start : start + at_once] for start in range(0, len(rows), at_once))
