"""Families: which templates are nearly the same, and which only look alike."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from consumers.text.families import family_of, family_text

JOINED = (
    ("cannot open /var/log/a.log", "cannot open /srv/data"),
    ("cannot open '/var/log' now", "cannot open (~/x) now"),
    ("cannot open ./a/b now", "cannot open ../c now"),
    (r"cannot open C:\Users\a", "cannot open a/b"),
    ("org.apache.foo.Bar: started", "com.acme.Main: started"),
    ("main.py: started", "foo.cpp: started"),
    ("net::Socket started", "Main$Inner started"),
    ('"GET /shop/items HTTP/" 200', '"GET /shop/items HTTP/" 204'),
    ("answered with status=404", "answered with status=410"),
    ("Connection refused", "connection REFUSED:"),
    ("[main] (Connection) 'refused'.", "main Connection refused"),
    ("java.io.IOException: gone", "org.acme.IOException: gone"),
)
APART = (
    ('"GET /shop/items HTTP/" 404', '"GET /shop/items HTTP/" 200'),
    ("answered with status=404", "answered with status=503"),
    ("java.io.IOException: gone", "java.net.ConnectException: gone"),
    ("java.lang.OutOfMemoryError", "java.lang.StackOverflowError"),
    ("java.io.IOException: gone", "org.acme.Main: gone"),
    ("failed with E1234", "failed with E1235"),
    ("failed with ORA-00942", "failed with ORA-00943"),
    ("cannot open /var/log", "cannot close /var/log"),
    ("connection opened", "connection closed"),
    ("a user left", "a user left again"),
    ("disk is full", "full is disk"),
    ("errno 13", "errno 2"),
    ("answered code 601", "answered code 650"),
)
IDENTITY = {
    'E main.go:] "cannot open" err="no route"': 'e cannot open err="no route',
    "java.net.ConnectException: Connection refused": "connectexception connection refused",
    "upstream answered HTTP 503": "upstream answered http 5xx",
}
PIECES = (
    *(
        "404",
        "200",
        "503",
        "1234",
        "E1234",
        "_404_",
        "4xx",
        "é404",
        "٤٠٤",
        "IOException",
        "a.b.IOException",
        "x_404_Error",
        "İError",
        "İ404",
    ),
    *("/", "/x", "~", "~/x", "./x", ".../x", "../", "\\", "::", "$", ".", "a.b", "a/b", "İ", "\u017f", "ß", "é", "中", "\u0307", "\u0085"),
    *(*"()[]{}<>\"'`,;:=|!?*-_", " ", "\t", "\u00a0", "word", "Word", "Errors", "Fault"),
)
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=10).map("".join),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=10).map(" ".join),
    st.text(min_size=1),
)


def test_templates_that_differ_in_names_and_in_the_last_digits_of_a_status_are_one_family(subtests: pytest.Subtests) -> None:
    for one, other in JOINED:
        with subtests.test(one):
            assert family_text(one) == family_text(other)
            assert family_of(one) == family_of(other)


def test_templates_that_say_something_else_are_two(subtests: pytest.Subtests) -> None:
    for one, other in APART:
        with subtests.test(one):
            assert family_of(one) != family_of(other)


def test_a_family_keeps_the_words_and_the_names_of_faults() -> None:
    assert {text: family_text(text) for text in IDENTITY} == IDENTITY


def test_a_template_of_nothing_but_names_is_a_family_of_its_own() -> None:
    assert family_text("/var/log/a.log") == "/var/log/a.log"
    assert family_of("/var/log/a.log") != family_of("/srv/data")
    assert family_text("...") == "..."


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


@given(several=st.lists(texts, max_size=5))
def test_an_id_depends_on_the_text_alone(several: list[str]) -> None:
    ids = [family_of(text) for text in several]
    assert ids[::-1] == [family_of(text) for text in several[::-1]]
    assert all(len(one) == 16 for one in ids)


def test_words_too_long_to_be_remembered_are_treated_like_others() -> None:
    name = "a" * 100
    assert family_text(f"({name.upper()}) opened /{name}") == f"{name} opened"
    assert family_text(f"{name}Error: gone") == f"{name}error gone"
