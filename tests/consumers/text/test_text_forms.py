"""Forms: texts that have the same form are masked alike, whatever their digits."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import Column, as_texts, string_column
from consumers.text import regex
from consumers.text.mask_patterns import NEEDS, PASSES, STARTS, VARIABLE_MASKS
from consumers.text.strip_numbers import strip_numbers
from consumers.text.text_forms import DIGIT, find_with_codes, forms_of

PATTERNS = {mask.name: mask.pattern for mask in VARIABLE_MASKS}
PIECES = (
    *("0x", "0", "7", "x", "00x1f", "7xdead", "12ms", "3.5 GB", "-1", "HTTP 503", "status: 404", 'HTTP/1.1" 200', "errno 13", "E1234"),
    *("ORA-009",),
    *("42", "a@b.example", "0a@b.cx", "/x?n=0x1", "&a=1x", "Dec 4", "0 Dec 4x", "4 Jan 2005x", "fe80::a", "0::x", "1::0x2"),
    *("R20-M0-N9", "x2x9z"),
    *("aa:bb:cc:dd:ee:ff", "0aa:bb:cc:dd:ee:x", "Dec 10 06:55:46 gw su: ", "<34>1 2003-10-11T22:14:15Z gw su "),
    *("Dec 10 06:55:46 0 x1:", "0_550e8400-e29b-41d4-a716-446655440000", "1_m_2", "_m_", "5 secs", " hrs", "é", "\n"),
)
texts_of = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
    st.text('0789xaE-:_ T.@?=&"/', max_size=30),
    st.text(max_size=8),
)
few = settings(deadline=None, max_examples=300)


def masked_once(column: Column) -> list[str]:
    """Apply the built-in masks in their order, each to all texts."""
    for mask in VARIABLE_MASKS:
        if mask.name in NEEDS or mask.name in STARTS:
            column = regex.replace_matches(column, mask.pattern, mask.replacement)
    text = regex.join_lines(column)
    for names in PASSES:
        text = regex.replace_matches(text, "|".join(PATTERNS[name] for name in names), "")
    return as_texts(strip_numbers(text))


def form_of(text: str, *, keep_codes: bool = False) -> str:
    (form,) = as_texts(forms_of(string_column([text]), keep_codes=keep_codes))
    return form


@pytest.mark.slow
@few
@given(texts=st.lists(texts_of, max_size=6))
@example(texts=["0a@b.cxdead", "0xdead", "7xdead"])
@example(texts=["status 12", "status 404", "HTTP 88"])
@example(texts=["0_550e8400-e29b-41d4-a716-446655440000xdead", "01_m_2xdead", "0 5 secsxdead", "0-5 secs"])
def test_a_form_of_which_no_8_is_left_is_masked_as_its_texts(texts: list[str]) -> None:
    column = string_column(texts)
    alone = masked_once(column)
    for keep_codes in (False, True):
        masked = masked_once(forms_of(column, keep_codes=keep_codes))
        assert [one for one in masked if DIGIT not in one] == [one for one, form in zip(alone, masked, strict=True) if DIGIT not in form]
        assert [len(one) for one in masked] == [len(one) for one in alone]


def test_a_hexadecimal_number_keeps_its_beginning() -> None:
    assert form_of("0x1f 10x0 7x1 0X2 00x 0") == "0x8f 80x8 8x8 8X8 80x 8"
    assert form_of("x0") == "x8"


def test_forms_of_any_length_have_the_bytes_of_their_texts() -> None:
    texts = ["0x19é"[: number % 6] * (number // 6) for number in range(300)]
    expected = [re.sub("[0-9]", "8", text).replace("8x", "0x") for text in texts]
    assert as_texts(forms_of(string_column(texts))) == expected
    assert as_texts(forms_of(string_column([]))) == []


def test_codes_stay_only_where_they_are_wanted() -> None:
    text = 'peer 17 HTTP 503 E1234 status=404 errno 13 "GET / HTTP/1.1" 200 9'
    assert form_of(text, keep_codes=True) == 'peer 88 HTTP 503 E1234 status=404 errno 13 "GET / HTTP/8.8" 200 8'
    assert not set("012345679") & set(form_of(text))
    texts = ["HTTP", "503", "status 404", "2 of it", "E1234"]
    assert as_texts(forms_of(string_column(texts), keep_codes=True)) == ["HTTP", "888", "status 404", "8 of it", "E1234"]


def test_texts_keep_their_places_in_a_column_that_begins_in_the_middle() -> None:
    column = string_column(["before 1", "", "a 17", "0x", "after 2"]).slice(1, 3)
    assert as_texts(forms_of(column)) == ["", "a 88", "0x"]
    assert as_texts(forms_of(column, keep_codes=True)) == ["", "a 88", "0x"]


def test_finds_the_texts_with_codes() -> None:
    texts = ["", "took 12", "HTTP 503", "E1234 and status 404", "", "7", "errno 13"]
    assert find_with_codes(string_column(texts)).tolist() == [2, 3, 6]
    assert find_with_codes(string_column(["", "7"])).tolist() == []
