"""What the index should hold for a record: the lines that the worker would write with these settings, or why there are none.

`worker.audit.verify` compares them with what is stored; a replay of dead letters stores them. It calls the functions of the prepare step,
so it cannot differ from it.
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from consumers.decode.decoder import Decoder, LogEntry, Undecodable
from consumers.record import Record
from consumers.rejection import RejectedPiece, Rejection
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from sinks.line import Line
from worker.embedding.loaded import model_of
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.indexing.pieces import lines_of_entry, new_chunker, new_decoder, split_entries
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor


class Expected(NamedTuple):
    """What one record should have left: lines, dead letters, or nothing (a tombstone, an empty line)."""

    record: Record
    lines: tuple[Line, ...]
    """In the order of `sub` and `chunk`."""
    rejects: tuple[RejectedPiece, ...] = ()
    """Pieces that belong in a dead letter instead."""
    refusal: Rejection | None = None
    """Why the whole record belongs in a dead letter."""

    @property
    def rejection(self) -> Rejection | None:
        """The one that its dead letter names; None if it needs no dead letter."""
        return self.rejects[0].rejection if self.refusal is None and self.rejects else self.refusal


class ExpectedLines:
    """Computes what each record should have left in the index.

    Thread: one; it holds a tokenizer.
    """

    def __init__(self, *, decoder: Decoder, redactor: Redactor, chunker: Chunker, tokenizer: Tokenizer) -> None:
        """`tokenizer` is the chunker's; `close` closes it."""
        self._decoder = decoder
        self._redactor = redactor
        self._chunker = chunker
        self._tokenizer = tokenizer

    def compute_expected(self, records: Sequence[Record]) -> list[Expected]:
        """Decode, redact, split and mask records, all at once: the caller bounds their bytes. Keeps their order."""
        decoded = [self._decode(record) for record in records]
        entries = [entry for found in decoded if not isinstance(found, Rejection) for entry in found]
        split = iter(split_entries(entries, redactor=self._redactor, chunker=self._chunker))
        expected: list[Expected] = []
        for record, found in zip(records, decoded, strict=True):
            if isinstance(found, Rejection):
                expected.append(Expected(record, (), refusal=found))
                continue
            lines: list[Line] = []
            rejects: list[RejectedPiece] = []
            for entry, pieces in islice(split, len(found)):
                lines += lines_of_entry(entry, pieces)
                if not pieces:
                    rejects.append(RejectedPiece(entry.sub, 0, TOO_MANY_CHUNKS))
            expected.append(Expected(record, tuple(lines), tuple(rejects)))
        return expected

    def close(self) -> None:
        """Free the tokenizer."""
        self._tokenizer.close()

    def _decode(self, record: Record) -> list[LogEntry] | Rejection:
        try:
            return self._decoder.decode(record)
        except Undecodable as error:
            return error.rejection


def open_expected_lines(settings: Settings) -> ExpectedLines:
    """Build the parts from the settings; prepares the model if needed, loads no engine. Raises ModelError."""
    model = model_of(settings)
    tokenizer = Tokenizer(model)
    return ExpectedLines(
        decoder=new_decoder(settings.decode),
        redactor=new_redactor(settings.redact),
        chunker=new_chunker(settings.mask, settings.decode, model, tokenizer),
        tokenizer=tokenizer,
    )
