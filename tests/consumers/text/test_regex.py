"""Columns: searched, split and joined, also when they begin in the middle of Arrow's memory."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import Column, as_texts, string_column
from consumers.text import regex

texts_of = st.lists(st.text("ab:@\n\r é", max_size=6), max_size=8)
few = settings(deadline=None, max_examples=100)


def sliced(texts: list[str]) -> Column:
    """Make a column that is a slice of a longer one."""
    return string_column(["before::@", *texts, "a::@ after"]).slice(1, len(texts))


@few
@given(texts=texts_of)
@example(texts=["a:", ":b", "", "::", ""])
@example(texts=["", ""])
def test_finds_the_texts_that_contain_something_and_hardly_another(texts: list[str]) -> None:
    for column in (string_column(texts), sliced(texts)):
        assert regex.find_containing(column, "@").tolist() == [i for i, text in enumerate(texts) if "@" in text]
        found = set(regex.find_containing(column, "::").tolist())
        assert found >= {i for i, text in enumerate(texts) if "::" in text}
        assert all(":" in texts[i] for i in found)


@few
@given(texts=texts_of)
def test_finds_the_texts_that_begin_with_something(texts: list[str]) -> None:
    for column in (string_column(texts), sliced(texts)):
        assert regex.find_starting(column, "b@").tolist() == [i for i, text in enumerate(texts) if text[:1] in {"b", "@"}]


def test_finds_what_lies_far_into_a_column_and_across_its_blocks() -> None:
    many = 100_000
    texts = ["a" * (many + n) + "::" for n in range(-8, 8)]
    column = string_column(["", *texts, "a" * many, ":"])
    assert regex.find_containing(column, "::").tolist() == list(range(1, len(texts) + 1))


@few
@given(texts=texts_of, chosen=st.sets(st.integers(0, 7)))
def test_replaces_at_some_places_and_leaves_the_others(texts: list[str], chosen: set[int]) -> None:
    places = sorted(place for place in chosen if place < len(texts))
    for column in (string_column(texts), sliced(texts)):
        replaced = regex.replace_matches_at(column, places, "a+", "<a>")
        assert as_texts(replaced) == [
            text if i not in places else as_texts(regex.replace_matches(string_column([text]), "a+", "<a>"))[0]
            for i, text in enumerate(texts)
        ]


@few
@given(texts=texts_of)
@example(texts=[])
@example(texts=["", "\n", "a\nb", "\r\n"])
def test_texts_become_lines_and_lines_texts(texts: list[str]) -> None:
    for column in (string_column(texts), sliced(texts)):
        joined = regex.join_lines(column)
        assert as_texts(joined) == ["".join(text.replace("\n", "\r") + "\n" for text in texts)]
        assert as_texts(regex.split_lines(regex.as_bytes(joined))) == [text.replace("\n", "\r").strip() for text in texts]
