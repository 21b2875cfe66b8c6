"""Places of templates that are equal but for one word: compared with every pair of templates."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from worker.masks.word_places import LEAST_VARIANTS, Place, Words, common_start, find_varying_places, split_words, without

FEW_WORDS = st.lists(st.sampled_from("abcd"), max_size=4).map(tuple)


def all_groups(words: list[Words]) -> list[list[Place]]:
    """The oracle: every template at every place beside all others."""
    by_rest: dict[tuple[int, Words], list[Place]] = defaultdict(list)
    for template, one in enumerate(words):
        for place in range(len(one)):
            by_rest[place, without(one, place)].append(Place(template, place))
    return sorted(group for group in by_rest.values() if len(group) >= LEAST_VARIANTS)


@given(st.lists(FEW_WORDS, unique=True, max_size=60))
def test_every_place_that_varies_is_found_and_no_other(words: list[Words]) -> None:
    assert find_varying_places(words) == all_groups(words)


def test_two_variants_are_too_few() -> None:
    words = split_words(["user ada left", "user bob left", "disk full"])
    assert find_varying_places(words) == []
    assert find_varying_places([*words, ("user", "eve", "left")]) == [[Place(0, 1), Place(1, 1), Place(3, 1)]]


def test_a_template_that_is_too_long_has_no_places() -> None:
    long = [" ".join(["word"] * 100 + [name]) for name in ("ada", "bob", "eve")]
    assert split_words(long) == [(), (), ()]
    assert find_varying_places(split_words([f"{name} {'x' * 3_000}" for name in "abc"])) == []


@given(st.lists(st.text("ab", max_size=4), min_size=1, max_size=5))
def test_the_common_start_is_the_longest_one(texts: list[str]) -> None:
    start = common_start(texts)
    assert all(text.startswith(start) for text in texts)
    assert len({text[: len(start) + 1] for text in texts}) > 1 or start in texts
