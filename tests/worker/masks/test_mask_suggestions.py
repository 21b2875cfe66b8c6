"""Suggested masks: what they merge, what they leave alone, and that they do to the lines what is said of them."""

import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.columns import string_column
from consumers.text.mask import MASKS, Mask, Masker
from worker.masks.mask_suggestions import Suggestions, suggest_masks

NAMES = ("Ada", "Bob", "Carol", "Dave", "Erin", "Frank")
TAKEN = {mask.name for mask in MASKS}


def masker(added: Sequence[Mask] = ()) -> Masker:
    return Masker(added=added)


def suggest(lines: Sequence[str], *, top: int = 20) -> Suggestions:
    return suggest_masks(string_column(lines), masker, taken=TAKEN, top=top)


def masked(lines: Sequence[str], found: Suggestions) -> list[str]:
    return masker([one.mask for one in found.found]).mask(lines)


def test_a_word_that_varies_between_fixed_ones_is_masked_and_the_words_after_it_stay() -> None:
    lines = [f"ticket opened by {name} in the shop" for name in NAMES]
    found = suggest(lines)
    assert (found.before, found.after) == (6, 1)
    assert [one.mask for one in found.found] == [Mask("opened-by", r"(\bopened by )\S+", r"\1*")]
    assert set(masked(lines, found)) == {"ticket opened by * in the shop"}


def test_what_a_suggestion_says_of_the_sample_is_counted_on_it() -> None:
    lines = [f"ticket opened by {name} in the shop" for name in NAMES for _ in range(NAMES.index(name) + 1)]
    (one,) = suggest([*lines, "disk full", "disk full"]).found
    assert (one.merged, one.left, one.lines, one.words) == (6, 1, 21, 6)
    assert one.examples == ("Frank", "Erin", "Dave")
    assert one.template == "ticket opened by * in the shop"


def test_one_mask_serves_all_messages_with_the_same_words_before_it() -> None:
    lines = [f"{what} for tenant {name} {end}" for name in NAMES for what, end in (("cart saved", "now"), ("order sent", "at last"))]
    found = suggest(lines)
    assert (found.before, found.after, len(found.found)) == (12, 2, 1)


def test_where_the_word_before_tells_the_word_after_is_part_of_the_anchor() -> None:
    lines = [f"handed over to {name} today" for name in NAMES]
    lines += [f"handed over to {what} office" for what in ("closed", "opened", "failed", "waiting", "painted")]
    (one,) = suggest(lines).found
    assert one.mask.pattern == r"(\bover to )\S+( today\b)"


def test_one_word_before_is_no_anchor_where_words_that_do_not_vary_stand_behind_it() -> None:
    lines = [f"{what} for {name} now" for name in NAMES for what in ("password asked", "token sent", "session kept", "key made")]
    lines += ["waits for memory again", "out of memory"]
    found = suggest(lines)
    assert found.after == 6
    assert masked(["waits for memory again"], found) == ["waits for memory again"]


def test_words_that_tell_what_happened_are_left_alone() -> None:
    lines = [f"connection {what} by peer" for what in ("opened", "closed", "refused", "aborted", "dropped", "accepted")]
    lines += [f"thread main died of {what}Exception at once" for what in ("Socket", "Timeout", "State", "Access")]
    assert suggest(lines) == Suggestions(10, 10, ())


def test_words_whose_neighbours_vary_too_are_not_suggested() -> None:
    lines = [
        f"{name} {colour} {town}" for name in NAMES for colour in ("red", "blue", "grey", "green", "pink") for town in ("york", *"abcd")
    ]
    assert suggest(lines).found == ()


def test_where_two_words_vary_both_are_masked() -> None:
    lines = [f"moved {what}.box to {where}.yard safely" for what in NAMES for where in ("North", "South", "East", "West")]
    found = suggest(lines)
    assert (found.before, found.after) == (24, 1)
    assert set(masked(lines, found)) == {"moved * to * safely"}


def test_a_word_whose_variety_shows_only_without_another_one_is_masked_too() -> None:
    lines = [f"moved {name} to box.{number * 'x'}.{name} safely" for name in NAMES for number in range(1, 4)]
    found = suggest(lines)
    assert (found.before, found.after, len(found.found)) == (18, 1, 2)


def test_the_key_of_a_value_and_the_marks_around_it_stay() -> None:
    lines = [f"plan=[{name}] chosen" for name in NAMES]
    found = suggest(lines)
    assert set(masked(lines, found)) == {"plan=[*] chosen"}


def test_numbers_beside_the_word_do_not_hide_it() -> None:
    lines = [f"worker[{number}]: asked {number} {name} again" for number, name in enumerate(NAMES, start=100)]
    found = suggest(lines)
    assert found.after == 1
    (one,) = found.found
    assert all(re.search(one.mask.pattern, line) for line in lines)


def test_a_value_of_few_lines_is_no_better_than_one_of_many_but_what_merges_more_comes_first() -> None:
    lines = [f"small thing of {name} seen" for name in NAMES[:5]] * 9 + [f"large thing in {name}.x seen" for name in (*NAMES, "gus", "hal")]
    assert [one.merged for one in suggest(lines).found] == [8, 5]
    assert [one.merged for one in suggest(lines, top=1).found] == [8]


def test_a_name_that_a_mask_has_already_is_not_given_again() -> None:
    lines = [f"sent to {name} now" for name in NAMES]
    found = suggest_masks(string_column(lines), masker, taken={*TAKEN, "sent-to"}, top=5)
    assert [one.mask.name for one in found.found] == ["sent-to-2"]


def test_hostile_words_are_escaped() -> None:
    lines = [f"a.(b|c)* [x]+ {{{name}}} ^y$ 'z'" for name in NAMES]
    found = suggest(lines)
    assert found.after == 1
    assert masker([one.mask for one in found.found]).mask(["a.(b|c)* xxx {ada} ^y$ 'z'"])[0].count("ada") == 1


WORDS = st.sampled_from(("order", "sent", "to", "by", "user=", "of", "[a]", "*", "x-1", *NAMES, "/srv/a", "/srv/b", "(c)"))


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), max_size=50), st.integers(1, 4))
def test_whatever_is_suggested_can_be_used_and_does_what_is_said(lines: list[str], top: int) -> None:
    found = suggest(lines, top=top)
    assert len(found.found) <= top
    assert found.before == len(set(masker().mask(lines)))
    assert found.after == len(set(masked(lines, found)))
    assert found.after < found.before or not found.found
    assert len({one.mask.name for one in found.found} | TAKEN) == len(found.found) + len(TAKEN)
    again = masked(masked(lines, found), found)
    assert again == masked(lines, found)


@pytest.mark.slow
@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_lines_does_not_matter(chance: random.Random) -> None:
    lines = [f"ticket opened by {name} in {town}.town" for name in NAMES for town in ("york", "bath", "hull")]
    wanted = {one.mask for one in suggest(lines).found}
    chance.shuffle(lines)
    assert {one.mask for one in suggest(lines).found} == wanted
