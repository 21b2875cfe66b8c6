"""What a search by words sees of a text, and which of its words are identifiers."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.arrow import string_column
from tests.rows import rows
from worker.querying.query_words import terms_of, with_all, words_of


@pytest.mark.parametrize(("text", "words"), rows("questions/words"))
def test_grammar_goes_and_identifiers_stay_whole(text: str, words: str) -> None:
    assert words_of(text).text == words


@pytest.mark.parametrize(("word", "names_one_thing"), rows("questions/names_one_thing"))
def test_short_words_with_a_digit_and_times_name_no_single_thing(word: str, names_one_thing: bool) -> None:  # noqa: FBT001
    assert [one.text for one in words_of(word).identifiers] == ([word] if names_one_thing else [])


@pytest.mark.parametrize(("line", "identifier", "is_whole"), rows("questions/whole_identifiers"))
def test_an_identifier_is_there_only_as_a_whole_in_whatever_letters(line: str, identifier: str, is_whole: bool) -> None:  # noqa: FBT001
    words = words_of(identifier)
    assert words.identifiers_in(line) == int(is_whole)
    assert with_all(words.identifiers)(string_column([line, "other"])).tolist() == [is_whole, False]


@example(["xK-1 \u212a-1", "K-1\u017f", "k-1 a-2", "·k-1·"], "k-1")
@given(
    st.lists(
        st.lists(st.sampled_from(["k-1", "K-1", "\u212a-1", "a-2", "é-3", "É-3", "x", "é", "·", "\u017f", "_", " ", "."])).map("".join)
    ),
    st.sampled_from(["k-1", "a-2", "é-3", "k-1 a-2", "a-2 é-3 k-1"]),
)
def test_texts_with_all_identifiers_are_those_in_which_each_is_found(texts: list[str], query: str) -> None:
    identifiers = words_of(query).identifiers
    is_there = [all(one.is_in(text) and (not one.text.isascii() or spelt(one.text, text)) for one in identifiers) for text in texts]
    assert with_all(identifiers)(string_column(texts)).tolist() == is_there


def spelt(identifier: str, text: str) -> bool:
    return identifier.encode() in text.encode().lower()


def test_shares_are_of_different_terms() -> None:
    words = words_of("disk disk full")
    assert [words.share_in(line) for line in ("DISK", "full disk", "network")] == [0.5, 1.0, 0.0]
    assert words_of("").share_in("disk") == 0.0


def test_of_very_many_identifiers_not_all_are_looked_for() -> None:
    words = words_of(" ".join(f"id-{n}" for n in range(900)))
    assert len(words.identifiers) == 8
    assert words.is_exact
    assert not words_of(" ".join(f"id-{n}" for n in range(900)) + " lost").is_exact


@given(st.text().filter(lambda text: "_" not in text))
def test_every_identifier_of_a_text_is_whole_in_it(text: str) -> None:
    words = words_of(text)
    assert words.identifiers_in(text) == len(words.identifiers)
    assert words.terms == terms_of(words.text)


@pytest.mark.parametrize(("text", "is_exact"), rows("questions/exact_texts"))
def test_a_text_of_identifiers_and_grammar_is_exact(text: str, is_exact: bool) -> None:  # noqa: FBT001
    assert words_of(text).is_exact is is_exact
