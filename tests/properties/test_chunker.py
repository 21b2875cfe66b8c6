"""For any text, mask and token count: the pieces joined are the text, and every piece fits."""

import re
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.text.chunk import Chunker, MaskTexts
from consumers.text.mask import Masker
from tests.consumers.counters import COUNTERS, OVERHEAD_TOKENS, Count, bytes_each, count_all


def as_it_is(texts: Sequence[str]) -> list[str]:
    return list(texts)


def longer(texts: Sequence[str]) -> list[str]:
    """A mask whose replacement is longer than what it replaces."""
    return [re.sub(r"\d+", "<number>", text) for text in texts]


MASKS: list[MaskTexts] = [as_it_is, longer, Masker().mask]
LEAST = 8
"""The longest replacement, and more bytes than any character has, so one character always fits."""

parts = st.one_of(
    st.text(max_size=30),
    st.text("ab1. \n;", max_size=60),
    st.sampled_from(["\n", "\r\n", ". ", "语言", "\U0001f701", "=" * 70, "10.0.0.1", " " * 20, "!?;.", "é" * 25, "\u0301", "\x00"]),
)
texts = st.lists(parts, max_size=12).map("".join).filter(bool)
limits = st.integers(LEAST, 40)


def new_chunker(count: Count, mask: MaskTexts, limit: int, text_bytes: int, max_chunks: int) -> Chunker:
    return Chunker(
        mask=mask,
        count_tokens=count_all(count),
        max_tokens=limit + OVERHEAD_TOKENS,
        overhead_tokens=OVERHEAD_TOKENS,
        max_text_bytes=text_bytes,
        max_chunks=max_chunks,
    )


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
    batch: list[str], count: Count, mask: MaskTexts, limit: int, text_bytes: int, max_chunks: int
) -> None:
    chunker = new_chunker(count, mask, limit, text_bytes, max_chunks)
    split = chunker.split(batch)
    assert len(split) == len(batch)
    for text, pieces in zip(batch, split, strict=True):
        assert len(pieces) <= max_chunks
        assert [piece.masked for piece in pieces] == mask([piece.text for piece in pieces])
        for piece in pieces:
            assert piece.text
            assert count(piece.masked) <= limit
            assert max(len(piece.text.encode()), len(piece.masked.encode())) <= text_bytes
        if pieces:
            assert "".join(piece.text for piece in pieces) == text
        (masked,) = mask([text])
        if count(masked) <= limit and max(len(text.encode()), len(masked.encode())) <= text_bytes:
            assert len(pieces) == 1, "a text that fits is not split"
        if max_chunks == 1000:
            assert pieces, "there is room for every text"
    assert chunker.split(batch) == split, "the same texts are split in the same way"
    assert [new_chunker(count, mask, limit, text_bytes, max_chunks).split([text]) for text in batch] == [[pieces] for pieces in split]


@settings(deadline=None, max_examples=300)
@given(text=texts, limit=limits, max_chunks=st.integers(1, 6))
def test_a_text_is_refused_only_if_it_needs_too_many_chunks(text: str, limit: int, max_chunks: int) -> None:
    (pieces,) = new_chunker(bytes_each, as_it_is, limit, 10_000, max_chunks).split([text])
    if not pieces:
        # Two neighbours never fit into one piece, so n pieces have more than n // 2 limits of bytes between them.
        assert len(text.encode()) > (max_chunks + 1) // 2 * limit
    else:
        sizes = [len(piece.text.encode()) for piece in pieces]
        assert all(one + next_one > limit for one, next_one in pairwise(sizes))
