"""What the index owes for a record: the rows that the worker would write for it with these settings, or why there are none.

`worker.audit.verify` compares it with what is stored, a replay of dead letters stores it. Made by the very functions that prepare
and store call, so that it cannot differ from them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from consumers.decode.decoder import Decoder, LogEntry, Undecodable
from consumers.ledger import Ledger, Receipt
from consumers.record import Partition, Record
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from sinks.row import LineRow
from worker.embedding.loaded import model_of, space_of
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.pieces import TOO_MANY_CHUNKS, chunks_of, new_chunker, new_decoder
from worker.indexing.store import line_row
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor

_NO_CAP = 1 << 62


class OwedPiece(NamedTuple):
    """One row of the lines.

    Thread: any.
    """

    row: LineRow
    masked: str
    """The text of its template."""


class Owed(NamedTuple):
    """What one record must have left: rows, dead letters, or nothing at all.

    Thread: any.
    """

    record: Record
    pieces: tuple[OwedPiece, ...]
    rejects: tuple[tuple[int, int, str], ...] = ()
    """(sub, chunk, reason) of pieces that must be in a dead letter instead."""
    refusal: str = ""
    """Not empty: the whole record must be a dead letter, for this reason."""

    @property
    def is_nothing(self) -> bool:
        """A tombstone, or an empty line."""
        return not self.pieces and not self.rejects and not self.refusal


class PieceMaker:
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

    def owed(self, records: Sequence[Record]) -> list[Owed]:
        """Decode, redact, split, mask and digest n records, all at once: the caller bounds their bytes."""
        decoded = [self._decode(receipt) for receipt in _receipts(records)]
        entries = [entry for found in decoded if not isinstance(found, str) for entry in found]
        split = iter(chunks_of(entries, redactor=self._redactor, chunker=self._chunker, digester=self._digester))
        owed: list[Owed] = []
        for record, found in zip(records, decoded, strict=True):
            if isinstance(found, str):
                owed.append(Owed(record, (), refusal=found))
                continue
            pieces: list[OwedPiece] = []
            rejects: list[tuple[int, int, str]] = []
            for entry in found:
                chunks = next(split)
                pieces += (OwedPiece(line_row(chunk), chunk.masked) for chunk in chunks)
                if not chunks:
                    rejects.append((entry.sub, 0, TOO_MANY_CHUNKS))
            owed.append(Owed(record, tuple(pieces), tuple(rejects)))
        return owed

    def close(self) -> None:
        """Free the tokenizer."""
        self._tokenizer.close()

    def _decode(self, receipt: Receipt) -> list[LogEntry] | str:
        try:
            return self._decoder.decode(receipt)
        except Undecodable as error:
            return error.reason


def open_piece_maker(settings: Settings) -> PieceMaker:
    """Make what the settings say; the model is prepared or found so, no engine is loaded. Raises ModelError."""
    model = model_of(settings)
    tokenizer = Tokenizer(model)
    return PieceMaker(
        decoder=new_decoder(settings.decode),
        redactor=new_redactor(settings.redact),
        chunker=new_chunker(settings.mask, settings.decode, model, tokenizer),
        digester=Digester(space_of(model, settings.model.dims), model.document_prefix),
        tokenizer=tokenizer,
    )


def _receipts(records: Sequence[Record]) -> list[Receipt]:
    """Return receipts of a ledger of their own, which ends with them: decoding asks for one, and nothing here is ever settled."""
    ledger = Ledger(cap_records=_NO_CAP, cap_bytes=_NO_CAP, dead_letter=lambda _receipt, _reason, _rejects: None)
    ledger.assign({Partition(record.topic, record.partition) for record in records})
    return [receipt for record in records if (receipt := ledger.admit(record)) is not None]
