"""Families that differ in one word are one kind, unless the word says what happened."""

import pytest

from tests.rows import rows
from worker.querying.kinds import kinds_of


def grouped(*texts: str) -> list[list[int]]:
    return [[kind.first, *(at for at, _ in kind.others)] for kind in kinds_of(texts)]


def test_texts_that_differ_in_a_name_are_one_kind_and_say_which() -> None:
    texts = ["parcel liam was weighed", "liam weighed it again", "parcel nadia was weighed", "Parcel 'jonas' was weighed"]
    assert kinds_of(texts) == [(0, [(2, "nadia"), (3, "jonas")]), (1, [])]


@pytest.mark.parametrize(("one", "other"), rows("questions/kinds_apart"))
def test_a_state_a_code_and_short_texts_stay_apart(one: str, other: str) -> None:
    assert grouped(one, other) == [[0], [1]]


def test_three_families_that_differ_in_a_word_of_the_language_are_one_kind() -> None:
    tables = [f"slow query hit {name} again" for name in ("orders", "messages", "events")]
    assert grouped(*tables[:2]) == [[0], [1]]
    assert grouped(*tables) == [[0, 1, 2]]


def test_two_words_apart_are_two_kinds_and_all_of_a_kind_differ_in_the_same_word() -> None:
    assert grouped("copied alpha over beta", "copied gamma over delta") == [[0], [1]]
    assert grouped("copied alpha over beta", "copied gamma over beta", "copied alpha over delta") == [[0, 1], [2]]


def test_paths_do_not_count_and_numbered_names_are_names() -> None:
    assert grouped("parcel nadia answered slowly for /api/cart", "parcel ledger answered slowly for /login") == [[0, 1]]
    assert grouped("pod web-1 was moved away", "pod web-2 was moved away") == [[0, 1]]


def test_a_text_of_thousands_of_words_is_left_alone() -> None:
    assert grouped("word " * 5_000 + "liam", "word " * 5_000 + "nadia") == [[0], [1]]
