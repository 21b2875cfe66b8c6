"""Splits texts that do not fit: at line ends, sentences, words, at last anywhere; neighbours are joined while they fit.

`consumers.text.chunk` calls it for the few texts of a column that are too long. Each piece is masked before it is checked, because a mask
changes the number of tokens. A very long text is split slice by slice from its beginning, and abandoned as soon as it certainly has too
many pieces.

A long text is thousands of words, so no step takes a Python statement for each of them: parts are bounds within a stretch of text
(`consumers.text.cut_places`), in arrays, and only distinct parts are masked and counted. What is known not to fit is not masked again: a
text of one line of one sentence is cut into words at once.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, coded, string_column, take
from consumers.text.cut_places import CutStretch
from consumers.text.known_counts import CountTokens

T = TypeVar("T")

MaskColumn = Callable[[Column], Coded]

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCES = re.compile(r".*?[.!?;](?:\s+|$)|.+", re.DOTALL)
_WORDS = re.compile(r"\S+\s*|\s+")
_LEVELS = (_LINES, _SENTENCES, _WORDS)
_UNCUT = -1
"""The level of a whole text; those after the last pattern are halves."""
_TOO_LONG = -1
"""In place of the tokens of a part that does not fit."""
_SLICE_CHARACTERS = 1 << 16
"""How much of a long text is masked and counted at once: little enough to stop in time, enough to need few calls."""
_TOGETHER_CHARACTERS = 1 << 18
"""How much of shorter texts is: the arrays of a stretch take some forty bytes a character."""


class Piece(NamedTuple):
    """A part of a text that fits: the raw text, and the masked text that is embedded."""

    text: str
    masked: str


class _Atoms(NamedTuple):
    """Parts of a stretch that fit alone, n of them, one after the other."""

    stretch: CutStretch
    bounds: NDArray[np.int64]
    """int64[n + 1]."""
    tokens: NDArray[np.int64]
    """int64[n]: of each, without the overhead."""

    def text(self, first: int, last: int) -> str:
        """Return atoms joined, from one to before another."""
        return self.stretch.text[self.bounds[first] : self.bounds[last]]


_Group = tuple[int, int]
"""Neighbours among atoms: from one to before another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceLimits:
    """How large a piece may be, and how many pieces a text may have.

    Thread: any.
    """

    max_tokens: int
    """Of a masked piece with prefix and special tokens."""
    overhead_tokens: int
    """Those of the prefix and the special tokens."""
    max_text_bytes: int
    """Of a raw and of a masked piece: what the index takes."""
    max_chunks: int

    @property
    def budget_tokens(self) -> int:
        """Tokens left for the text."""
        return self.max_tokens - self.overhead_tokens


class Splitter:
    """Every returned piece fits both limits; the pieces of a text, joined in order, are the text.

    Thread: one; `count_tokens` belongs to a thread.
    """

    def __init__(self, *, mask: MaskColumn, count_tokens: CountTokens, limits: PieceLimits) -> None:
        self._mask = mask
        self._count_tokens = count_tokens
        self._overhead_tokens = limits.overhead_tokens
        self._budget = limits.budget_tokens
        self._max_text_bytes = limits.max_text_bytes
        self._max_chunks = limits.max_chunks

    def split_all(self, texts: Sequence[str]) -> list[list[Piece]]:
        """Split n texts that do not fit; the pieces of one that has more than `max_chunks` are an empty list.

        However long a text is, not much more of it than `max_chunks` pieces hold is masked and counted. Shorter ones are masked together,
        because a call costs as much as some hundred lines.
        """
        short = [text for text in texts if len(text) <= _SLICE_CHARACTERS]
        together = (pieces for some in _slices(short, len, _TOGETHER_CHARACTERS) for pieces in self._split_together(some))
        return [next(together) if len(text) <= _SLICE_CHARACTERS else self._split(text) for text in texts]

    def _split_together(self, texts: list[str]) -> list[list[Piece]]:
        """Split texts of at most `_SLICE_CHARACTERS` each."""
        ends = np.cumsum(list(map(len, texts)))
        bounds = np.unique(np.append(0, ends))
        whole = np.full(len(bounds) - 1, _TOO_LONG)
        atoms = self._cut_until_fitting(CutStretch("".join(texts)), bounds, whole, np.full(len(whole), _UNCUT))
        pieces = self._fit(atoms, self._pack(atoms, np.searchsorted(atoms.bounds, bounds).tolist()))
        piece_ends = list(accumulate(len(piece.text) for piece in pieces))
        begins = [bisect_right(piece_ends, end) for end in (0, *ends.tolist())]
        return [pieces[begin:end] if end - begin <= self._max_chunks else [] for begin, end in pairwise(begins)]

    def _split(self, text: str) -> list[Piece]:
        done: list[Piece] = []
        left, left_tokens, left_bounds = "", np.empty(0, np.int64), np.zeros(1, np.int64)
        for parts in _slices(_rough_parts(text, 0, self._max_text_bytes), lambda part: len(part[0]), _SLICE_CHARACTERS):
            stretch = CutStretch(left + "".join([part for part, _ in parts]))
            bounds = np.append(left_bounds, len(left) + np.cumsum([len(part) for part, _ in parts]))
            # What is left of the slice before fits, so its level is never looked at.
            levels = np.array([_UNCUT] * len(left_tokens) + [level for _, level in parts])
            new = np.arange(len(left_tokens), len(levels))
            tokens = np.append(left_tokens, self._weigh_parts(stretch, bounds, new))
            atoms = self._cut_until_fitting(stretch, bounds, tokens, levels)
            # The last group may go on in the next slice.
            *groups, (first, last) = self._pack(atoms, [0, len(atoms.tokens)])
            done += self._fit(atoms, groups)
            if len(done) > self._max_chunks:
                return []
            left, left_tokens = atoms.text(first, last), atoms.tokens[first:last]
            left_bounds = atoms.bounds[first : last + 1] - atoms.bounds[first]
        done += self._fit(_Atoms(CutStretch(left), left_bounds, left_tokens), [(0, len(left_tokens))])
        return done if len(done) <= self._max_chunks else []

    def weigh(self, pieces: Sequence[Piece]) -> list[int | None]:
        """Return the tokens of each piece without the overhead; None where it does not fit. Does not count pieces with too many bytes."""
        fits = [self._has_room_for(piece.text) and self._has_room_for(piece.masked) for piece in pieces]
        counted = iter(self._count_tokens([piece.masked for piece, fit in zip(pieces, fits, strict=True) if fit]))
        weights = [next(counted) - self._overhead_tokens if fit else None for fit in fits]
        return [weight if weight is not None and weight <= self._budget else None for weight in weights]

    def _fit(self, atoms: _Atoms, groups: list[_Group]) -> list[Piece]:
        """Join each group; halve one whose parts together have too many tokens. A single part fits, as it is an atom."""
        pieces = self._make_pieces([atoms.text(*group) for group in groups])
        joined = [i for i, (first, last) in enumerate(groups) if last - first > 1]
        weights = self.weigh([pieces[i] for i in joined])
        heavy = [i for i, weight in zip(joined, weights, strict=True) if weight is None]
        if not heavy:
            return pieces
        halved = [(first, first + (last - first) // 2, last) for first, last in (groups[i] for i in heavy)]
        lighter = self._fit(atoms, [half for one in halved for half in pairwise(one)])
        ends = list(accumulate(len(piece.text) for piece in lighter))
        begins = [bisect_right(ends, end) for end in accumulate((len(pieces[i].text) for i in heavy), initial=0)]
        return _replaced(pieces, heavy, [lighter[begin:end] for begin, end in pairwise(begins)])

    def _cut_until_fitting(
        self, stretch: CutStretch, bounds: NDArray[np.int64], tokens: NDArray[np.int64], levels: NDArray[np.int64]
    ) -> _Atoms:
        """Cut parts that are `_TOO_LONG` ever finer (lines, sentences, words, halves) until each fits alone."""
        while len(places := np.flatnonzero(tokens == _TOO_LONG)):
            finer = [stretch.cut(int(bounds[i]), int(bounds[i + 1]), int(levels[i])) for i in places.tolist()]
            counts = np.ones(len(tokens), np.int64)
            counts[places] = [len(begins) + 1 for begins, _ in finer]
            bounds = np.sort(np.concatenate([bounds, *(begins for begins, _ in finer)]))
            tokens, levels = np.repeat(tokens, counts), np.repeat(levels, counts)
            new = np.flatnonzero(tokens == _TOO_LONG)
            levels[new] = np.repeat([level for _, level in finer], counts[places])
            tokens[new] = self._weigh_parts(stretch, bounds, new)
        return _Atoms(stretch, bounds, tokens)

    def _weigh_parts(self, stretch: CutStretch, bounds: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens of the parts in these rows, or `_TOO_LONG`: int64[rows]."""
        distinct = coded(take(stretch.column(bounds), rows))  # the same words recur
        weights = self.weigh(self._make_pieces(distinct.values))
        return np.array([_TOO_LONG if weight is None else max(weight, 0) for weight in weights], np.int64)[distinct.codes]

    def _pack(self, atoms: _Atoms, bounds: Sequence[int]) -> list[_Group]:
        """Group neighbours while they fit by tokens and bytes. No group goes beyond a bound: ascending places among the atoms."""
        tokens = np.append(0, np.cumsum(atoms.tokens))
        sizes = atoms.stretch.byte_at[atoms.bounds]
        groups = []
        for start, last in pairwise(bounds):
            first = start
            while first < last:
                by_tokens = tokens.searchsorted(tokens[first] + self._budget, "right") - 1
                by_bytes = sizes.searchsorted(sizes[first] + self._max_text_bytes, "right") - 1
                groups.append((first, max(first + 1, min(int(by_tokens), int(by_bytes), last))))
                first = groups[-1][1]
        return groups

    def _make_pieces(self, texts: Sequence[str]) -> list[Piece]:
        """Mask texts, except those too long to be a piece however they are masked: a word of 10 MB would take seconds."""
        masked = self._mask(string_column([text if len(text) <= self._max_text_bytes else "" for text in texts]))
        return [Piece(text, masked.values[code]) for text, code in zip(texts, masked.codes.tolist(), strict=True)]

    def _has_room_for(self, text: str) -> bool:
        return len(text) <= self._max_text_bytes and _utf8_bytes(text) <= self._max_text_bytes


def _slices(parts: Iterable[T], length: Callable[[T], int], least_characters: int) -> Iterator[list[T]]:
    """Group parts into lists of at least the given number of characters; takes no part before it is needed."""
    taken: list[T] = []
    characters = 0
    for part in parts:
        taken.append(part)
        characters += length(part)
        if characters >= least_characters:
            yield taken
            taken = []
            characters = 0
    if taken:
        yield taken


def _rough_parts(text: str, level: int, most_characters: int) -> Iterator[tuple[str, int]]:
    """Cut a text until no part is longer than a piece may be; yields parts with their levels. Cuts nothing before it is asked for."""
    parts = (match.group() for match in _LEVELS[level].finditer(text)) if level < len(_LEVELS) else iter(_halves(text))
    for part in parts:
        if len(part) > most_characters:
            yield from _rough_parts(part, level + 1, most_characters)
        else:
            yield part, level


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [text[:middle], text[middle:]]


def _replaced(values: list[T], places: Iterable[int], others: Iterable[list[T]]) -> list[T]:
    """Return a list with several values in place of each of those at `places`, ascending."""
    replaced: list[T] = []
    start = 0
    for place, other in zip(places, others, strict=True):
        replaced += values[start:place]
        replaced += other
        start = place + 1
    return replaced + values[start:]


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))
