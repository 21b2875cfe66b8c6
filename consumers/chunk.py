"""Chunking: what does not fit the model or the column is split, and joined in order the chunks are the text again.

Prepare hands in whole lists; masks and token counts come as plain callables. Nearly every log line fits, so the common path
is one mask call and one length check a line. The raw text is split, each piece is masked and only then checked, because a
mask changes how many tokens there are.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from consumers.decode import LogEntry

MaskTexts = Callable[[Sequence[str]], list[str]]
CountTokens = Callable[[Sequence[str]], Sequence[int]]
"""Tokens of each masked text as the model would see it: prefix and special tokens included."""

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCES = re.compile(r".*?[.!?;](?:\s+|$)|.+", re.DOTALL)
_WORDS = re.compile(r"\S+\s*|\s+")


class Piece(NamedTuple):
    """A part of a text that fits: raw as it came, and masked as it is embedded."""

    text: str
    masked: str


class Chunk(NamedTuple):
    """One piece of a log entry with its identity; `template` says what it is, the entry where it came from.

    Thread: any.
    """

    entry: LogEntry
    chunk: int
    chunks: int
    text: str
    masked: str
    template: str
    """Digest of the masked text in the embedding space."""


class Chunker:
    """Every piece that it returns fits both limits; the pieces of a text, joined in order, are the text.

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
        """`max_tokens` includes `overhead_tokens` (special tokens and prefix); `max_text_bytes` is the column's."""
        self._mask = mask
        self._count_tokens = count_tokens
        self._max_tokens = max_tokens
        self._overhead_tokens = overhead_tokens
        self._max_text_bytes = max_text_bytes
        self._max_chunks = max_chunks

    def split(self, texts: Sequence[str]) -> list[list[Piece]]:
        """Split n texts into pieces that fit; an empty list stands for a text of more than `max_chunks`."""
        split: list[list[Piece]] = []
        open_questions: list[int] = []
        # A token is at least one byte of (ASCII) text; a mask with long stand-ins may make a text longer.
        most_bytes = min(self._max_tokens - self._overhead_tokens, self._max_text_bytes)
        for i, (text, masked) in enumerate(zip(texts, self._mask(texts), strict=True)):
            split.append([Piece(text, masked)])
            if len(masked) > most_bytes or len(text) > self._max_text_bytes or not (masked.isascii() and text.isascii()):
                open_questions.append(i)
        if open_questions:
            pieces = [split[i][0] for i in open_questions]
            for i, weight in zip(open_questions, self._weigh(pieces), strict=True):
                if weight is None:
                    split[i] = self._split_long(texts[i])
        return split

    def _weigh(self, pieces: Sequence[Piece]) -> list[int | None]:
        """Tokens of each piece without the overhead, None where it does not fit."""
        budget = self._max_tokens - self._overhead_tokens
        weights: list[int | None] = []
        for piece, tokens in zip(pieces, self._count_tokens([piece.masked for piece in pieces]), strict=True):
            weight = int(tokens) - self._overhead_tokens
            size_bytes = max(_utf8_bytes(piece.text), _utf8_bytes(piece.masked))
            weights.append(weight if weight <= budget and size_bytes <= self._max_text_bytes else None)
        return weights

    def _make_pieces(self, texts: Sequence[str]) -> list[Piece]:
        return [Piece(text, masked) for text, masked in zip(texts, self._mask(texts), strict=True)]

    def _split_long(self, text: str) -> list[Piece]:
        groups = self._pack(self._atoms([text], level=0))
        done: list[Piece] = []
        while groups:
            pieces = self._make_pieces(["".join(group) for group in groups])
            retry: list[list[str]] = []
            for n, weight in enumerate(self._weigh(pieces)):
                if weight is None:  # masked together they weigh more than apart: halve this group, weigh the rest again
                    group = groups[n]
                    retry = [group[: len(group) // 2], group[len(group) // 2 :], *groups[n + 1 :]]
                    break
                done.append(pieces[n])
            groups = retry
            if len(done) + len(groups) > self._max_chunks:
                return []
        return done

    def _atoms(self, texts: Iterable[str], *, level: int) -> list[tuple[str, int]]:
        """Cut texts finer and finer (lines, sentences, words, halves) until each part fits alone; parts with their tokens."""
        parts = [part for text in texts for part in _cut(text, level)]
        atoms: list[tuple[str, int]] = []
        for part, weight in zip(parts, self._weigh(self._make_pieces(parts)), strict=True):
            if weight is not None:
                atoms.append((part, weight))
            else:
                atoms += self._atoms([part], level=level + 1)
        return atoms

    def _pack(self, atoms: Iterable[tuple[str, int]]) -> list[list[str]]:
        """Join neighbours while they fit by tokens and bytes."""
        budget = self._max_tokens - self._overhead_tokens
        groups: list[list[str]] = []
        tokens = size_bytes = 0
        for part, weight in atoms:
            part_bytes = _utf8_bytes(part)
            if not groups or tokens + weight > budget or size_bytes + part_bytes > self._max_text_bytes:
                groups.append([])
                tokens = size_bytes = 0
            groups[-1].append(part)
            tokens += weight
            size_bytes += part_bytes
        return groups


def _cut(text: str, level: int) -> list[str]:
    if level < 3:  # noqa: PLR2004 - lines, sentences, words
        return (_LINES, _SENTENCES, _WORDS)[level].findall(text)
    middle = len(text) // 2
    if not middle:
        message = "a single character does not fit the model's limit"
        raise ValueError(message)
    return [text[:middle], text[middle:]]


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))
