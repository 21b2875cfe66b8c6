"""Columns: made, cut and joined, also when they begin in the middle of Arrow's memory."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers import columns
from consumers.columns import Column

texts_of = st.lists(st.text("ab\r\n é語", max_size=6), max_size=8)
few = settings(deadline=None, max_examples=200)


def sliced(texts: list[str]) -> Column:
    """Make a column that is a slice of a longer one."""
    return columns.string_column(["before\r\n", *texts, "\nafter"]).slice(1, len(texts))


def both(texts: list[str]) -> list[Column]:
    return [columns.string_column(texts), sliced(texts)]


@pytest.mark.parametrize(
    ("text", "stripped"), [("", ""), ("\n", ""), ("\r\n", ""), ("\r", "\r"), ("a\r\n\r\n", "a\r\n"), ("a\n\r", "a\n\r"), ("é\n", "é")]
)
def test_one_line_end_is_stripped(text: str, stripped: str) -> None:
    for column in both([text, "b\n", text]):
        assert columns.as_texts(columns.strip_line_ends(column)) == [stripped, "b", stripped]


def test_a_column_without_line_ends_is_handed_back_as_it_is() -> None:
    for texts in ([], [""], ["a", "", "b\nc", "\r"]):
        for column in both(texts):
            assert columns.strip_line_ends(column) is column


@few
@given(texts=texts_of)
def test_line_ends_are_stripped_of_each_text_for_itself(texts: list[str]) -> None:
    expected = [text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text for text in texts]
    for column in both(texts):
        stripped = columns.strip_line_ends(column)
        stripped.validate(full=True)
        assert columns.as_texts(stripped) == expected


@few
@given(texts=texts_of)
def test_a_columns_memory_holds_its_texts(texts: list[str]) -> None:
    encoded = [text.encode() for text in texts]
    for column in both(texts):
        data, ends = columns.utf8_of(column)
        assert [data[begin:end].tobytes() for begin, end in pairwise(ends.tolist())] == encoded
        assert columns.text_bytes(column).tolist() == list(map(len, encoded))


@few
@given(texts=st.lists(st.tuples(st.sampled_from("ab語"), st.booleans()), max_size=8))
def test_texts_are_replaced_in_their_rows(texts: list[tuple[str, bool]]) -> None:
    rows = np.flatnonzero([chosen for _, chosen in texts])
    new = [f"new {row}" for row in rows.tolist()]
    for column in both([text for text, _ in texts]):
        replaced = columns.replace_rows(column, rows, columns.string_column(new))
        assert columns.as_texts(replaced) == [f"new {row}" if chosen else text for row, (text, chosen) in enumerate(texts)]


def test_bytes_become_texts_only_if_all_are_valid() -> None:
    text = columns.as_text(columns.byte_column([b"a", None, b"", "語".encode()]))
    assert text is not None
    assert text.to_pylist() == ["a", None, "", "語"]
    for bad in (b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", "語".encode()[:2]):
        assert columns.as_text(columns.byte_column([b"a", bad])) is None


@few
@given(texts=st.lists(st.sampled_from(["", "a", "b", "語"]), max_size=8))
def test_few_distinct_texts_are_coded_in_the_order_of_their_first_use(texts: list[str]) -> None:
    for coded in (columns.coded_texts(texts), columns.coded(columns.string_column(texts))):
        assert coded.values == tuple(dict.fromkeys(texts))
        assert [coded.text(i) for i in range(len(texts))] == texts
        assert coded.codes.dtype == np.int32


@few
@given(codes=st.lists(st.integers(0, 3), max_size=6))
def test_values_that_are_not_used_are_left_out(codes: list[int]) -> None:
    coded = columns.used_values(np.array(codes, np.int32), ["a", "b", "c", "d"])
    assert [coded.text(i) for i in range(len(codes))] == ["abcd"[code] for code in codes]
    assert sorted(coded.values) == sorted({"abcd"[code] for code in codes})
    assert coded.codes.dtype == np.int32
