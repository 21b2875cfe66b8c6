"""A literal is found in exactly the texts that hold it, whatever stands beside them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.arrow import join_texts, string_column, take
from sinks.codec import encode_texts
from sinks.reading.literals import may_hold, rows_with

TEXTS = st.lists(st.text("aAbB-é", max_size=6), max_size=12)


@given(TEXTS, st.text("aAb-", min_size=1, max_size=3))
def test_the_rows_are_those_of_a_search_text_by_text(texts: list[str], literal: str) -> None:
    expected = [row for row, text in enumerate(texts) if literal.lower() in text.lower()]
    assert rows_with(string_column(texts), literal).tolist() == expected


def test_a_literal_that_begins_in_one_text_and_ends_in_the_next_is_in_neither() -> None:
    assert rows_with(string_column(["xa", "bx", "ab"]), "ab").tolist() == [2]


def test_a_part_of_a_column_has_its_own_rows() -> None:
    texts = string_column(["req-1", "no", "REQ-1 req-1", "", "req-12"])
    assert rows_with(texts[1:], "req-1").tolist() == [1, 3]
    assert rows_with(take(texts, np.array([4, 1])), "req-1").tolist() == [0]


@pytest.mark.parametrize("literal", ["", "é"])
def test_what_is_no_ascii_literal_is_refused(literal: str) -> None:
    with pytest.raises(ValueError, match="no ASCII literal"):
        rows_with(string_column(["a"]), literal)


@given(st.lists(st.text("aAbB-é", max_size=6), min_size=1, max_size=12), st.lists(st.text("aAb-", min_size=1, max_size=3), max_size=2))
def test_a_stored_block_may_hold_what_one_of_its_texts_holds(texts: list[str], literals: list[str]) -> None:
    stored = encode_texts(join_texts(string_column(texts)))
    assert may_hold(stored, literals) or any(not any(one.lower() in text.lower() for text in texts) for one in literals)
    assert not may_hold(stored, [*literals, "c"])


def test_what_cannot_be_unpacked_may_hold_anything() -> None:
    assert may_hold(b"damaged", ["a"])
