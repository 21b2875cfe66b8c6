"""Chunking by example; `tests/properties/test_chunker.py` tests any text."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from consumers.text.chunk import Chunker, MaskTexts, Piece
from consumers.text.mask import Masker
from tests.consumers.counters import OVERHEAD_TOKENS, Count, bytes_each, count_all, dearer_together, words

LIMIT = 20


def as_it_is(texts: Sequence[str]) -> list[str]:
    return list(texts)


def new_chunker(
    *, count: Count = bytes_each, mask: MaskTexts = as_it_is, limit: int = LIMIT, text_bytes: int = 1000, max_chunks: int = 256
) -> Chunker:
    """Make a chunker whose pieces have at most `limit` tokens, not counting special tokens."""
    return Chunker(
        mask=mask,
        count_tokens=count_all(count),
        max_tokens=limit + OVERHEAD_TOKENS,
        overhead_tokens=OVERHEAD_TOKENS,
        max_text_bytes=text_bytes,
        max_chunks=max_chunks,
    )


def split(text: str, chunker: Chunker | None = None) -> list[str]:
    (pieces,) = (chunker or new_chunker()).split([text])
    return [piece.text for piece in pieces]


def test_a_text_that_fits_is_one_piece() -> None:
    assert new_chunker().split(["short", "x" * LIMIT]) == [[Piece("short", "short")], [Piece("x" * LIMIT, "x" * LIMIT)]]


def test_one_token_too_many_is_two_pieces() -> None:
    assert split("x" * (LIMIT + 1)) == ["x" * 10, "x" * 11]


def test_nothing_gives_nothing() -> None:
    assert new_chunker().split([]) == []


def test_a_text_is_split_at_its_line_ends_first() -> None:
    assert split("one. two three\nfour, five six\nseven eight\n") == ["one. two three\n", "four, five six\n", "seven eight\n"]


def test_a_long_line_is_split_at_its_sentences() -> None:
    assert split("It is full. Disk two; not one! Why?") == ["It is full. ", "Disk two; not one! ", "Why?"]


def test_a_long_sentence_is_split_between_its_words() -> None:
    assert split("alpha bravo charlie delta echo") == ["alpha bravo charlie ", "delta echo"]


def test_a_long_word_is_split_anywhere() -> None:
    assert split("a " + "x" * 25 + " b") == ["a xxxxxxxxxxxxx", "xxxxxxxxxxxx b"]


def test_neighbours_are_joined_while_they_fit() -> None:
    assert split("a\nb\nc\n" * 5) == ["a\nb\nc\na\nb\nc\na\nb\nc\na\n", "b\nc\na\nb\nc\n"]


def test_characters_are_never_cut() -> None:
    assert split("語" * 20) == ["語" * 5] * 4
    assert split("\U0001f701" * 10) == ["\U0001f701" * 5] * 2


def test_the_column_is_bounded_in_bytes_whatever_the_tokens_say() -> None:
    assert split("x" * 15, new_chunker(text_bytes=10)) == ["x" * 7, "x" * 8]
    assert split("a b c d e", new_chunker(text_bytes=6)) == ["a b c ", "d e"]
    assert split("é" * 15, new_chunker(count=len, text_bytes=20)) == ["é" * 7, "é" * 8]


def test_what_is_masked_away_costs_no_tokens() -> None:
    text = "port " + "1" * 100 + " open"
    assert new_chunker(mask=Masker().mask).split([text]) == [[Piece(text, "port open")]]


def test_each_piece_is_masked_by_itself() -> None:
    text = "open port 10.0.0.1:22\nclosed port 99 now\n"
    (pieces,) = new_chunker(mask=Masker().mask, limit=16).split([text])
    assert pieces == [Piece("open port 10.0.0.1:22\n", "open port"), Piece("closed port 99 now\n", "closed port now")]


def test_pieces_that_weigh_more_together_than_apart_are_split_again() -> None:
    text = "abcd efgh ijkl mnop qrst uvwx"
    pieces = split(text, new_chunker(count=dearer_together))
    assert "".join(pieces) == text
    assert all(dearer_together(piece) <= LIMIT for piece in pieces)


def test_as_many_chunks_as_allowed_are_given_and_none_of_one_more() -> None:
    chunker = new_chunker(max_chunks=3)
    assert len(split("x" * 19 + "\n" + "y" * 19 + "\n" + "z" * 20, chunker)) == 3
    assert split("x" * 19 + "\n" + "y" * 19 + "\n" + "z" * 19 + "\n" + "!", chunker) == []


def test_too_many_chunks_of_one_text_leave_its_neighbours_alone() -> None:
    split_texts = new_chunker(max_chunks=2).split(["first", "x" * 1000, "last", "y" * 30])
    assert [[piece.text for piece in pieces] for pieces in split_texts] == [["first"], [], ["last"], ["y" * 15, "y" * 15]]


def test_a_word_of_60000_bytes_is_split_or_refused() -> None:
    word = "=" * 60_000
    assert split(word, new_chunker(limit=254, max_chunks=236)) == []
    pieces = split(word, new_chunker(limit=254, max_chunks=1000))
    assert "".join(pieces) == word
    assert max(map(len, pieces)) <= 254


def test_a_text_that_surely_fits_is_not_counted() -> None:
    counted: list[str] = []

    def count(texts: Sequence[str]) -> list[int]:
        counted.extend(texts)
        return [OVERHEAD_TOKENS + len(text.encode()) for text in texts]

    chunker = Chunker(
        mask=as_it_is,
        count_tokens=count,
        max_tokens=LIMIT + OVERHEAD_TOKENS,
        overhead_tokens=OVERHEAD_TOKENS,
        max_text_bytes=100,
        max_chunks=9,
    )
    chunker.split(["x" * LIMIT, "short"])
    assert counted == []
    chunker.split(["é", "x" * (LIMIT + 1)])
    assert counted[:2] == ["é", "x" * (LIMIT + 1)]


@pytest.mark.parametrize(
    "text",
    ["word by word " * 400_000, "x" * 5_000_000, "Short. " * 700_000, "line\n" * 1_000_000, "語" * 1_700_000, "語 " * 1_300_000],
    ids=["words", "one word", "sentences", "lines", "characters", "short words"],
)
def test_a_text_of_five_megabytes_is_left_as_soon_as_there_are_too_many_chunks(text: str) -> None:
    looked_at = 0

    def mask(texts: Sequence[str]) -> list[str]:
        nonlocal looked_at
        looked_at += sum(map(len, texts))
        return list(texts)

    assert split(text, new_chunker(mask=mask, limit=254, text_bytes=65_535, max_chunks=50)) == []
    assert looked_at < 1_000_000


def test_a_text_of_many_slices_is_split_as_any_other() -> None:
    text = "".join(f"line {n} of the text. It has two sentences; and a {'long' * (n % 90)} word.\n" for n in range(1_500))
    chunker = new_chunker(count=words, limit=60, max_chunks=5_000)
    pieces = split(text, chunker)
    assert len(text) > 200_000
    assert "".join(pieces) == text
    assert max(map(words, pieces)) <= 60
    assert all(words(one) + words(after) > 60 - 30 for one, after in pairwise(pieces)), "neighbours are joined over the slices' ends, too"


def test_a_limit_below_one_character_is_our_fault() -> None:
    with pytest.raises(ValueError, match="single character"):
        split("語", new_chunker(limit=2))
