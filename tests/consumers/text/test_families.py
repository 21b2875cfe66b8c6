"""Families: which templates are nearly the same, and which only look alike."""

from hypothesis import example, given
from hypothesis import strategies as st

from consumers.text.families import family_of, family_text

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


def test_words_too_long_to_be_remembered_are_treated_like_others() -> None:
    name = "a" * 100
    assert family_text(f"({name.upper()}) opened /{name}") == f"{name} opened"
    assert family_text(f"{name}Error: gone") == f"{name}error gone"
