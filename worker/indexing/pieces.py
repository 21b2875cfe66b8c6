"""Splits log entries into pieces as configured: the only place that decides which rows an entry becomes.

Prepare builds the index with it, `vectail estimate` predicts an index, and `worker.audit` computes the rows that a record must have.
Redaction happens here, before anything is chunked, embedded or stored.
"""

from collections.abc import Sequence
from sys import getsizeof
from typing import NamedTuple

from consumers.decode.decoder import Decoder, LogEntry
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from sinks.row import TEXT_BYTES
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Tokenizer
from worker.settings.tables import DecodeTable, MaskTable, new_masker

ENTRY_BYTES = 120
"""Memory of a LogEntry besides its texts (measured with tracemalloc, CPython 3.11)."""
CHUNK_BYTES = 864
"""Memory of a Chunk besides its texts and the numbers of its vector: 150 bytes, its digest in the flights, and what the first chunk of a
template grows to while the sink is down (token ids, later a vector). Every chunk is counted as a first one."""
_NUMBER_BYTES = 4


def new_decoder(table: DecodeTable) -> Decoder:
    """Return a decoder as configured."""
    return Decoder(form=table.format, strict=table.errors == "strict", max_record_bytes=table.max_record_bytes)


def new_chunker(mask: MaskTable, decode: DecodeTable, model: PreparedModel, tokenizer: Tokenizer) -> Chunker:
    """Return a chunker as configured; it may be used only on the thread of `tokenizer`."""
    prefix = model.document_prefix
    return Chunker(
        mask=new_masker(mask).mask,
        count_tokens=lambda texts: tokenizer.count([prefix + text for text in texts]).tolist(),
        max_tokens=model.max_tokens,
        overhead_tokens=int(tokenizer.count([prefix])[0]),
        max_text_bytes=TEXT_BYTES,
        max_chunks=decode.max_chunks,
    )


class TemplatedPiece(NamedTuple):
    """A piece of a log entry: what becomes a `Chunk` once it has a receipt."""

    chunk: int
    """Which piece of the entry, from 0."""
    chunks: int
    """How many pieces the entry has."""
    text: str
    """Raw, redacted."""
    masked: str
    template: str
    """Digest of `masked`."""


SplitEntry = tuple[LogEntry, list[TemplatedPiece]]
"""A redacted entry and its pieces; no pieces if there are more than `decode.max_chunks`."""


def redact_entries(entries: Sequence[LogEntry], redactor: Redactor) -> Sequence[LogEntry]:
    """Redact the text, the service and the level of n entries, in order; an entry without secrets is returned as the same object."""
    if not redactor.has_rules:
        return entries
    redacted = redactor.redact([field for entry in entries for field in (entry.text, entry.service, entry.level)])
    return [
        entry
        if text is entry.text and service is entry.service and level is entry.level
        else entry._replace(text=text, service=service, level=level)
        for entry, text, service, level in zip(entries, redacted[0::3], redacted[1::3], redacted[2::3], strict=True)
    ]


def split_entries(entries: Sequence[LogEntry], *, redactor: Redactor, chunker: Chunker, digester: Digester) -> list[SplitEntry]:
    """Redact, split and mask n entries; returns n pairs in the same order. Only the returned entries may be embedded or stored."""
    redacted = redact_entries(entries, redactor)
    return [
        (
            entry,
            [
                TemplatedPiece(index, len(pieces), piece.text, piece.masked, digester.digest(piece.masked))
                for index, piece in enumerate(pieces)
            ],
        )
        for entry, pieces in zip(redacted, chunker.split([entry.text for entry in redacted]), strict=True)
    ]


def held_bytes(entry: LogEntry, pieces: Sequence[TemplatedPiece], *, dim: int) -> int:
    """Return the memory, in bytes, of an entry and its pieces until all are stored, each piece with a vector of `dim` float32."""
    held = ENTRY_BYTES + getsizeof(entry.text) + len(entry.service) + len(entry.level)
    for piece in pieces:
        held += CHUNK_BYTES + _NUMBER_BYTES * dim + getsizeof(piece.masked)
        if piece.text is not entry.text:
            held += getsizeof(piece.text)
    return held
