"""Counts what a sample of lines is made of, decoded, redacted, chunked and masked as the worker does it, in both modes.

`vectail estimate` passes stretches of lines, in order, and assumes a cold cache: a line needs the engine if one of its chunks has a
template that did not occur before. In mode `exact`, every distinct text is a template. For each template it keeps a digest of 16 bytes and
three numbers, and the token ids of the first ones, to measure the engine.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from consumers.decode.decoder import Decoder, LogEntry, Undecodable
from consumers.record import Record
from consumers.text.chunk import Chunker, Piece
from consumers.text.mask import MaskMode
from consumers.text.redact import Redactor
from worker.embedding.model.vectors import TokenIds
from worker.embedding.tokenizer import Encoded
from worker.estimate.block_tally import BlockTally
from worker.estimate.sampling import Line, LineStretch
from worker.indexing.pieces import redact_entries

_MOST_KEPT_TOKENS = 1 << 18


@dataclass(slots=True)
class _Template:
    tokens: int
    """Of the model's input, special tokens and prefix included."""
    stretches: int = 0
    """How many stretches it occurs in."""
    last_stretch: int = -1
    """Number of the last one."""


@dataclass(slots=True)
class ModeTally:
    """What the sample is made of in one mode; numbers only grow.

    Thread: one.
    """

    pieces: int = 0
    """What the index holds: log entries, or chunks of long ones."""
    blocks: BlockTally = field(default_factory=BlockTally)
    """What they take in it."""
    chunked_entries: int = 0
    """Log entries that are split into chunks."""
    too_many_chunks_entries: int = 0
    """Log entries above decode.max_chunks, which would become dead letters."""
    new_entries: int = 0
    """Log entries with a template that did not occur before."""
    tokens: int = 0
    template_tokens: int = 0
    """Tokens of every template, once each: what the engine computes."""
    template_text_bytes: int = 0
    entry_tokens: Counter[int] = field(default_factory=Counter)
    """Number of log entries by their tokens, all chunks together."""
    kept: list[TokenIds] = field(default_factory=list)
    """Token ids of the first templates."""
    _templates: dict[bytes, _Template] = field(default_factory=dict)

    @property
    def templates(self) -> int:
        """Distinct templates so far."""
        return len(self._templates)

    def templates_by_stretches(self) -> Counter[int]:
        """Return by n how many templates occur in exactly n stretches."""
        return Counter(template.stretches for template in self._templates.values())

    def add_pieces(self, stretches: Sequence[Sequence[Sequence[Piece]]], first: int, encode: Callable[[Sequence[str]], Encoded]) -> None:
        """Count the pieces of each log entry of each stretch; `first` is the number of the first stretch."""
        keyed = [[[(_digest(piece.masked), piece.masked) for piece in pieces] for pieces in stretch] for stretch in stretches]
        fresh = self._add_templates(
            {key: text for stretch in keyed for entry in stretch for key, text in entry if key not in self._templates}, encode
        )
        for number, stretch in enumerate(keyed, start=first):
            for entry in stretch:
                self._count([digest for digest, _ in entry], number, fresh)

    def _count(self, digests: Sequence[bytes], stretch: int, fresh: set[bytes]) -> None:
        """Count one log entry; `fresh` are the templates that no earlier entry has."""
        tokens = 0
        for digest in digests:
            template = self._templates[digest]
            tokens += template.tokens
            if template.last_stretch != stretch:
                template.stretches += 1
                template.last_stretch = stretch
        self.new_entries += not fresh.isdisjoint(digests)
        fresh.difference_update(digests)
        self.pieces += len(digests)
        self.chunked_entries += len(digests) > 1
        self.too_many_chunks_entries += not digests
        self.tokens += tokens
        if digests:
            self.entry_tokens[tokens] += 1

    def _add_templates(self, texts: Mapping[bytes, str], encode: Callable[[Sequence[str]], Encoded]) -> set[bytes]:
        encoded = encode(list(texts.values()))
        for i, (digest, text) in enumerate(texts.items()):
            ids = encoded.text(i)
            self._templates[digest] = _Template(len(ids))
            self.template_tokens += len(ids)
            self.template_text_bytes += len(text.encode("utf-8", "replace"))
            if self.template_tokens <= _MOST_KEPT_TOKENS:
                self.kept.append(ids.copy())
        return set(texts)


class SampleTally:
    """Counts of all lines that were added; numbers only grow.

    Thread: one; it holds a tokenizer.
    """

    def __init__(
        self, *, decoder: Decoder, redactor: Redactor, chunkers: Mapping[MaskMode, Chunker], encode: Callable[[Sequence[str]], Encoded]
    ) -> None:
        """`encode` adds the document prefix to each text."""
        self._decoder = decoder
        self._redactor = redactor
        self._chunkers = chunkers
        self._encode = encode
        self.modes: dict[MaskMode, ModeTally] = {mode: ModeTally() for mode in chunkers}
        self.stretches = 0
        self.lines = 0
        """Of the files; each would be a Kafka record."""
        self.size_bytes = 0
        """Of these lines in the files, line ends included."""
        self.entries = 0
        """Log entries: one per line, but none in an empty line and several in an array of JSON objects."""
        self.empty_lines = 0
        self.undecodable_lines = 0
        self.too_large_lines = 0

    @property
    def not_utf8_lines(self) -> int:
        """Lines in which bytes that are not UTF-8 were replaced."""
        return self._decoder.replaced_records

    def add_stretches(self, stretches: Sequence[LineStretch]) -> None:
        """Count stretches, in order."""
        entries: list[LogEntry] = []
        ends: list[int] = []
        for stretch in stretches:
            entries += (entry for line in stretch.lines for entry in self._entries(line))
            ends.append(len(entries))
            self.lines += len(stretch.lines)
            self.size_bytes += stretch.size_bytes
        self.entries += len(entries)
        redacted = redact_entries(entries, self._redactor)
        texts = [entry.text for entry in redacted]
        for mode, chunker in self._chunkers.items():
            split = chunker.split(texts)
            self.modes[mode].blocks.add_entries(list(zip(redacted, split, strict=True)))
            self.modes[mode].add_pieces([split[begin:end] for begin, end in pairwise([0, *ends])], self.stretches, self._encode)
        self.stretches += len(stretches)

    def finish(self) -> None:
        """Count what is left; after the last stretch."""
        for mode in self.modes.values():
            mode.blocks.finish()

    def _entries(self, line: Line) -> list[LogEntry]:
        if line is None:
            self.too_large_lines += 1
            return []
        try:
            entries = self._decoder.decode(Record("estimate", 0, 0, "", 0, None, line, ()))
        except Undecodable:
            self.undecodable_lines += 1
            return []
        self.empty_lines += not entries
        return entries


def _digest(masked: str) -> bytes:
    return hashlib.blake2b(masked.encode("utf-8", "replace"), digest_size=16).digest()
