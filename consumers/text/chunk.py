"""Chunking: splits texts that do not fit the model or a block; the chunks, joined in order, are the text.

Prepare passes in whole columns; masks and token counts are plain callables, `mask` is `Masker.mask_column`. Nearly every log line fits, so
the common path is one mask call and a look at lengths: the raw bytes of each text, the length of each *distinct* masked text. Only a text
that does not fit is looked at by itself (`consumers.text.split_long`).
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, as_texts, concat, replace_rows, string_column, take, text_bytes, used_values
from consumers.text.split_long import CountTokens, MaskColumn, Piece, Splitter

_MOST_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 1_024
"""Of masked texts that were counted: how many are remembered, and of how many characters at most; together 4 MB if they are ASCII."""


class Cut(NamedTuple):
    """The m pieces of n texts as columns, each of length m, in order.

    Thread: any.
    """

    row: NDArray[np.int64]
    """int64[m]: which text each piece is of; ascending."""
    chunk: NDArray[np.int32]
    """int32[m]: which piece of its text, from 0."""
    chunks: NDArray[np.int32]
    """int32[m]: how many pieces its text has."""
    text: Column
    """Raw pieces; the very column of the texts if all of them fit."""
    template: Coded
    """Masked pieces."""
    too_long: NDArray[np.int64]
    """Texts of more than `max_chunks` pieces, ascending: they have no pieces here."""

    @property
    def size(self) -> int:
        """How many pieces; `len` counts the columns."""
        return len(self.row)


class Chunker:
    """Every returned piece fits both limits; the pieces of a text, joined in order, are the text.

    Thread: one; `count_tokens` belongs to a thread.
    """

    def __init__(
        self, *, mask: MaskColumn, count_tokens: CountTokens, max_tokens: int, overhead_tokens: int, max_text_bytes: int, max_chunks: int
    ) -> None:
        """`max_tokens` includes `overhead_tokens` (special tokens and prefix); `max_text_bytes` is what the index takes of one piece."""
        self._mask = mask
        self._splitter = Splitter(
            mask=mask,
            count_tokens=count_tokens,
            max_tokens=max_tokens,
            overhead_tokens=overhead_tokens,
            max_text_bytes=max_text_bytes,
            max_chunks=max_chunks,
        )
        self._max_text_bytes = max_text_bytes
        self._surely_fits = min(max_tokens - overhead_tokens, max_text_bytes)
        """A token is at least one byte of ASCII text. Other text is counted: a model's normalisation may make it longer."""
        self._remembered: dict[str, bool] = {}
        """Whether a masked text fits, for those that were counted."""

    def split(self, text: Column) -> Cut:
        """Split n texts into pieces that fit.

        However long a text is, not much more of it than `max_chunks` pieces hold is masked and counted.
        """
        size = len(text)
        fits = text_bytes(text) <= self._max_text_bytes
        # A text too long to be a piece however it is masked is not masked whole: a word of 10 MB would take seconds.
        template = self._mask(text if fits.all() else _emptied(text, np.flatnonzero(~fits)))
        fits &= self._find_fitting(template.values)[template.codes]
        if fits.all():
            return Cut(np.arange(size), np.zeros(size, np.int32), np.ones(size, np.int32), text, template, np.empty(0, np.int64))
        return self._split_long(text, template, np.flatnonzero(~fits))

    def _find_fitting(self, masked: Sequence[str]) -> NDArray[np.bool_]:
        """Return for each of k distinct masked texts whether it fits: bool[k]."""
        fits = np.fromiter(map(len, masked), np.int64, len(masked)) <= self._surely_fits
        fits &= np.fromiter(map(str.isascii, masked), np.bool_, len(masked))
        unsure = np.flatnonzero(~fits).tolist()
        if unsure:
            new = [masked[i] for i in unsure if masked[i] not in self._remembered]
            weights = self._splitter.weigh([Piece("", text) for text in new]) if new else []
            counted = {text: weight is not None for text, weight in zip(new, weights, strict=True)}
            fits[unsure] = [counted[masked[i]] if masked[i] in counted else self._remembered[masked[i]] for i in unsure]
            self._remember(counted)
        return fits

    def _remember(self, counted: dict[str, bool]) -> None:
        if len(self._remembered) + len(counted) > _MOST_REMEMBERED:
            self._remembered.clear()
        short = ((masked, fits) for masked, fits in counted.items() if len(masked) <= _LONGEST_REMEMBERED)
        self._remembered.update(islice(short, _MOST_REMEMBERED))

    def _split_long(self, text: Column, template: Coded, long: NDArray[np.int64]) -> Cut:
        """Split the texts in the rows `long`, ascending; every other text is one piece and has its template."""
        split = self._splitter.split_all(as_texts(take(text, long)))
        chunks = np.ones(len(text), np.int32)
        chunks[long] = [len(pieces) for pieces in split]
        row = np.repeat(np.arange(len(text)), chunks)
        is_long = np.zeros(len(text), np.bool_)
        is_long[long] = True
        # The pieces of long texts stand behind all texts.
        pieces = [piece for pieces in split for piece in pieces]
        place = row.copy()
        place[is_long[row]] = np.arange(len(text), len(text) + len(pieces))
        codes = {value: code for code, value in enumerate(template.values)}
        piece_codes = np.fromiter((codes.setdefault(piece.masked, len(codes)) for piece in pieces), np.int32, len(pieces))
        return Cut(
            row=row,
            chunk=(np.arange(len(row)) - (np.cumsum(chunks) - chunks)[row]).astype(np.int32),
            chunks=chunks[row],
            text=take(concat([text, string_column([piece.text for piece in pieces])]), place),
            template=used_values(np.concatenate([template.codes, piece_codes])[place], tuple(codes)),
            too_long=np.flatnonzero(chunks == 0),
        )


def _emptied(text: Column, rows: NDArray[np.int64]) -> Column:
    """Return texts with empty ones in the given rows."""
    return replace_rows(text, rows, string_column([""] * len(rows)))
