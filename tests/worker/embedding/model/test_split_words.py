"""Joined names are split into words, and nothing else changes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import rows
from worker.embedding.model.split_words import split_words


@pytest.mark.parametrize(("text", "split"), rows("model/split_names"))
def test_names_are_split_where_a_word_ends(text: str, split: str) -> None:
    assert split_words(text) == split


@given(st.text("aBcD_1 .é", max_size=30))
def test_splitting_keeps_every_letter_in_order_and_twice_is_once(text: str) -> None:
    once = split_words(text)
    assert split_words(once) == once
    assert re.sub("[ _]", "", once) == re.sub("[ _]", "", text)


@given(st.lists(st.text("aBcD_1 .é", max_size=12), max_size=4))
def test_a_text_is_split_like_its_lines(lines: list[str]) -> None:
    assert split_words("\n".join(lines)) == "\n".join(map(split_words, lines))
