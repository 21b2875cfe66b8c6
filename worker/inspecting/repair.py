"""Stores lines outside the stream: first their templates, embedded if missing, then whole entries in blocks of their own runs.

`vectail verify --repair` and the replay of dead letters call it. It assigns fault as the worker does: a text that fails alone while the
golden texts pass, or an entry that the sink refuses alone, is rejected and returned; every other fault stops the command. The engine is
loaded when the first text must be embedded. While the sink is busy, calls are retried for a bounded time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from consumers.rejection import Rejection
from sinks.block import BlockId
from sinks.line import Line
from sinks.row import TemplateId, TemplateRow, TemplateText, template_id
from sinks.sink import Sink, SinkRejected
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.vectors import EmbeddingFailed
from worker.indexing.dead_letter_reasons import refused_by_sink, rejected_by_engine
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.entry_writer import EntryOrigin, EntryWriter, entry_of
from worker.inspecting.template_embedder import TemplateEmbedder

T = TypeVar("T")

_BLOCKS_AT_ONCE = 1_000
_TEMPLATES_AT_ONCE = 512
"""Bounds the vectors that are held."""


class RejectedLine(NamedTuple):
    """A line that cannot be stored: it belongs in a dead letter."""

    line: Line
    rejection: Rejection


@dataclass(slots=True)
class Repaired:
    """What one call wrote.

    Thread: one.
    """

    lines: int = 0
    templates: int = 0
    rejected: list[RejectedLine] = field(default_factory=list)


class Repairer:
    """Every line that it reports as written has its template in the index.

    Thread: one; it holds an engine and a tokenizer once a template was missing.
    """

    def __init__(self, *, sink: Sink, load: Callable[[], LoadedModel], entry_writer: EntryWriter) -> None:
        """`load` is called at most once, when the first text must be embedded; it may raise ModelError."""
        self._sink = sink
        self._load = load
        self._entry_writer = entry_writer
        self._busy_retry: BusyRetry = entry_writer.busy_retry
        self._embedder: TemplateEmbedder | None = None

    def repair_lines(self, lines: Sequence[Line], origin: EntryOrigin) -> Repaired:
        """Store whole entries; returns the lines that cannot be stored. Raises the sink's exceptions, EngineFailed and ModelError."""
        repaired = self.repair_templates(lines)
        without_template = {one.line.template_text for one in repaired.rejected}
        storable = [line for line in lines if line.template_text not in without_template]
        refused = self._entry_writer.write_entries(storable, origin)
        rejected = [RejectedLine(line, refused[entry]) for line in storable if (entry := entry_of(line)) in refused]
        repaired.lines += len(storable) - len(rejected)
        repaired.rejected += rejected
        return repaired

    def repair_templates(self, lines: Sequence[Line]) -> Repaired:
        """Store the templates of these lines that are missing, and no lines; returns the lines whose template cannot be stored.

        With a retention, templates that are there are written again: their lines must not outlive them.
        """
        repaired = Repaired()
        texts = {template_id(text): text for text in dict.fromkeys(line.template_text for line in lines)}
        rejections: dict[TemplateId, Rejection] = {}
        for templates in _parts(list(texts), _TEMPLATES_AT_ONCE):
            rows = list(self._template_rows({template: texts[template] for template in templates}, rejections))
            refused = self._write_templates(rows)
            repaired.templates += len(rows) - len(refused)
            rejections |= refused
        if rejections:
            repaired.rejected += (RejectedLine(line, rejections[line.template]) for line in lines if line.template in rejections)
        return repaired

    def remove_blocks(self, ids: Sequence[BlockId]) -> None:
        """Remove blocks. All that is to stay of them must have been stored by `repair_lines` (design: deleting)."""
        for part in _parts(ids, _BLOCKS_AT_ONCE):
            self._busy_retry.call(partial(self._sink.delete_blocks, part))

    def close(self) -> None:
        """Free the engine and the tokenizer, if they were loaded."""
        if self._embedder is not None:
            self._embedder.close()
            self._embedder = None

    def _template_rows(self, texts: dict[TemplateId, TemplateText], rejections: dict[TemplateId, Rejection]) -> Iterator[TemplateRow]:
        if self._sink.retention_s is None:
            stored = self._busy_retry.call(lambda: self._sink.templates.stored(texts))
            missing = {template: text for template, text in texts.items() if template not in stored}
        else:
            vectors = self._busy_retry.call(lambda: self._sink.templates.vectors(texts))
            yield from (TemplateRow(template, vector, texts[template]) for template, vector in vectors.items())
            missing = {template: text for template, text in texts.items() if template not in vectors}
        if not missing:
            return
        if self._embedder is None:
            self._embedder = TemplateEmbedder(self._load(), self._busy_retry)
        for (template, text), outcome in zip(missing.items(), self._embedder.embed(list(missing.values())), strict=True):
            if isinstance(outcome, EmbeddingFailed):
                rejections[template] = rejected_by_engine(outcome)
            else:
                yield TemplateRow(template, outcome, text)

    def _write_templates(self, rows: Sequence[TemplateRow]) -> dict[TemplateId, Rejection]:
        """Write all rows; return those that the sink refuses alone, by id."""
        refused: dict[TemplateId, Rejection] = {}
        todo = [rows] if rows else []
        while todo:
            part = todo.pop()
            try:
                self._busy_retry.call(partial(self._sink.templates.upsert, part))
            except SinkRejected as error:
                if len(part) == 1:
                    refused[part[0].template] = refused_by_sink(error)
                else:
                    todo += _parts(part, (len(part) + 1) // 2)
        return refused


def _parts(rows: Sequence[T], at_once: int) -> Iterator[Sequence[T]]:
    return (rows[start : start + at_once] for start in range(0, len(rows), at_once))
