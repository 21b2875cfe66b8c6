"""Ids of lines and templates: different places and texts have different ids, and a line's id contains its epoch."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from sinks.row import line_id, template_key, template_keys
from tests.template_ids import id_of

TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,12}", fullmatch=True)
EPOCHS = st.from_regex(r"[0-9A-Za-z_-]{0,8}", fullmatch=True)
NUMBERS = st.integers(min_value=0, max_value=2**31 - 1) | st.integers(min_value=0, max_value=12)
PLACES = st.tuples(TOPICS, EPOCHS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)


@given(PLACES, PLACES)
def test_ids_of_two_places_differ(one: tuple[str, str, int, int, int, int], other: tuple[str, str, int, int, int, int]) -> None:
    assert (line_id(*one) == line_id(*other)) == (one == other)


@given(PLACES, st.integers(min_value=0, max_value=5), NUMBERS)
def test_a_place_that_differs_in_one_part_has_another_id(place: tuple[str, str, int, int, int, int], part: int, number: int) -> None:
    changed = list(place)
    changed[part] = f"{place[part]}x" if part < 2 else int(place[part]) + number + 1
    assert line_id(*place) != line_id(*changed)  # type: ignore[arg-type] # of the same types


@given(PLACES)
def test_an_id_says_its_epoch(place: tuple[str, str, int, int, int, int]) -> None:
    assert line_id(*place).partition("@")[2].partition("/")[0] == place[1]


@given(st.text(max_size=4), st.text(max_size=4))
def test_templates_are_equal_exactly_if_their_texts_are(one: str, other: str) -> None:
    assert (id_of(one) == id_of(other)) == (one == other)


@given(st.text())
def test_a_templates_id_is_the_hash_of_its_text_alone_so_a_later_version_or_another_model_finds_it_again(text: str) -> None:
    assert id_of(text) == hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def test_a_lone_surrogate_is_a_question_mark() -> None:
    assert id_of("disk \ud800") == id_of("disk ?")


@given(st.lists(st.text(max_size=4)))
def test_a_templates_key_is_the_first_half_of_its_id_as_a_signed_number(texts: list[str]) -> None:
    ids = [id_of(text) for text in texts]
    assert template_keys(ids).tolist() == [template_key(one) for one in ids]
    assert all(key % 2**64 == int(one[:16], 16) for key, one in zip(template_keys(ids).tolist(), ids, strict=True))
