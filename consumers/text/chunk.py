"""Chunking: splits texts that do not fit the model or a block; the chunks, joined in order, are the text and its stack trace.

Prepare passes in whole columns; masks and token counts are plain callables, `mask` is `Masker.mask_column`. Nearly every log line fits, so
the common path is one mask call and a look at lengths: the raw bytes of each text, the length of each *distinct* masked text. Only a text
that does not fit is looked at by itself (`consumers.text.split_long`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import (
    Coded,
    Column,
    as_texts,
    coded,
    concat,
    null_column,
    replace_rows,
    string_column,
    take,
    text_bytes,
    used_values,
    utf8_of,
)
from consumers.text.field_values import replace_values
from consumers.text.known_counts import CountTokens, KnownCounts
from consumers.text.split_long import MaskColumn, Piece, PieceLimits, Splitter

_LAST_ASCII = 0x7F


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
    """Raw pieces; the very column of the texts if all of them fit and none has a trace."""
    template: Coded
    """Masked pieces."""
    too_long: NDArray[np.int64]
    """Texts of more than `max_chunks` pieces, ascending: they have no pieces here."""

    @property
    def size(self) -> int:
        """How many pieces; `len` counts the columns."""
        return len(self.row)


class _Sources(NamedTuple):
    """Source templates that fit."""

    row: NDArray[np.int64]
    """Of which text each is; ascending."""
    masked: Coded


class Chunker:
    """Every returned piece fits both limits; the pieces of a text, joined in order, are the text and its trace.

    Thread: one; `count_tokens` belongs to a thread.
    """

    def __init__(
        self, *, mask: MaskColumn, count_tokens: CountTokens, limits: PieceLimits, takes_templates: bool = True, takes_values: bool = True
    ) -> None:
        """`takes_templates`: whether a source template takes the place of its text; `takes_values`: whether values of fields go."""
        self._mask = mask
        self._splitter = Splitter(mask=mask, count_tokens=KnownCounts(count_tokens).count, limits=limits)
        self._max_text_bytes = limits.max_text_bytes
        self._max_chunks = limits.max_chunks
        self._takes_templates = takes_templates
        self._takes_values = takes_values
        self._surely_fits = min(limits.budget_tokens, limits.max_text_bytes)
        """A token is at least one byte of ASCII text. Other text is counted: a model's normalisation may make it longer."""

    def split(self, text: Column, trace: Column | None = None, source: Column | None = None, fields: Column | None = None) -> Cut:
        """Split n texts, and their stack traces (null where there is none), into pieces that fit; none holds some of both.

        `source`: the source templates of the texts (null where there is none). That of a text which is one piece is masked in its place, if
        it fits itself.
        `fields`: the kept fields of the texts (`consumers.text.field_values`), whose values go before a text that is one piece is masked.
        However long a text is, not much more of it than `max_chunks` pieces hold is masked and counted.
        """
        seen = text if fields is None or not self._takes_values else replace_values(text, fields)
        traced = np.empty(0, np.int64) if trace is None else np.flatnonzero(text_bytes(trace))
        if trace is None or not len(traced):
            return self._split_texts(text, source, seen)
        if source is not None:
            source = concat([source, null_column(len(traced))])
        traces = take(trace, traced)
        whole = concat([text, traces])
        cut = self._split_texts(whole, source, whole if seen is text else concat([seen, traces]))
        return _merged(cut, len(text), traced, self._max_chunks)

    def _split_texts(self, text: Column, source: Column | None, seen: Column) -> Cut:
        size = len(text)
        fits = text_bytes(text) <= self._max_text_bytes
        sources = self._mask_sources(source, fits) if source is not None and self._takes_templates else None
        template = self._mask_texts(seen, fits) if sources is None else self._mask_others(text, fits, sources, seen)
        if fits.all():
            return Cut(np.arange(size), np.zeros(size, np.int32), np.ones(size, np.int32), text, template, np.empty(0, np.int64))
        return self._split_long(text, template, np.flatnonzero(~fits))

    def _mask_texts(self, text: Column, fits: NDArray[np.bool_]) -> Coded:
        """Mask texts, and take from `fits` those whose masked text does not fit."""
        # A text too long to be a piece however it is masked is not masked whole: a word of 10 MB would take seconds.
        template = self._mask(text if fits.all() else _emptied(text, np.flatnonzero(~fits)))
        fits &= self._find_fitting(template.values)[template.codes]
        return template

    def _mask_sources(self, source: Column, fits: NDArray[np.bool_]) -> _Sources | None:
        """Mask the source templates of the texts that may be one piece; None: not one of them fits."""
        sizes = text_bytes(source)
        rows = np.flatnonzero(fits & (sizes > 0) & (sizes <= self._max_text_bytes))
        written = coded(take(source, rows))
        masked = self._mask(string_column(written.values))
        codes = masked.codes[written.codes]
        fitting = np.flatnonzero(self._find_fitting(masked.values)[codes])
        return _Sources(rows[fitting], used_values(codes[fitting], masked.values)) if len(fitting) else None

    def _mask_others(self, text: Column, fits: NDArray[np.bool_], sources: _Sources, seen: Column) -> Coded:
        """Return source templates in place of their texts, and the other texts masked, as `_mask_texts` does."""
        row, source = sources
        is_short = np.zeros(len(text), np.bool_)
        is_short[row] = (text_bytes(text)[row] <= self._surely_fits) & _are_ascii(text)[row]
        # Whether a longer text is one piece only its own masked text says.
        others = np.flatnonzero(~is_short)
        others_fit = fits[others]
        own = self._mask_texts(take(seen, others), others_fit)
        fits[others] = others_fit
        values = {value: code for code, value in enumerate(own.values)}
        source_codes = np.array([values.setdefault(value, len(values)) for value in source.values], np.int32)
        codes = np.zeros(len(text), np.int32)
        codes[others] = own.codes
        codes[row] = source_codes[source.codes]
        return used_values(codes, tuple(values))

    def _find_fitting(self, masked: Sequence[str]) -> NDArray[np.bool_]:
        """Return for each of k distinct masked texts whether it fits: bool[k]."""
        fits = np.fromiter(map(len, masked), np.int64, len(masked)) <= self._surely_fits
        fits &= np.fromiter(map(str.isascii, masked), np.bool_, len(masked))
        unsure = np.flatnonzero(~fits).tolist()
        if unsure:
            weights = self._splitter.weigh([Piece("", masked[i]) for i in unsure])
            fits[unsure] = [weight is not None for weight in weights]
        return fits

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


def _merged(cut: Cut, size: int, traced: NDArray[np.int64], max_chunks: int) -> Cut:
    """Return the cut of `size` texts and of the traces of those in the rows `traced`, which stand behind all texts, as one of the texts."""
    owner = np.concatenate([np.arange(size), traced])
    row = owner[cut.row]
    chunks = np.bincount(row, minlength=size)
    too_long = np.unique(np.concatenate([owner[cut.too_long], np.flatnonzero(chunks > max_chunks)]))
    is_right = np.ones(size, np.bool_)
    is_right[too_long] = False
    order = np.argsort(row, kind="stable")  # a text's pieces are in front of its trace's
    order = order[is_right[row[order]]]
    row = row[order]
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    return Cut(
        row=row,
        chunk=(np.arange(len(row)) - np.repeat(begins, np.diff(np.append(begins, len(row))))).astype(np.int32),
        chunks=chunks[row].astype(np.int32),
        text=take(cut.text, order),
        template=used_values(cut.template.codes[order], cut.template.values),
        too_long=too_long,
    )


def _are_ascii(column: Column) -> NDArray[np.bool_]:
    """Return which texts hold nothing but ASCII: bool[n]."""
    data, ends = utf8_of(column)
    are_ascii = np.ones(len(column), np.bool_)
    are_ascii[np.searchsorted(ends, np.flatnonzero(data > _LAST_ASCII), side="right") - 1] = False
    return are_ascii


def _emptied(text: Column, rows: NDArray[np.int64]) -> Column:
    """Return texts with empty ones in the given rows."""
    return replace_rows(text, rows, string_column([""] * len(rows)))
