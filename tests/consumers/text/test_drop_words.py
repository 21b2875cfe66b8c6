"""Words with digits that go, in C: the same of each text alone, and of a form as of its texts; golden/texts has the words."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts, string_column
from consumers.text.drop_words import drop_words
from consumers.text.text_forms import forms_of

PIECES = (
    *("web01", "cart-7f9c", "kafka:9092", "port:22", "1.2.3-rc1", "2:4.1-3ubuntu2", "libfoo3:amd64", "dQw4w9WgXcQ", "worker-7"),
    *("on node-3",),
    *("E1234", "status 404", "utf8", "main2.py", "aa:0b:cc", "12:00PM", "2-Nov-2021", "2024-01-02T03:04", "db2.example.org", "x=a1"),
    *("p50=",),
    *("depth....0", "block.434", "é1", "_a1_", "-a1-", "a1(", "Package_for_KB29~amd64~~6.1.1", ":all", ":", "-", ".", "~", "1", "a"),
    *("/", "on "),
)
texts_of = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.text("0189abzAZ.:-_~+/( ", max_size=24),
    st.text(max_size=8),
)
few = settings(deadline=None, max_examples=300)


def dropped(texts: list[str]) -> list[str]:
    return as_texts(drop_words(string_column(texts)))


@few
@given(texts=st.lists(texts_of, max_size=6))
@example(texts=["web", "01", "kafka:", "9092", "1:", "4.1-3a", "on ", "node-3"])
def test_a_text_keeps_the_same_words_alone_and_beside_others(texts: list[str]) -> None:
    assert dropped(texts) == [one for text in texts for one in dropped([text])]


@few
@given(texts=st.lists(texts_of, min_size=1, max_size=4))
def test_a_form_loses_the_same_bytes_as_its_texts(texts: list[str]) -> None:
    column = string_column(texts)
    forms = forms_of(column, keep_codes=True)
    assert as_texts(forms_of(drop_words(column), keep_codes=False)) == as_texts(forms_of(drop_words(forms), keep_codes=False))


def test_a_column_without_such_words_comes_back_uncopied() -> None:
    column = string_column(["took 12 of 17", "", "E1234", "port:22"])
    assert drop_words(column) is column
    assert dropped([]) == []


def test_a_column_that_begins_in_the_middle_keeps_its_own_words() -> None:
    assert as_texts(drop_words(string_column(["before web01", "", "at web01", "x", "web01"]).slice(1, 3))) == ["", "at ", "x"]
