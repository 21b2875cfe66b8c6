"""What a sample of lines is made of: decoded, redacted, chunked and masked as the worker does it, in both modes.

`vectail estimate` gives it stretches of lines, one after another, from a cold cache: a line needs the engine when one of its chunks is of
a kind (a template, in mode `exact` a text) that did not come before. Of each kind it keeps 16 bytes of digest and three numbers, and of
the first kinds their token ids, so that the engine can be tried on them.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from consumers.decode.decoder import Decoder, LogEntry, Undecodable
from consumers.record import Record
from consumers.text.chunk import Chunker, MaskTexts, Piece
from consumers.text.mask import MaskMode
from worker.embedding.model.vectors import TokenIds
from worker.embedding.tokenizer import Encoded
from worker.estimate.sampling import Line, Stretch

_MOST_KEPT_TOKENS = 1 << 18


@dataclass(slots=True)
class _Kind:
    tokens: int
    """Of the model's input, special tokens and prefix included."""
    met_in: int = 0
    """Stretches with it."""
    last: int = -1
    """The stretch that had it last."""


@dataclass(slots=True)
class ModeSurvey:
    """What one mode makes of the sample.

    Thread: one.
    """

    rows: int = 0
    """Log entries, or chunks of long ones: rows of the index."""
    chunked_entries: int = 0
    """Log entries that are split."""
    too_many_chunks_entries: int = 0
    """Those that would become dead letters: more than decode.max_chunks."""
    new_entries: int = 0
    """Those with a kind that did not come before."""
    tokens: int = 0
    kind_tokens: int = 0
    """Tokens of all kinds, once each: what the engine computes."""
    kind_text_bytes: int = 0
    entry_tokens: Counter[int] = field(default_factory=Counter)
    """Tokens of a log entry, all its chunks together → log entries."""
    kept: list[TokenIds] = field(default_factory=list)
    """Token ids of the first kinds."""
    _kinds: dict[bytes, _Kind] = field(default_factory=dict)

    @property
    def kinds(self) -> int:
        """Different texts that were embedded."""
        return len(self._kinds)

    def met_in(self) -> Counter[int]:
        """Return stretches → kinds met in so many of them."""
        return Counter(kind.met_in for kind in self._kinds.values())

    def add(self, stretches: Sequence[Sequence[Sequence[Piece]]], first: int, encode: Callable[[Sequence[str]], Encoded]) -> None:
        """Count the pieces of each log entry of each stretch; `first` is the number of the first stretch."""
        keyed = [[[(_digest(piece.masked), piece.masked) for piece in pieces] for pieces in stretch] for stretch in stretches]
        fresh = self._learn({key: text for stretch in keyed for entry in stretch for key, text in entry if key not in self._kinds}, encode)
        for number, stretch in enumerate(keyed, start=first):
            for entry in stretch:
                self._count([digest for digest, _ in entry], number, fresh)

    def _count(self, digests: Sequence[bytes], stretch: int, fresh: set[bytes]) -> None:
        """Count one log entry; `fresh` are the kinds that no entry before it had."""
        tokens = 0
        for digest in digests:
            kind = self._kinds[digest]
            tokens += kind.tokens
            if kind.last != stretch:
                kind.met_in += 1
                kind.last = stretch
        self.new_entries += not fresh.isdisjoint(digests)
        fresh.difference_update(digests)
        self.rows += len(digests)
        self.chunked_entries += len(digests) > 1
        self.too_many_chunks_entries += not digests
        self.tokens += tokens
        if digests:
            self.entry_tokens[tokens] += 1

    def _learn(self, texts: Mapping[bytes, str], encode: Callable[[Sequence[str]], Encoded]) -> set[bytes]:
        encoded = encode(list(texts.values()))
        for i, (digest, text) in enumerate(texts.items()):
            ids = encoded.text(i)
            self._kinds[digest] = _Kind(len(ids))
            self.kind_tokens += len(ids)
            self.kind_text_bytes += len(text.encode("utf-8", "replace"))
            if self.kind_tokens <= _MOST_KEPT_TOKENS:
                self.kept.append(ids.copy())
        return set(texts)


class Survey:
    """Counts of all lines that were added.

    Thread: one; it holds a tokenizer.
    """

    def __init__(
        self, *, decoder: Decoder, redact: MaskTexts, chunkers: Mapping[MaskMode, Chunker], encode: Callable[[Sequence[str]], Encoded]
    ) -> None:
        """`encode` puts the prefix of documents before each text."""
        self._decoder = decoder
        self._redact = redact
        self._chunkers = chunkers
        self._encode = encode
        self.modes: dict[MaskMode, ModeSurvey] = {mode: ModeSurvey() for mode in chunkers}
        self.stretches = 0
        self.lines = 0
        """Of the files; each is a record for Kafka."""
        self.size_bytes = 0
        """Of these lines in the files."""
        self.entries = 0
        """Log entries in them: one a line, but none in an empty line, and several in an array of JSON objects."""
        self.empty_lines = 0
        self.undecodable_lines = 0
        self.too_large_lines = 0
        self.text_bytes = 0
        self.label_bytes = 0
        """Of service and level."""

    @property
    def not_utf8_lines(self) -> int:
        """Lines with bytes that are not UTF-8, which are replaced."""
        return self._decoder.replaced_records

    def add(self, stretches: Sequence[Stretch]) -> None:
        """Count stretches, in order."""
        entries: list[LogEntry] = []
        ends: list[int] = []
        for stretch in stretches:
            entries += (entry for line in stretch.lines for entry in self._entries(line))
            ends.append(len(entries))
            self.lines += len(stretch.lines)
            self.size_bytes += stretch.size_bytes
        self.entries += len(entries)
        texts = self._redact([entry.text for entry in entries])
        self.text_bytes += sum(len(text.encode("utf-8", "replace")) for text in texts)
        self.label_bytes += sum(len((entry.service + entry.level).encode("utf-8", "replace")) for entry in entries)
        for mode, chunker in self._chunkers.items():
            split = chunker.split(texts)
            self.modes[mode].add([split[begin:end] for begin, end in pairwise([0, *ends])], self.stretches, self._encode)
        self.stretches += len(stretches)

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
