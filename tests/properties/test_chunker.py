"""For any text, mask and token count: the pieces joined are the text, and every piece fits."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.columns import Coded, Column, as_texts, coded, coded_texts, string_column
from consumers.text import split_long
from consumers.text.chunk import Chunker
from consumers.text.mask import Masker
from consumers.text.split_long import MaskColumn, PieceLimits
from tests.consumers.counters import COUNTERS, OVERHEAD_TOKENS, Count, bytes_each, count_all
from tests.consumers.cuts import pieces_of
from tests.consumers.naive_split import NaiveSplitter


def longer(column: Column) -> Coded:
    """A mask whose replacement is longer than what it replaces."""
    return coded_texts(re.sub(r"\d+", "<number>", text) for text in as_texts(column))


MASKS: list[MaskColumn] = [coded, longer, Masker().mask_column]
"""The first one masks nothing."""
LEAST = 8
"""The longest replacement, and more bytes than any character has, so one character always fits."""

parts = st.one_of(
    st.text(max_size=30),
    st.text("ab1. \n;", max_size=60),
    st.sampled_from(["\n", "\r\n", ". ", "语言", "\U0001f701", "=" * 70, "10.0.0.1", " " * 20, "!?;.", "é" * 25, "\u0301", "\x00"]),
)
texts = st.lists(parts, max_size=12).map("".join).filter(bool)
limits = st.integers(LEAST, 40)


def new_chunker(count: Count, mask: MaskColumn, limit: int, text_bytes: int, max_chunks: int) -> Chunker:
    return Chunker(
        mask=mask,
        count_tokens=count_all(count),
        limits=PieceLimits(
            max_tokens=limit + OVERHEAD_TOKENS, overhead_tokens=OVERHEAD_TOKENS, max_text_bytes=text_bytes, max_chunks=max_chunks
        ),
    )


@settings(deadline=None, max_examples=300)
@given(
    batch=st.lists(st.tuples(texts, st.one_of(st.none(), st.just(""), texts), st.one_of(st.none(), texts)), max_size=5),
    count=st.sampled_from(COUNTERS),
    mask=st.sampled_from(MASKS),
    limit=limits,
    text_bytes=limits,
)
def test_a_source_template_changes_nothing_but_the_template_of_a_text_that_is_one_piece(
    batch: list[tuple[str, str | None, str | None]], count: Count, mask: MaskColumn, limit: int, text_bytes: int
) -> None:
    chunker = new_chunker(count, mask, limit, text_bytes, max_chunks=1000)
    text, source, trace = (string_column(column) for column in zip(*batch, strict=True)) if batch else (string_column([]),) * 3
    split = pieces_of(chunker.split(text, trace, source), len(batch))
    for pieces, without, (written, template, followed) in zip(split, pieces_of(chunker.split(text, trace), len(batch)), batch, strict=True):
        of_text = len(pieces) - len(pieces_of(chunker.split(string_column([followed])), 1)[0] if followed else [])
        masked = masked_texts(mask, [template])[0] if template else ""
        fits = bool(template) and count(masked) <= limit and max(len(masked.encode()), len((template or "").encode())) <= text_bytes
        if of_text == 1 and fits:
            assert pieces[0] == (written, masked)
            if written.isascii() and mask is longer:
                continue  # a text that is surely short is one piece with its template, even where its own masked text would not fit
            assert pieces[1:] == without[1:]
        else:
            assert pieces == without


def masked_texts(mask: MaskColumn, texts: list[str]) -> list[str]:
    masked = mask(string_column(texts))
    return [masked.text(i) for i in range(len(texts))]


@settings(deadline=None, max_examples=400)
@given(
    batch=st.lists(texts, max_size=4),
    count=st.sampled_from(COUNTERS),
    mask=st.sampled_from(MASKS),
    limit=limits,
    text_bytes=limits,
    max_chunks=st.sampled_from([1, 2, 5, 1000]),
)
def test_the_pieces_joined_are_the_text_and_every_piece_fits(
    batch: list[str], count: Count, mask: MaskColumn, limit: int, text_bytes: int, max_chunks: int
) -> None:
    chunker = new_chunker(count, mask, limit, text_bytes, max_chunks)
    split = pieces_of(chunker.split(string_column(batch)), len(batch))
    for text, pieces in zip(batch, split, strict=True):
        assert len(pieces) <= max_chunks
        assert [masked for _, masked in pieces] == masked_texts(mask, [piece for piece, _ in pieces])
        for piece, masked in pieces:
            assert piece
            assert count(masked) <= limit
            assert max(len(piece.encode()), len(masked.encode())) <= text_bytes
        if pieces:
            assert "".join(piece for piece, _ in pieces) == text
        (masked,) = masked_texts(mask, [text])
        if count(masked) <= limit and max(len(text.encode()), len(masked.encode())) <= text_bytes:
            assert len(pieces) == 1, "a text that fits is not split"
        if max_chunks == 1000:
            assert pieces, "there is room for every text"
    assert pieces_of(chunker.split(string_column(batch)), len(batch)) == split, "the same texts are split in the same way"
    for text, pieces in zip(batch, split, strict=True):
        assert pieces_of(new_chunker(count, mask, limit, text_bytes, max_chunks).split(string_column([text])), 1) == [pieces]


@settings(deadline=None, max_examples=300)
@given(
    batch=st.lists(texts, min_size=1, max_size=3),
    count=st.sampled_from(COUNTERS),
    mask=st.sampled_from(MASKS),
    limit=limits,
    text_bytes=limits,
    slice_characters=st.sampled_from([1, 8, 1 << 16]),
)
def test_the_pieces_are_those_of_one_text_after_the_other_split_word_by_word(
    batch: list[str], count: Count, mask: MaskColumn, limit: int, text_bytes: int, slice_characters: int
) -> None:
    naive = NaiveSplitter(count, mask, limit, text_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_long, "_SLICE_CHARACTERS", slice_characters)
        split = pieces_of(new_chunker(count, mask, limit, text_bytes, 1000).split(string_column(batch)), len(batch))
    assert split == [naive.split(text) for text in batch]


@settings(deadline=None, max_examples=300)
@given(text=texts, limit=limits, max_chunks=st.integers(1, 6))
def test_a_text_is_refused_only_if_it_needs_too_many_chunks(text: str, limit: int, max_chunks: int) -> None:
    (pieces,) = pieces_of(new_chunker(bytes_each, coded, limit, 10_000, max_chunks).split(string_column([text])), 1)
    if not pieces:
        # Two neighbours never fit into one piece, so n pieces have more than n // 2 limits of bytes between them.
        assert len(text.encode()) > (max_chunks + 1) // 2 * limit
    else:
        sizes = [len(piece.encode()) for piece, _ in pieces]
        assert all(one + next_one > limit for one, next_one in pairwise(sizes))
