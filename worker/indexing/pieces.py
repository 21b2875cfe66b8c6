"""Splits log entries into pieces as configured: the only place that decides which lines are stored of an entry.

Prepare builds the index with it, `worker.indexing.resume` compares with what is stored already, `vectail estimate` predicts an index, and
`worker.audit` computes the lines that a record must have. Redaction happens here, before anything is chunked, embedded or stored.
"""

from collections.abc import Sequence
from sys import getsizeof
from typing import NamedTuple

from consumers.decode.decoder import Decoder, LogEntry
from consumers.text.chunk import Chunker, Piece
from consumers.text.redact import Redactor
from sinks.line import LEVEL_BYTES, PIECE_BYTES, SERVICE_BYTES, Line
from sinks.lines import cut_of
from sinks.row import template_id
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.settings.tables import DecodeTable, MaskTable, new_masker

ENTRY_BYTES = 120
"""Memory of a LogEntry besides its texts (measured with tracemalloc, CPython 3.11)."""
CHUNK_BYTES = 864
"""Memory of a Chunk besides its texts and the numbers of its vector: 150 bytes, its id in the flights, and what the first chunk of a
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
        max_text_bytes=PIECE_BYTES,
        max_chunks=decode.max_chunks,
    )


class TemplatedPiece(NamedTuple):
    """A piece of a log entry: what becomes a `Chunk` once it has a receipt."""

    chunk: int
    """Which piece of the entry, from 0."""
    chunks: int
    """How many pieces the entry has."""
    cut: int
    """How the entry was cut; 0 for one piece."""
    text: str
    """Raw, redacted."""
    masked: str
    """The text of its template."""
    template: str
    """Id of its template."""


SplitEntry = tuple[LogEntry, list[TemplatedPiece]]
"""A redacted entry and its pieces; no pieces if there are more than `decode.max_chunks`."""


def redact_entries(entries: Sequence[LogEntry], redactor: Redactor) -> Sequence[LogEntry]:
    """Redact the text and the service of n entries, in order; an entry without secrets is returned as the same object.

    A level is one of a few words (`consumers.decode.levels`) and holds no secret.
    """
    if not redactor.has_rules:
        return entries
    redacted = redactor.redact([field for entry in entries for field in (entry.text, entry.service)])
    return [
        entry if text is entry.text and service is entry.service else entry._replace(text=text, service=service)
        for entry, text, service in zip(entries, redacted[0::2], redacted[1::2], strict=True)
    ]


def split_entries(entries: Sequence[LogEntry], *, redactor: Redactor, chunker: Chunker) -> list[SplitEntry]:
    """Redact, clip, split and mask n entries; returns n pairs in the same order. Only the returned entries may be embedded or stored."""
    redacted = [_clip_labels(entry) for entry in redact_entries(entries, redactor)]
    return [(entry, _templated(pieces)) for entry, pieces in zip(redacted, chunker.split([entry.text for entry in redacted]), strict=True)]


def lines_of_entry(entry: LogEntry, pieces: Sequence[TemplatedPiece]) -> list[Line]:
    """Return what is stored of an entry: a line for each of its pieces. Both are `split_entries`'s."""
    record = entry.record
    return [
        Line(
            topic=record.topic,
            epoch=record.epoch,
            partition=record.partition,
            offset=record.offset,
            sub=entry.sub,
            chunk=piece.chunk,
            chunks=piece.chunks,
            text=piece.text,
            template_text=piece.masked,
            time=entry.time_ms,
            kafka_time=record.time_ms,
            service=entry.service,
            level=entry.level,
            cut=piece.cut,
        )
        for piece in pieces
    ]


def held_bytes(entry: LogEntry, pieces: Sequence[TemplatedPiece], *, dim: int) -> int:
    """Return the memory, in bytes, of an entry and its pieces until all are stored, each piece with a vector of `dim` float32."""
    held = ENTRY_BYTES + getsizeof(entry.text) + len(entry.service) + len(entry.level)
    for piece in pieces:
        held += CHUNK_BYTES + _NUMBER_BYTES * dim + getsizeof(piece.masked)
        if piece.text is not entry.text:
            held += getsizeof(piece.text)
    return held


def _templated(pieces: Sequence[Piece]) -> list[TemplatedPiece]:
    cut = cut_of([piece.text for piece in pieces]) if len(pieces) > 1 else 0
    return [
        TemplatedPiece(number, len(pieces), cut, piece.text, piece.masked, template_id(piece.masked)) for number, piece in enumerate(pieces)
    ]


def _clip_labels(entry: LogEntry) -> LogEntry:
    """Cut service and level to what is stored of them: labels are for filtering, so a cut one is better than a dead letter."""
    service, level = _clip(entry.service, SERVICE_BYTES), _clip(entry.level, LEVEL_BYTES)
    return entry if service is entry.service and level is entry.level else entry._replace(service=service, level=level)


def _clip(text: str, most_bytes: int) -> str:
    return text if len(text) * 4 <= most_bytes else text.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
