"""Families: which templates are nearly the same, and which only look alike."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from consumers.text import families
from consumers.text.families import family_of, family_text
from consumers.text.name_words import find_likely_names

PIECES = (
    *("404", "200", "503", "1234", "E1234", "_404_", "4xx", "é404", "٤٠٤", "IOException", "a.b.IOException", "x_404_Error", "İError"),
    *("İ404",),
    *("/", "/x", "~", "~/x", "./x", ".../x", "../", "\\", "::", "$", ".", "a.b", "a/b", "İ", "\u017f", "ß", "é", "中", "\u0307", "\u0085"),
    *(*"()[]{}<>\"'`,;:=|!?*-_", " ", "\t", "\u00a0", "word", "Word", "Errors", "Fault"),
)
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=10).map("".join),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=10).map(" ".join),
    st.text(min_size=1),
)


def test_an_id_is_sixteen_hexadecimal_digits_that_do_not_change() -> None:
    assert family_of("Connection refused") == family_of("connection refused.") == "781a45b3f158bc2a"
    assert len(family_of("half \ud800")) == 16


@given(text=texts)
@example(text='"/etc" x')
@example(text="(~/x) y")
@example(text=".../x y")
@example(text="a.x_404_Error z")
@example(text="İ404 x")
def test_the_text_of_a_family_is_its_own_and_never_empty(text: str) -> None:
    common = family_text(text)
    assert common
    assert family_text(common) == common
    assert family_of(common) == family_of(text)


def test_of_a_text_of_many_words_each_is_looked_at_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def look(words: Sequence[str]) -> list[int]:
        looked.append(len(words))
        return find_likely_names(words)

    monkeypatch.setattr(families, "find_likely_names", look)
    for count in (64, 65, 2_000):
        hostile = "at" + " xed" * (count - 1)
        assert family_text(family_text(hostile)) == family_text(hostile)
    assert 1_000 < sum(looked) < 64 * 64 * 2


def test_words_too_long_to_be_remembered_are_treated_like_others() -> None:
    name = "a" * 100
    assert family_text(f"({name.upper()}) opened /{name}") == f"{name} opened"
    assert family_text(f"{name}Error: gone") == f"{name}error gone"
