"""From a pasted line to its template: decoded, redacted and masked as the settings of its topic say, without a model.

What `POST /api/lookup`, the MCP tool `lookup` and `vectail templates --of` need. A record that is pasted whole has its fields, so their
values go from its text as they do in the worker; of a text that is pasted alone they stay, and its template may be another one. A line that
is too long for the model is stored in pieces, each with a template of its own; that cut needs the model's tokenizer, so here such a line
stays whole, and its template will not be found in the index.
"""

import threading
from typing import NamedTuple

import numpy as np

from consumers.columns import Column, present, replace_rows, take
from consumers.decode.decoder import Decoder
from consumers.text.chunk import Chunker
from consumers.text.split_long import PieceLimits
from sinks.line import PIECE_BYTES
from sinks.row import TemplateText, template_id
from worker.indexing.redact_fields import redact_fields
from worker.settings.settings import Settings
from worker.settings.tables import MaskTable, new_masker, new_redactor
from worker.settings.topic_tables import TopicTable

_NO_LIMIT = 1 << 30
_MOST_TEMPLATES = 10


class LineTemplate(NamedTuple):
    """A kind of line that a pasted line may be."""

    template: str
    """Its id."""
    text: str
    """The masked text."""
    topics: tuple[str, ...]
    """Names, or patterns, of the topics whose settings make this of the line."""


class LineReader:
    """Reads pasted lines as the settings say.

    Thread: any; one at a time, because masks and decoders belong to one thread.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._redactor = new_redactor(settings.redact)
        self._chunkers: dict[MaskTable, Chunker] = {}
        self._lock = threading.Lock()

    def templates_of(self, line: str, topic: str | None) -> list[LineTemplate]:
        """Return what the line is in a topic, or in every topic of the settings; its end may be there or not.

        Empty if it holds no text. A line that holds several entries, as a JSON array does, has several, at most ten.
        """
        settings = self._settings
        tables = settings.topic if topic is None else (settings.topic_table(topic),)
        topics: dict[TemplateText, list[str]] = {}
        with self._lock:
            for table in tables:
                for text in self._masked(line, table):
                    topics.setdefault(TemplateText(text), []).append(topic or table.name or table.pattern or "")
        return [LineTemplate(template_id(text), text, tuple(dict.fromkeys(names))) for text, names in topics.items()][:_MOST_TEMPLATES]

    def _masked(self, line: str, table: TopicTable) -> list[str]:
        decoder = Decoder(table.rules(self._settings.decode))
        value = line.removesuffix("\n").removesuffix("\r").encode("utf-8", "replace")
        entries = decoder.decode([value], np.zeros(1, np.int64)).entries
        if not entries.size:
            return []
        source = None if entries.template is None else self._redact_sources(entries.template)
        cut = self._chunker(self._settings.mask if table.mask is None else table.mask).split(
            self._redactor.redact_column(entries.text), None, source, redact_fields(entries.fields, self._redactor)
        )
        return list(dict.fromkeys(cut.template.values[code] for code in cut.template.codes.tolist()))

    def _redact_sources(self, source: Column) -> Column:
        rows = np.flatnonzero(present(source))
        return replace_rows(source, rows, self._redactor.redact_column(take(source, rows))) if len(rows) else source

    def _chunker(self, mask: MaskTable) -> Chunker:
        """Return a chunker that leaves every line whole that a block takes."""
        if mask not in self._chunkers:
            self._chunkers[mask] = Chunker(
                mask=new_masker(mask).mask_column,
                count_tokens=lambda texts: [0] * len(texts),
                limits=PieceLimits(
                    max_tokens=_NO_LIMIT, overhead_tokens=0, max_text_bytes=PIECE_BYTES, max_chunks=self._settings.decode.max_chunks
                ),
                takes_templates=mask.mode == "template",
                takes_values=mask.takes_values,
            )
        return self._chunkers[mask]
