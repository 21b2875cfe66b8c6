"""Splits texts that do not fit: at line ends, sentences, words, at last anywhere; neighbours are joined while they fit.

`consumers.text.chunk` calls it for the few texts of a column that are too long. Each piece is masked before it is checked, because a mask
changes the number of tokens. A very long text is split slice by slice from its beginning, and abandoned as soon as it certainly has too
many pieces.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from consumers.columns import Coded, Column, string_column

T = TypeVar("T")

MaskColumn = Callable[[Column], Coded]
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


class Splitter:
    """Every returned piece fits both limits; the pieces of a text, joined in order, are the text.

    Thread: one; `count_tokens` belongs to a thread.
    """

    def __init__(
        self, *, mask: MaskColumn, count_tokens: CountTokens, max_tokens: int, overhead_tokens: int, max_text_bytes: int, max_chunks: int
    ) -> None:
        """`max_tokens` includes `overhead_tokens`; `max_text_bytes` bounds a raw and a masked piece."""
        self._mask = mask
        self._count_tokens = count_tokens
        self._overhead_tokens = overhead_tokens
        self._budget = max_tokens - overhead_tokens
        self._max_text_bytes = max_text_bytes
        self._max_chunks = max_chunks

    def split_all(self, texts: Sequence[str]) -> list[list[Piece]]:
        """Split n texts; the pieces of one that has more than `max_chunks` are an empty list.

        However long a text is, not much more of it than `max_chunks` pieces hold is masked and counted. Shorter ones are masked together,
        because a call costs as much as some hundred lines.
        """
        short = [i for i, text in enumerate(texts) if len(text) <= _SLICE_CHARACTERS]
        pieces = dict(zip(short, self._split_together([texts[i] for i in short]), strict=True))
        return [pieces[i] if i in pieces else self._split(text) for i, text in enumerate(texts)]

    def _split_together(self, texts: Sequence[str]) -> Iterator[list[Piece]]:
        """Split texts of at most `_SLICE_CHARACTERS` each."""
        atoms = self._atoms(texts, level=0)
        fitted = self._fitted([group for text in texts for group in self._pack(_of_length(atoms, len(text)))])
        for text in texts:
            pieces: list[Piece] = []
            rest = len(text)
            while rest:
                pieces.append(next(fitted))
                rest -= len(pieces[-1].text)
            yield pieces if len(pieces) <= self._max_chunks else []

    def _split(self, text: str) -> list[Piece]:
        done: list[Piece] = []
        for groups in _slices(self._pack(self._atoms([text], level=0)), _joined_length):
            for piece in self._fitted(groups):
                done.append(piece)
                if len(done) > self._max_chunks:
                    return []
        return done

    def weigh(self, pieces: Sequence[Piece]) -> list[int | None]:
        """Return the tokens of each piece without the overhead; None where it does not fit. Does not count pieces with too many bytes."""
        fits = [self._has_room_for(piece.text) and self._has_room_for(piece.masked) for piece in pieces]
        counted = iter(self._count_tokens([piece.masked for piece, fit in zip(pieces, fits, strict=True) if fit]))
        weights = [int(next(counted)) - self._overhead_tokens if fit else None for fit in fits]
        return [weight if weight is not None and weight <= self._budget else None for weight in weights]

    def _fitted(self, groups: Sequence[Sequence[Piece]]) -> Iterator[Piece]:
        """Join each group; halve one whose parts together have too many tokens. A single part fits, as it is an atom."""
        joined = self._make_pieces(["".join(part.text for part in group) for group in groups if len(group) > 1])
        weighed = iter(zip(joined, self.weigh(joined), strict=True))
        for group in groups:
            piece, weight = next(weighed) if len(group) > 1 else (group[0], 0)
            if weight is None:
                middle = len(group) // 2
                yield from self._fitted([group[:middle], group[middle:]])
            else:
                yield piece

    def _atoms(self, texts: Iterable[str], *, level: int) -> Iterator[tuple[Piece, int]]:
        """Cut texts ever finer (lines, sentences, words, halves) until each part fits alone; yields parts with their tokens."""
        for parts in _slices((part for text in texts for part in _parts_of(text, level)), len):
            distinct = self._make_pieces(list(dict.fromkeys(parts)))  # the same words recur
            weighed = {piece.text: (piece, weight) for piece, weight in zip(distinct, self.weigh(distinct), strict=True)}
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
        group: list[Piece] = []
        tokens = size_bytes = 0
        for part, weight in atoms:
            part_bytes = _utf8_bytes(part.text)
            if group and (tokens + weight > self._budget or size_bytes + part_bytes > self._max_text_bytes):
                yield group
                group = []
                tokens = size_bytes = 0
            group.append(part)
            tokens += weight
            size_bytes += part_bytes
        if group:
            yield group

    def _make_pieces(self, texts: Sequence[str]) -> list[Piece]:
        """Mask texts, except those too long to be a piece however they are masked: a word of 10 MB would take seconds."""
        masked = self._mask(string_column([text if len(text) <= self._max_text_bytes else "" for text in texts]))
        return [Piece(text, masked.values[code]) for text, code in zip(texts, masked.codes.tolist(), strict=True)]

    def _has_room_for(self, text: str) -> bool:
        return len(text) <= self._max_text_bytes and _utf8_bytes(text) <= self._max_text_bytes


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


def _of_length(atoms: Iterator[tuple[Piece, int]], characters: int) -> Iterator[tuple[Piece, int]]:
    """Take atoms until they are that long together; they never go beyond a text's end."""
    while characters:
        atom = next(atoms)
        characters -= len(atom[0].text)
        yield atom


def _joined_length(group: Sequence[Piece]) -> int:
    return sum(len(part.text) for part in group)


def _parts_of(text: str, level: int) -> Iterator[str]:
    if level < 3:  # noqa: PLR2004 - lines, sentences, words
        return (match.group() for match in (_LINES, _SENTENCES, _WORDS)[level].finditer(text))
    middle = len(text) // 2
    if not middle:
        message = "a single character does not fit the model's limit"
        raise ValueError(message)
    return iter((text[:middle], text[middle:]))


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))
