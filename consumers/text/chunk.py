"""Chunking: splits texts that do not fit the model or a block; the chunks, joined in order, are the text.

Prepare passes in whole lists; masks and token counts are plain callables. Nearly every log line fits, so the common path is one mask call
and one length check for each line. The raw text is split, and each piece is masked before it is checked, because a mask changes the number
of tokens. A long text is split slice by slice from its beginning, and abandoned as soon as it certainly has too many chunks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

MaskTexts = Callable[[Sequence[str]], list[str]]
CountTokens = Callable[[Sequence[str]], Sequence[int]]
"""Counts the tokens of each masked text as the model sees it, with prefix and special tokens."""

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCES = re.compile(r".*?[.!?;](?:\s+|$)|.+", re.DOTALL)
_WORDS = re.compile(r"\S+\s*|\s+")
_SLICE_CHARACTERS = 1 << 16
"""How much of a long text is masked and counted at once: little enough to stop in time, enough to need few calls."""


class Piece(NamedTuple):
    """A part of a text that fits: the raw text, and the masked text that is embedded."""

    text: str
    masked: str


class Chunker:
    """Every returned piece fits both limits; the pieces of a text, joined in order, are the text.

    Thread: one; `count_tokens` belongs to a thread.
    """

    def __init__(
        self,
        *,
        mask: MaskTexts,
        count_tokens: CountTokens,
        max_tokens: int,
        overhead_tokens: int,
        max_text_bytes: int,
        max_chunks: int,
    ) -> None:
        """`max_tokens` includes `overhead_tokens` (special tokens and prefix); `max_text_bytes` is what the index takes of one piece."""
        self._mask = mask
        self._count_tokens = count_tokens
        self._max_tokens = max_tokens
        self._overhead_tokens = overhead_tokens
        self._max_text_bytes = max_text_bytes
        self._max_chunks = max_chunks

    def split(self, texts: Sequence[str]) -> list[list[Piece]]:
        """Split n texts into pieces that fit; returns an empty list for a text of more than `max_chunks`.

        However long a text is, not much more of it than `max_chunks` pieces hold is masked and counted.
        """
        split: list[list[Piece]] = []
        unchecked: list[int] = []
        # A token is at least one byte of (ASCII) text; a mask with a long replacement may make a text longer.
        max_bytes = min(self._max_tokens - self._overhead_tokens, self._max_text_bytes)
        for i, piece in enumerate(self._make_pieces(texts)):
            split.append([piece])
            text, masked = piece
            if len(masked) > max_bytes or len(text) > self._max_text_bytes or not (masked.isascii() and text.isascii()):
                unchecked.append(i)
        if unchecked:
            pieces = [split[i][0] for i in unchecked]
            for i, weight in zip(unchecked, self._weigh(pieces), strict=True):
                if weight is None:
                    split[i] = self._split_long(texts[i])
        return split

    def _make_pieces(self, texts: Sequence[str]) -> list[Piece]:
        """Mask texts, except those too long to be a piece however they are masked: a word of 10 MB would take seconds."""
        masked = self._mask([text if len(text) <= self._max_text_bytes else "" for text in texts])
        return [Piece(text, masked) for text, masked in zip(texts, masked, strict=True)]

    def _weigh(self, pieces: Sequence[Piece]) -> list[int | None]:
        """Return the tokens of each piece without the overhead; None where it does not fit. Does not count pieces with too many bytes."""
        budget = self._max_tokens - self._overhead_tokens
        fits = [self._has_room_for(piece.text) and self._has_room_for(piece.masked) for piece in pieces]
        counted = iter(self._count_tokens([piece.masked for piece, fit in zip(pieces, fits, strict=True) if fit]))
        weights = [int(next(counted)) - self._overhead_tokens if fit else None for fit in fits]
        return [weight if weight is not None and weight <= budget else None for weight in weights]

    def _has_room_for(self, text: str) -> bool:
        return len(text) <= self._max_text_bytes and _utf8_bytes(text) <= self._max_text_bytes

    def _split_long(self, text: str) -> list[Piece]:
        done: list[Piece] = []
        for groups in _slices(self._pack(self._atoms([text], level=0)), _joined_length):
            for piece in self._fitted(groups):
                done.append(piece)
                if len(done) > self._max_chunks:
                    return []
        return done

    def _fitted(self, groups: Sequence[Sequence[Piece]]) -> Iterator[Piece]:
        """Join each group; halve one whose parts together have too many tokens. A single part fits, as it is an atom."""
        joined = self._make_pieces(["".join(part.text for part in group) for group in groups if len(group) > 1])
        weighed = iter(zip(joined, self._weigh(joined), strict=True))
        for group in groups:
            piece, weight = next(weighed) if len(group) > 1 else (group[0], 0)
            if weight is None:
                middle = len(group) // 2
                yield from self._fitted([group[:middle], group[middle:]])
            else:
                yield piece

    def _atoms(self, texts: Iterable[str], *, level: int) -> Iterator[tuple[Piece, int]]:
        """Cut texts ever finer (lines, sentences, words, halves) until each part fits alone; yields parts with their tokens."""
        for parts in _slices((part for text in texts for part in _cut(text, level)), len):
            distinct = self._make_pieces(list(dict.fromkeys(parts)))  # the same words recur
            weighed = {piece.text: (piece, weight) for piece, weight in zip(distinct, self._weigh(distinct), strict=True)}
            finer = self._atoms([part for part in parts if weighed[part][1] is None], level=level + 1)
            for part in parts:
                piece, weight = weighed[part]
                if weight is not None:
                    yield piece, weight
                    continue
                rest = len(part)
                while rest:
                    atom = next(finer)
                    rest -= len(atom[0].text)
                    yield atom

    def _pack(self, atoms: Iterable[tuple[Piece, int]]) -> Iterator[list[Piece]]:
        """Group neighbours while they fit by tokens and bytes."""
        budget = self._max_tokens - self._overhead_tokens
        group: list[Piece] = []
        tokens = size_bytes = 0
        for part, weight in atoms:
            part_bytes = _utf8_bytes(part.text)
            if group and (tokens + weight > budget or size_bytes + part_bytes > self._max_text_bytes):
                yield group
                group = []
                tokens = size_bytes = 0
            group.append(part)
            tokens += weight
            size_bytes += part_bytes
        if group:
            yield group


def _slices(parts: Iterable[T], length: Callable[[T], int]) -> Iterator[list[T]]:
    """Group parts into lists of at least `_SLICE_CHARACTERS`; takes no part before it is asked for."""
    taken: list[T] = []
    characters = 0
    for part in parts:
        taken.append(part)
        characters += length(part)
        if characters >= _SLICE_CHARACTERS:
            yield taken
            taken = []
            characters = 0
    if taken:
        yield taken


def _joined_length(group: Sequence[Piece]) -> int:
    return sum(len(part.text) for part in group)


def _cut(text: str, level: int) -> Iterator[str]:
    if level < 3:  # noqa: PLR2004 - lines, sentences, words
        return (match.group() for match in (_LINES, _SENTENCES, _WORDS)[level].finditer(text))
    middle = len(text) // 2
    if not middle:
        message = "a single character does not fit the model's limit"
        raise ValueError(message)
    return iter((text[:middle], text[middle:]))


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))
