"""Stores pieces outside of the stream: their templates first, embedded where they are missing, then their lines.

`vectail verify --repair` and the replay of dead letters call it. The blame is the worker's: a text that fails alone while the golden texts
pass, and a row that the sink refuses alone, are refused and told; everything else stops the tool. The engine is loaded when it is needed
first. A busy sink is waited for, as long as the caller's patience lasts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import NamedTuple, TypeVar

from sinks.row import LineRow, TemplateRow
from sinks.sink import Sink, SinkBusy, SinkRejected
from worker.audit.expected import ExpectedRow
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.vectors import TokenIds, Vector
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import REFUSED_BY_SINK
from worker.runtime.retry import BACK_OFF_S

T = TypeVar("T")
Row = TypeVar("Row", LineRow, TemplateRow)

ROWS_AT_ONCE = 2_000
_TEMPLATES_AT_ONCE = 512
"""Vectors are held for so many."""


class RowRefused(NamedTuple):
    """A piece that cannot be stored: it belongs among the dead letters."""

    row: LineRow
    reason: str


@dataclass(slots=True)
class Repaired:
    """What one call has written.

    Thread: one.
    """

    lines: int = 0
    templates: int = 0
    refused: list[RowRefused] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyRetry:
    """Tries again while the sink is busy, but no longer than `limit_s` for one call.

    Thread: one.
    """

    limit_s: float
    say: Callable[[str], None]
    pause: Callable[[float], bool]
    """Waits so many seconds; True when the user wants to stop."""
    clock: Callable[[], float]

    def call(self, ask: Callable[[], T]) -> T:
        """Return what the sink answers. Raises SinkBusy once patience is at its end, and whatever else the sink raises."""
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
    """A line that it says it wrote has its template in the index.

    Thread: one; it holds an engine and a tokenizer once a template was missing.
    """

    def __init__(self, *, sink: Sink, load: Callable[[], LoadedModel], patience: BusyRetry, rows_at_once: int = ROWS_AT_ONCE) -> None:
        """`load` is called at most once, when a text must be embedded; it may raise ModelError."""
        self._sink = sink
        self._load = load
        self._patience = patience
        self._rows_at_once = rows_at_once
        self._embedder: _Embedder | None = None

    def mend(self, pieces: Sequence[ExpectedRow]) -> Repaired:
        """Store all pieces, or say which cannot be stored. Raises the sink's exceptions, EngineFailed and ModelError."""
        mended = self.mend_templates(pieces)
        hopeless = {refused.row.id for refused in mended.refused}
        rows = [piece.row for piece in pieces if piece.row.id not in hopeless]
        refused = self._write(rows, self._sink.upsert_lines)
        mended.lines += len(rows) - len(refused)
        mended.refused += (RowRefused(row, refused[row.id]) for row in rows if row.id in refused)
        return mended

    def mend_templates(self, pieces: Sequence[ExpectedRow]) -> Repaired:
        """Store the templates of the pieces that are missing, and no lines; refused are the pieces that stay without one.

        Where rows do not live for ever, those that are there are written again: the lines must not outlive them.
        """
        mended = Repaired()
        texts = {piece.row.template: piece.masked for piece in pieces}
        hopeless: dict[str, str] = {}
        for digests in _parts(list(texts), _TEMPLATES_AT_ONCE):
            rows = list(self._template_rows({digest: texts[digest] for digest in digests}, hopeless))
            refused = self._write(rows, self._sink.upsert_templates)
            mended.templates += len(rows) - len(refused)
            hopeless |= refused
        mended.refused += (RowRefused(piece.row, hopeless[piece.row.template]) for piece in pieces if piece.row.template in hopeless)
        return mended

    def rewrite(self, rows: Sequence[LineRow]) -> None:
        """Remove rows and write them as they are: what was stored twice under one id is then stored once."""
        self.remove([row.id for row in rows])
        refused = self._write(rows, self._sink.upsert_lines)
        if refused:
            raise SinkRejected(f"rows that were stored are refused: {next(iter(refused.values()))}")

    def remove(self, ids: Sequence[str]) -> None:
        """Remove rows by their ids."""
        for part in _parts(ids, self._rows_at_once):
            self._patience.call(partial(self._sink.delete_lines, part))

    def close(self) -> None:
        """Free the engine and the tokenizer, if they were loaded."""
        if self._embedder is not None:
            self._embedder.close()
            self._embedder = None

    def _template_rows(self, texts: dict[str, str], hopeless: dict[str, str]) -> Iterator[TemplateRow]:
        if self._sink.retention_s is None:
            stored = self._patience.call(lambda: self._sink.stored_templates(texts))
            missing = {digest: text for digest, text in texts.items() if digest not in stored}
        else:
            vectors = self._patience.call(lambda: self._sink.template_vectors(texts))
            yield from (TemplateRow(digest, vector, texts[digest]) for digest, vector in vectors.items())
            missing = {digest: text for digest, text in texts.items() if digest not in vectors}
        if not missing:
            return
        if self._embedder is None:
            self._embedder = _Embedder(self._load(), self._patience)
        for (digest, text), outcome in zip(missing.items(), self._embedder.embed(list(missing.values())), strict=True):
            if isinstance(outcome, str):
                hopeless[digest] = outcome
            else:
                yield TemplateRow(digest, outcome, text)

    def _write(self, rows: Sequence[Row], upsert: Callable[[Sequence[Row]], None]) -> dict[str, str]:
        """Write all rows; return key and reason of those that the sink refuses alone."""
        refused: dict[str, str] = {}
        todo = list(_parts(rows, self._rows_at_once))
        while todo:
            part = todo.pop()
            try:
                self._patience.call(partial(upsert, part))
            except SinkRejected as error:
                if len(part) == 1:
                    refused[part[0][0]] = f"{REFUSED_BY_SINK}{error}"
                else:
                    todo += _parts(part, (len(part) + 1) // 2)
        return refused


class _Embedder:
    """An engine behind its judge, with a tokenizer.

    Thread: one.
    """

    def __init__(self, model: LoadedModel, patience: BusyRetry) -> None:
        self._prefix = model.prepared.document_prefix
        self._tokenizer: Tokenizer = model.new_tokenizer()
        self._judge = GuardedEngine(model.engine, model.golden, new_engine=model.new_engine, say=patience.say, clock=patience.clock)

    def embed(self, texts: Sequence[str]) -> Iterator[Vector | str]:
        encoded = self._tokenizer.encode([self._prefix + text for text in texts])
        for batch in _batches([encoded.text(i) for i in range(len(texts))], self._judge):
            yield from self._judge.embed(batch)

    def close(self) -> None:
        self._judge.close()
        self._tokenizer.close()


def _batches(texts: Iterable[TokenIds], judge: GuardedEngine) -> Iterator[list[TokenIds]]:
    """Fill batches up to what the judge allows at that moment."""
    batch: list[TokenIds] = []
    tokens = 0
    for ids in texts:
        if batch and tokens + len(ids) > judge.limit_tokens:
            yield batch
            batch, tokens = [], 0
        batch.append(ids)
        tokens += len(ids)
    if batch:
        yield batch


def _parts(things: Sequence[T], at_once: int) -> Iterator[Sequence[T]]:
    return (things[start : start + at_once] for start in range(0, len(things), at_once))
