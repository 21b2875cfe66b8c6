"""Chunking by example; `tests/properties/test_chunker.py` tests any text."""

from collections.abc import Sequence

import pytest

from consumers.columns import Coded, Column, as_texts, coded, string_column
from consumers.text.chunk import Chunker
from consumers.text.split_long import MaskColumn, PieceLimits
from tests.consumers.counters import OVERHEAD_TOKENS, Count, bytes_each, count_all
from tests.consumers.cuts import pieces_of

LIMIT = 20


def new_chunker(
    *,
    count: Count = bytes_each,
    mask: MaskColumn = coded,
    limit: int = LIMIT,
    text_bytes: int = 1000,
    max_chunks: int = 256,
    takes_values: bool = True,
) -> Chunker:
    """Make a chunker whose pieces have at most `limit` tokens, not counting special tokens; unless told otherwise it masks nothing."""
    return Chunker(
        mask=mask,
        count_tokens=count_all(count),
        limits=PieceLimits(
            max_tokens=limit + OVERHEAD_TOKENS, overhead_tokens=OVERHEAD_TOKENS, max_text_bytes=text_bytes, max_chunks=max_chunks
        ),
        takes_values=takes_values,
    )


def split_all(texts: Sequence[str], chunker: Chunker | None = None) -> list[list[tuple[str, str]]]:
    """Return the raw and masked pieces of each text."""
    return pieces_of((chunker or new_chunker()).split(string_column(texts)), len(texts))


def split(text: str, chunker: Chunker | None = None) -> list[str]:
    (pieces,) = split_all([text], chunker)
    return [piece for piece, _ in pieces]


def test_values_of_a_texts_own_fields_are_not_in_its_template_and_stay_in_its_text() -> None:
    texts, fields = ["web-1 is up", "web-1 is up", "web-1 is up"], ['{"host":"web-1"}', None, '{"host":"web-2"}']
    kept = [("web-1 is up", "web-1 is up")]
    trace = string_column([None, None, "at web-1"])
    cut = new_chunker().split(string_column(texts), trace, None, string_column(fields))
    assert pieces_of(cut, 3) == [[("web-1 is up", "host is up")], kept, [*kept, ("at web-1", "at web-1")]]
    cut = new_chunker(takes_values=False).split(string_column(texts), None, None, string_column(fields))
    assert pieces_of(cut, 3) == [kept, kept, kept]


def test_the_pieces_of_a_text_that_does_not_fit_keep_values_of_its_fields() -> None:
    long = "web-1 is up. " * 3
    (pieces,) = pieces_of(new_chunker().split(string_column([long]), None, None, string_column(['{"host":"web-1"}'])), 1)
    assert pieces == [("web-1 is up. ", "web-1 is up. ")] * 3


def test_a_column_whose_texts_all_fit_comes_back_uncopied() -> None:
    text = string_column(["short", "x" * LIMIT, "short"])
    cut = new_chunker().split(text)
    assert cut.text is text
    assert cut.size == 3
    assert cut.row.tolist() == [0, 1, 2]
    assert cut.chunk.tolist() == [0, 0, 0]
    assert cut.chunks.tolist() == [1, 1, 1]
    assert cut.template.values == ("short", "x" * LIMIT)
    assert cut.too_long.tolist() == []


def test_a_word_of_60000_bytes_is_split_or_refused() -> None:
    word = "=" * 60_000
    assert split(word, new_chunker(limit=254, max_chunks=236)) == []
    pieces = split(word, new_chunker(limit=254, max_chunks=1000))
    assert "".join(pieces) == word
    assert max(map(len, pieces)) <= 254


def counting(counted: list[str], *, max_text_bytes: int = 100) -> Chunker:
    """Make a chunker that notes which texts it counts."""

    def count(texts: Sequence[str]) -> list[int]:
        counted.extend(texts)
        return [OVERHEAD_TOKENS + len(text.encode()) for text in texts]

    return Chunker(
        mask=coded,
        count_tokens=count,
        limits=PieceLimits(
            max_tokens=LIMIT + OVERHEAD_TOKENS, overhead_tokens=OVERHEAD_TOKENS, max_text_bytes=max_text_bytes, max_chunks=9
        ),
    )


def test_a_text_that_surely_fits_is_not_counted() -> None:
    counted: list[str] = []
    chunker = counting(counted)
    split_all(["x" * LIMIT, "short"], chunker)
    assert counted == []
    split_all(["é", "x" * (LIMIT + 1)], chunker)
    assert counted[:2] == ["é", "x" * (LIMIT + 1)]


def test_equal_masked_texts_are_counted_once_and_again_only_when_forgotten() -> None:
    counted: list[str] = []
    chunker = counting(counted)
    for _ in range(3):
        assert split_all(["é", "ü", "é"], chunker) == [[("é", "é")], [("ü", "ü")], [("é", "é")]]
    assert counted == ["é", "ü"]
    split_all([f"é{n}" for n in range(20_000)], chunker)
    assert split_all(["é"], chunker) == [[("é", "é")]]
    assert counted.count("é") == 2


def test_a_masked_text_that_does_not_fit_is_split_each_time() -> None:
    counted: list[str] = []
    chunker = counting(counted)
    first = split_all(["語" * 10], chunker)
    assert first == [[("語" * 5, "語" * 5)] * 2]
    assert split_all(["語" * 10, "語" * 5], chunker) == [*first, [("語" * 5, "語" * 5)]]


def test_a_text_too_long_to_be_a_piece_is_never_masked_whole() -> None:
    masked: list[str] = []

    def mask(column: Column) -> Coded:
        masked.extend(as_texts(column))
        return coded(column)

    chunker = new_chunker(mask=mask, text_bytes=30, limit=100)
    assert split_all(["a" * 31, "b" * 30], chunker) == [[("a" * 15, "a" * 15), ("a" * 16, "a" * 16)], [("b" * 30, "b" * 30)]]
    assert max(map(len, masked)) == 30


@pytest.mark.parametrize(
    "text",
    ["word by word " * 400_000, "x" * 5_000_000, "Short. " * 700_000, "line\n" * 1_000_000, "語" * 1_700_000, "語 " * 1_300_000],
    ids=["words", "one word", "sentences", "lines", "characters", "short words"],
)
def test_a_text_of_five_megabytes_is_left_as_soon_as_there_are_too_many_chunks(text: str) -> None:
    looked_at = 0

    def mask(column: Column) -> Coded:
        nonlocal looked_at
        looked_at += sum(map(len, as_texts(column)))
        return coded(column)

    assert split(text, new_chunker(mask=mask, limit=254, text_bytes=65_535, max_chunks=50)) == []
    assert looked_at < 1_000_000


def test_a_limit_below_one_character_is_our_fault() -> None:
    with pytest.raises(ValueError, match="single character"):
        split("語", new_chunker(limit=2))


def test_a_trace_is_cut_apart_from_its_text_and_counts_with_it() -> None:
    texts, traces = ["first", "y" * 30, "last"], ["\nat x", None, "\n" + "z" * 29]
    cut = new_chunker().split(string_column(texts), string_column(traces))
    assert pieces_of(cut, 3) == [
        [("first", "first"), ("\nat x", "\nat x")],
        [("y" * 15, "y" * 15), ("y" * 15, "y" * 15)],
        [("last", "last"), ("\n" + "z" * 14, "\n" + "z" * 14), ("z" * 15, "z" * 15)],
    ]


def test_text_and_trace_together_have_no_more_pieces_than_allowed() -> None:
    chunker = new_chunker(max_chunks=2)
    traces = string_column(["\nat x", "\nat x", None, "z" * 100])
    cut = chunker.split(string_column(["first", "y" * 30, "y" * 30, "last"]), traces)
    assert [[text for text, _ in pieces] for pieces in pieces_of(cut, 4)] == [["first", "\nat x"], [], ["y" * 15, "y" * 15], []]
    assert cut.too_long.tolist() == [1, 3]


def test_a_column_without_a_trace_is_cut_as_if_there_were_none() -> None:
    text = string_column(["short", "x" * LIMIT])
    assert new_chunker().split(text, string_column([None, None])).text is text
