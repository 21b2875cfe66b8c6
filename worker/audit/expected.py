"""What the index owes for a record: the rows that the worker would write for it with these settings, or why there are none.

`worker.audit.verify` compares it with what is stored, a replay of dead letters stores it. Made by the very functions that prepare
and store call, so that it cannot differ from them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from consumers.decode.decoder import Decoder, LogEntry, Undecodable
from consumers.record import Record
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from sinks.row import LineRow
from worker.embedding.loaded import model_of, space_of
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.pieces import TOO_MANY_CHUNKS, new_chunker, new_decoder, split_entries
from worker.indexing.store import line_row
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor


class ExpectedRow(NamedTuple):
    """One row of the lines.

    Thread: any.
    """

    row: LineRow
    masked: str
    """The text of its template."""


class Expected(NamedTuple):
    """What one record must have left: rows, dead letters, or nothing at all.

    Thread: any.
    """

    record: Record
    pieces: tuple[ExpectedRow, ...]
    rejects: tuple[tuple[int, int, str], ...] = ()
    """(sub, chunk, reason) of pieces that must be in a dead letter instead."""
    refusal: str = ""
    """Not empty: the whole record must be a dead letter, for this reason."""

    @property
    def is_nothing(self) -> bool:
        """A tombstone, or an empty line."""
        return not self.pieces and not self.rejects and not self.refusal


class ExpectedRows:
    """Says what records owe; order and number are those of the records.

    Thread: one; it holds a tokenizer.
    """

    def __init__(self, *, decoder: Decoder, redactor: Redactor, chunker: Chunker, digester: Digester, tokenizer: Tokenizer) -> None:
        """`tokenizer` is the chunker's, and closed with this."""
        self._decoder = decoder
        self._redactor = redactor
        self._chunker = chunker
        self._digester = digester
        self._tokenizer = tokenizer

    def owed(self, records: Sequence[Record]) -> list[Expected]:
        """Decode, redact, split, mask and digest n records, all at once: the caller bounds their bytes."""
        decoded = [self._decode(record) for record in records]
        entries = [entry for found in decoded if not isinstance(found, str) for entry in found]
        split = iter(split_entries(entries, redactor=self._redactor, chunker=self._chunker, digester=self._digester))
        owed: list[Expected] = []
        for record, found in zip(records, decoded, strict=True):
            if isinstance(found, str):
                owed.append(Expected(record, (), refusal=found))
                continue
            pieces: list[ExpectedRow] = []
            rejects: list[tuple[int, int, str]] = []
            for entry in found:
                split_entry = next(split)
                pieces += (ExpectedRow(line_row(entry, piece), piece.masked) for piece in split_entry)
                if not split_entry:
                    rejects.append((entry.sub, 0, TOO_MANY_CHUNKS))
            owed.append(Expected(record, tuple(pieces), tuple(rejects)))
        return owed

    def close(self) -> None:
        """Free the tokenizer."""
        self._tokenizer.close()

    def _decode(self, record: Record) -> list[LogEntry] | str:
        try:
            return self._decoder.decode(record)
        except Undecodable as error:
            return error.reason


def open_expected_rows(settings: Settings) -> ExpectedRows:
    """Make what the settings say; the model is prepared or found so, no engine is loaded. Raises ModelError."""
    model = model_of(settings)
    tokenizer = Tokenizer(model)
    return ExpectedRows(
        decoder=new_decoder(settings.decode),
        redactor=new_redactor(settings.redact),
        chunker=new_chunker(settings.mask, settings.decode, model, tokenizer),
        digester=Digester(space_of(model, settings.model.dims), model.document_prefix),
        tokenizer=tokenizer,
    )
