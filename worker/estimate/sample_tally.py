"""Counts what a sample of lines is made of, decoded, redacted, chunked and masked as the worker does it, in both modes.

`vectail estimate` passes stretches of lines, in order, and assumes a cold cache: a line needs the engine if one of its chunks has a
template that did not occur before. In mode `exact`, every distinct text is a template. For each template it keeps a digest of 16 bytes and
two numbers, and the token ids of the first ones, to measure the engine. Times and offsets of the lines are made up: a record each, a
millisecond apart.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from consumers.decode.decoder import Decoder
from consumers.text.chunk import Chunker, Cut
from consumers.text.mask import MaskMode
from consumers.text.redact import Redactor
from worker.embedding.model.vectors import TokenIds
from worker.embedding.tokenizer import Encoded
from worker.estimate.block_tally import BlockTally
from worker.estimate.line_sampling import LineStretch
from worker.indexing.pieces import lines_of_pieces, split_entries

_MOST_KEPT_TOKENS = 1 << 18


@dataclass(slots=True)
class _Template:
    tokens: int
    """Of the model's input, special tokens and prefix included."""
    stretches: int = 0
    """How many stretches it occurs in."""


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

    def add_pieces(self, cut: Cut, stretch: NDArray[np.int64], encode: Callable[[Sequence[str]], Encoded]) -> None:
        """Count the pieces of log entries; `stretch` (int64[entries]) is which stretch each is in, one that was not counted before."""
        digests = [_digest(text) for text in cut.template.values]
        fresh = {digest: text for digest, text in zip(digests, cut.template.values, strict=True) if digest not in self._templates}
        self._add_templates(fresh, encode)
        codes, first_piece = np.unique(cut.template.codes, return_index=True)
        is_fresh = np.fromiter((digest in fresh for digest in digests), np.bool_, len(digests))
        self.new_entries += len(np.unique(cut.row[first_piece[is_fresh[codes]]]))
        places = np.unique(np.stack([cut.template.codes, stretch[cut.row]]), axis=1)
        for code, stretches in enumerate(np.bincount(places[0], minlength=len(digests)).tolist()):
            self._templates[digests[code]].stretches += stretches
        tokens = np.fromiter((self._templates[digest].tokens for digest in digests), np.int64, len(digests))[cut.template.codes]
        entry_tokens = np.bincount(cut.row, tokens, minlength=len(stretch)).astype(np.int64)
        self.entry_tokens.update(entry_tokens[np.unique(cut.row)].tolist())
        self.tokens += int(tokens.sum())
        self.pieces += len(cut.row)
        self.chunked_entries += int(np.count_nonzero((cut.chunk == 0) & (cut.chunks > 1)))
        self.too_many_chunks_entries += len(cut.too_long)

    def _add_templates(self, texts: Mapping[bytes, str], encode: Callable[[Sequence[str]], Encoded]) -> None:
        encoded = encode(list(texts.values()))
        for i, (digest, text) in enumerate(texts.items()):
            ids = encoded.text(i)
            self._templates[digest] = _Template(len(ids))
            self.template_tokens += len(ids)
            self.template_text_bytes += len(text.encode("utf-8", "replace"))
            if self.template_tokens <= _MOST_KEPT_TOKENS:
                self.kept.append(ids.copy())


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
        self._end_ms = 0
        """Where the times of the next stretch begin."""
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
        return self._decoder.tally.replaced_records

    def add_stretches(self, stretches: Sequence[LineStretch]) -> None:
        """Count stretches, in order."""
        lines = [line for stretch in stretches for line in stretch.lines]
        values = [line for line in lines if line is not None]
        place = np.flatnonzero([line is not None for line in lines])
        number = self.lines + place
        decoded = self._decoder.decode(values, np.zeros(len(values), np.int64))  # Kafka has no time for them
        stretch_ends = np.cumsum([len(stretch.lines) for stretch in stretches])
        stretch = np.searchsorted(stretch_ends, place[decoded.entries.row], side="right")
        time_ms = np.where(decoded.entries.time_ms == 0, number[decoded.entries.row], decoded.entries.time_ms)
        entries = decoded.entries._replace(time_ms=self._without_gaps(time_ms, stretch))
        for mode, chunker in self._chunkers.items():
            pieces = split_entries(entries, redactor=self._redactor, chunker=chunker)
            self.modes[mode].blocks.add_lines(lines_of_pieces(pieces, number, number))
            self.modes[mode].add_pieces(pieces.cut, stretch, self._encode)
        self.lines += len(lines)
        self.size_bytes += sum(stretch.size_bytes for stretch in stretches)
        self.stretches += len(stretches)
        self.entries += decoded.entries.size
        self.empty_lines += len(decoded.empty)
        self.undecodable_lines += len(decoded.rejected)
        self.too_large_lines += len(lines) - len(values)

    def _without_gaps(self, time_ms: NDArray[np.int64], stretch: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return times as if each stretch had followed the one before: what lies between is not in the sample."""
        closed = time_ms.copy()
        for one in np.unique(stretch).tolist():
            rows = np.flatnonzero(stretch == one)
            first, last = int(time_ms[rows].min()), int(time_ms[rows].max())
            closed[rows] += self._end_ms - first
            self._end_ms += last - first + max(round((last - first) / max(len(rows) - 1, 1)), 1)
        return closed

    def finish(self) -> None:
        """Count what is left; after the last stretch."""
        for mode in self.modes.values():
            mode.blocks.finish()


def _digest(masked: str) -> bytes:
    return hashlib.blake2b(masked.encode("utf-8", "replace"), digest_size=16).digest()
