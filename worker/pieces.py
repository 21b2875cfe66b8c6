"""From log entries to chunks, as the settings say: the one place where it is decided which pieces a line has and what they are.

Prepare makes the index with it, `vectail estimate` foretells one, and `worker.accounts` says what a record must have left there.
"""

from collections.abc import Sequence

from consumers.chunk import Chunk, Chunker
from consumers.decode import Decoder, LogEntry
from consumers.redact import Redactor
from sinks.row import TEXT_BYTES
from worker.model.prepared import PreparedModel
from worker.space import Digester
from worker.tables import DecodeTable, MaskTable, new_masker
from worker.tokenizer import Tokenizer

TOO_MANY_CHUNKS = "too_many_chunks"
"""Why an entry becomes a dead letter: piece (sub, 0) of its record."""


def new_decoder(table: DecodeTable) -> Decoder:
    """Make the decoder that the settings name."""
    return Decoder(form=table.format, strict=table.errors == "strict")


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


def chunks_of(entries: Sequence[LogEntry], *, redactor: Redactor, chunker: Chunker, digester: Digester) -> list[list[Chunk]]:
    """Redact, split and mask n entries: the chunks of each, none of one that would have more than `decode.max_chunks`."""
    texts = redactor.redact([entry.text for entry in entries])
    return [
        [Chunk(entry, index, len(pieces), piece.text, piece.masked, digester.digest(piece.masked)) for index, piece in enumerate(pieces)]
        for entry, pieces in zip(entries, chunker.split(texts), strict=True)
    ]
