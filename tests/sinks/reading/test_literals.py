"""A literal is found in exactly the texts that hold it, whatever stands beside them. The oracle searches one text after the other."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.arrow import as_optional_texts, string_column, take, utf8_of
from sinks.reading.literals import IN_A_WORD, NOT_HELD, PERHAPS_WHOLE, WHOLE, absent_from, holds, rows_holding, rows_with

CHARACTERS = "aAbB1_- \né\u212a\u017f"
"""With the two characters beyond ASCII that are letters of ASCII where case does not count."""
TEXTS = st.lists(st.text(CHARACTERS, max_size=6) | st.none(), max_size=12)
LITERALS = st.text("aAbBkS1_-", min_size=1, max_size=4)
LONG_TEXTS = st.lists(
    st.builds(lambda unit, times, end: unit * times + end, st.text("abA-é", min_size=1, max_size=4), st.integers(0, 600), st.text("ab-")),
    max_size=4,
)
LONG_LITERALS = st.builds(lambda unit, times, end: unit * times + end, st.text("ab", min_size=1, max_size=2), st.integers(1, 90), LITERALS)


def holding(texts: Sequence[str | None], literal: str) -> list[int]:
    wanted = literal.lower().encode()
    return [row for row, text in enumerate(texts) if text and wanted in text.encode().lower()]


def check(texts: Sequence[str | None], literal: str) -> None:
    column = string_column(texts)
    assert rows_with(column, literal).tolist() == holding(texts, literal)
    whole = re.compile(rf"(?<!\w){re.escape(literal)}(?!\w)", re.IGNORECASE)
    held = holds(column, literal).tolist()
    for row in holding(texts, literal):
        text = texts[row] or ""
        if held[row] == PERHAPS_WHOLE:
            assert not text.isascii()
        else:
            assert held[row] == (WHOLE if whole.search(text) else IN_A_WORD)


@example(["ab", "xab-ab", "a b", "éab", "éab ab"], "AB")
@example(["xk1 \u212a1"], "k1")
@given(TEXTS, LITERALS)
def test_the_rows_are_those_of_a_search_text_by_text(texts: list[str | None], literal: str) -> None:
    check(texts, literal)


@example(["a" * 3_000, "", "a" * 99, "a" * 100], "a" * 100)
@example(["a" * 9_000 + "-" + "a" * 100, "a" * 100 + "b"], "a" * 100)
@example(["a" * 5_000 + "baa", "a" * 5_000, "A" * 50 + "baa"], "a" * 50 + "baa")
@given(LONG_TEXTS, LONG_LITERALS)
def test_so_they_are_in_texts_that_repeat_themselves(texts: list[str], literal: str) -> None:
    check(texts, literal)


@given(TEXTS, LITERALS, st.integers(0, 12), st.integers(0, 12))
def test_a_slice_of_a_column_has_its_own_rows(texts: list[str | None], literal: str, first: int, size: int) -> None:
    column = string_column(texts)[first:][:size]
    assert rows_with(column, literal).tolist() == holding(as_optional_texts(column), literal)


def test_rows_taken_out_of_a_column_are_numbered_anew() -> None:
    texts = string_column(["req-1", "no", "REQ-1 req-1", "", "req-12"])
    assert rows_with(take(texts, np.array([4, 1])), "req-1").tolist() == [0]


def test_a_literal_that_begins_in_one_text_and_ends_in_the_next_is_in_neither() -> None:
    assert rows_with(string_column(["xa", "bx", "ab"]), "ab").tolist() == [2]


@pytest.mark.timeout(60)  # of 20 ms; if all were compared at every place, it would be 90 s and more
def test_texts_that_nearly_hold_a_long_literal_everywhere_cost_no_more_than_others() -> None:
    half = "a" * 20_000
    literal = f"{half}b{half}"
    texts = string_column(["a" * 4_000_000, literal + "a", "-" + literal])
    assert holds(texts, literal).tolist() == [NOT_HELD, IN_A_WORD, WHOLE]
    assert rows_with(texts, half).tolist() == [0, 1, 2]


@pytest.mark.parametrize("literal", ["", "é"])
def test_what_is_no_ascii_literal_is_refused(literal: str) -> None:
    with pytest.raises(ValueError, match="not an ASCII literal"):
        rows_with(string_column(["a"]), literal)
    with pytest.raises(ValueError, match="not an ASCII literal"):
        absent_from(np.empty(0, np.uint8), [literal])


@given(st.text(CHARACTERS, max_size=60), st.lists(LITERALS, max_size=3))
def test_a_literal_that_stands_nowhere_in_the_bytes_is_absent(text: str, literals: list[str]) -> None:
    data, _ = utf8_of(string_column([text]))
    assert absent_from(data, literals) == [one for one in literals if not holding([text], one)]


PHRASES = st.text("aAbk1_-é.", min_size=1, max_size=4)


@example(["xa", "a", "ax", "-a", "é a", "éa"], "a")
@example(["x[a] b", "[a]b", "x [a]"], "[a]")
@example(["a]b", "xa]b", "a]", "\u212aa]"], "a]")
@example(["éa b", "xéa"], "éa")
@given(st.lists(st.text(CHARACTERS, max_size=6), max_size=12), PHRASES)
def test_a_phrase_is_held_where_its_words_are_whole(texts: list[str], phrase: str) -> None:
    def is_held(text: str) -> bool:
        def is_word(at: int) -> bool:
            return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")

        folded, ends = text.lower(), (phrase[0].isalnum() or phrase[0] == "_", phrase[-1].isalnum() or phrase[-1] == "_")
        places = [at for at in range(len(text)) if folded.startswith(phrase.lower(), at)]
        return any(not (ends[0] and is_word(at - 1)) and not (ends[1] and is_word(at + len(phrase))) for at in places)

    plain = [text.replace("\u212a", "é").replace("\u017f", "é") for text in texts]
    assert rows_holding(string_column(plain), phrase).tolist() == [is_held(text) for text in plain]
