"""What the index should hold for a record: the lines that the worker would write with these settings, or why there are none.

`worker.audit.verify` compares them with what is stored; a replay of dead letters stores them. It calls the functions of the prepare step,
so it cannot differ from it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.decode.decoder import Decoder
from consumers.record import Record
from consumers.rejection import RejectedPiece, Rejection
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from sinks.block import BlockPlace, Lines
from sinks.line import Line
from sinks.lines import all_lines, take_lines
from worker.embedding.loaded import model_of
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.indexing.pieces import lines_of_pieces, new_chunker, new_decoder, split_entries
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
        """Decode, redact, split and mask records of any partitions, all at once: the caller bounds their bytes. Keeps their order."""
        offset = np.fromiter((record.offset for record in records), np.int64, len(records))
        kafka_time = np.fromiter((record.time_ms for record in records), np.int64, len(records))
        decoded = self._decoder.decode([record.value for record in records], kafka_time)
        pieces = split_entries(decoded.entries, redactor=self._redactor, chunker=self._chunker)
        entry_row = pieces.entries.row
        lines = _lines_by_record(records, entry_row[pieces.cut.row], lines_of_pieces(pieces, offset, kafka_time))
        rejects: list[list[RejectedPiece]] = [[] for _ in records]
        for row, sub in zip(entry_row[pieces.cut.too_long].tolist(), pieces.entries.sub[pieces.cut.too_long].tolist(), strict=True):
            rejects[row].append(RejectedPiece(sub, 0, TOO_MANY_CHUNKS))
        refusals = dict(decoded.rejected)
        return [Expected(record, tuple(lines[row]), tuple(rejects[row]), refusals.get(row)) for row, record in enumerate(records)]

    def close(self) -> None:
        """Free the tokenizer."""
        self._tokenizer.close()


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


def _lines_by_record(records: Sequence[Record], row: NDArray[np.int64], lines: Lines) -> list[list[Line]]:
    """Return the lines of each record; `row` says which record each line is of."""
    found: list[list[Line]] = [[] for _ in records]
    place = [BlockPlace(record.topic, record.epoch, record.partition) for record in records]
    codes = {one: code for code, one in enumerate(dict.fromkeys(place))}
    code_of_line = np.fromiter((codes[one] for one in place), np.int64, len(place))[row]
    for one, code in codes.items():
        of_place = np.flatnonzero(code_of_line == code)
        for i, line in zip(row[of_place].tolist(), all_lines(one, take_lines(lines, of_place)), strict=True):
            found[i].append(line)
    return found
