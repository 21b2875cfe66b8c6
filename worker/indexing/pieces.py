"""From log entries to chunks, as the settings say: the one place where it is decided which pieces a line has and what they are.

Prepare makes the index with it, `vectail estimate` foretells one, and `worker.audit` says what a record must have left there.
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

TOO_MANY_CHUNKS = "too_many_chunks"
"""Why an entry becomes a dead letter: piece (sub, 0) of its record."""
ENTRY_BYTES = 120
"""What a LogEntry takes besides its texts (seen with tracemalloc, CPython 3.11)."""
CHUNK_BYTES = 864
"""What a Chunk takes besides its texts: 150 bytes and its digest in the flights, and, as if it were the first of its kind, what that grows
to while the sink is away: token ids, then a vector."""
_NUMBER_BYTES = 4


def new_decoder(table: DecodeTable) -> Decoder:
    """Make the decoder that the settings name."""
    return Decoder(form=table.format, strict=table.errors == "strict", max_record_bytes=table.max_record_bytes)


def new_chunker(mask: MaskTable, decode: DecodeTable, model: PreparedModel, tokenizer: Tokenizer) -> Chunker:
    """Make the chunker that the settings name; `tokenizer` becomes its thread's."""
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
    """A piece of a log entry: which one of how many, its raw and its masked text, and the digest of the masked one.

    Thread: any.
    """

    chunk: int
    chunks: int
    text: str
    masked: str
    template: str


def split_entries(entries: Sequence[LogEntry], *, redactor: Redactor, chunker: Chunker, digester: Digester) -> list[list[TemplatedPiece]]:
    """Redact, split and mask n entries: the pieces of each; an entry of more than `decode.max_chunks` has none."""
    texts = redactor.redact([entry.text for entry in entries])
    return [
        [TemplatedPiece(index, len(pieces), piece.text, piece.masked, digester.digest(piece.masked)) for index, piece in enumerate(pieces)]
        for pieces in chunker.split(texts)
    ]


def held_bytes(entry: LogEntry, pieces: Sequence[TemplatedPiece], *, dim: int) -> int:
    """Return what one entry and its pieces take in memory until the last of them is stored, each with a vector of `dim` numbers."""
    held = ENTRY_BYTES + getsizeof(entry.text) + len(entry.service) + len(entry.level)
    for piece in pieces:
        held += CHUNK_BYTES + _NUMBER_BYTES * dim + getsizeof(piece.masked)
        if piece.text is not entry.text:
            held += getsizeof(piece.text)
    return held
