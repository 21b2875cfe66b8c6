"""Row ids: different places have different ids, and an id contains its epoch."""

from hypothesis import given
from hypothesis import strategies as st

from sinks.row import epoch_of, row_id

TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,12}", fullmatch=True)
EPOCHS = st.from_regex(r"[0-9A-Za-z_-]{1,8}", fullmatch=True)
NUMBERS = st.integers(min_value=0, max_value=2**31 - 1) | st.integers(min_value=0, max_value=12)
PLACES = st.tuples(TOPICS, EPOCHS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)


@given(PLACES, PLACES)
def test_ids_of_two_places_differ(one: tuple[str, str, int, int, int, int], other: tuple[str, str, int, int, int, int]) -> None:
    assert (row_id(*one) == row_id(*other)) == (one == other)


@given(PLACES, st.integers(min_value=0, max_value=5), NUMBERS)
def test_a_place_that_differs_in_one_part_has_another_id(place: tuple[str, str, int, int, int, int], part: int, number: int) -> None:
    changed = list(place)
    changed[part] = f"{place[part]}x" if part < 2 else int(place[part]) + number + 1
    assert row_id(*place) != row_id(*changed)  # type: ignore[arg-type] # of the same types


@given(PLACES)
def test_an_id_says_its_epoch(place: tuple[str, str, int, int, int, int]) -> None:
    assert epoch_of(row_id(*place)) == place[1]
