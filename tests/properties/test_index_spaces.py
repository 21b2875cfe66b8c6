"""What an index remembers of its views: whatever steps are taken, the view that is asked is complete, and one line of JSON says it all."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.index_spaces import IndexSpaces, VectorSpace, decode_spaces, encode_spaces, one_view
from worker.reindex.space_changes import (
    DROP_AFTER_MS,
    LEASE_MS,
    StepRefused,
    ask_other,
    begin,
    give_up,
    is_due_to_go,
    leased,
    refuse,
    roll_back,
    waive,
    without_other,
)

HOME = VectorSpace(8, "a")
SPACES = [HOME, VectorSpace(6, "b"), VectorSpace(4, "c")]
Step = Callable[[IndexSpaces, int], IndexSpaces]


def _flipped(spaces: IndexSpaces, now_ms: int) -> IndexSpaces:
    """Do what the worker with the lease does once the view is filled."""
    other = spaces.other
    return ask_other(spaces, now_ms) if other is not None and spaces.views[other].state == "building" else spaces


def _removed(spaces: IndexSpaces, now_ms: int) -> IndexSpaces:
    return without_other(spaces) if is_due_to_go(spaces, now_ms) else spaces


def _begun(to: VectorSpace) -> Step:
    return lambda spaces, now_ms: begin(spaces, HOME, "home", to, f"model-{to.id}", now_ms)


STEPS: list[Step] = [
    *map(_begun, SPACES),
    _flipped,
    roll_back,
    give_up,
    _removed,
    lambda spaces, _now_ms: waive(spaces, ("speed",)),
    lambda spaces, _now_ms: refuse(spaces, spaces.other or "", "slow " * 100),
    lambda spaces, now_ms: leased(spaces, "x", now_ms) or spaces,
    lambda spaces, now_ms: leased(spaces, "y", now_ms) or spaces,
]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, DROP_AFTER_MS)), max_size=30))
def test_whatever_steps_are_taken_the_view_that_is_asked_is_complete(steps: list[tuple[Step, int]]) -> None:
    spaces, now_ms = one_view(HOME), 0
    complete = {HOME.id}
    for step, later_ms in steps:
        now_ms += later_ms
        before = spaces
        with suppress(StepRefused):
            spaces = step(spaces, now_ms)
        complete = complete | {spaces.preferred} if step is _flipped else complete & spaces.views.keys()
        assert spaces.preferred in complete
        assert spaces.views[spaces.preferred].state in ("ready", "old")
        assert len(spaces.views) <= 2
        assert decode_spaces(encode_spaces(spaces)) == spaces
        if before.other is not None and spaces.other is None:
            assert now_ms >= before.views[before.other].since_ms + DROP_AFTER_MS


@given(st.integers(0, 10**12), st.integers(0, 2 * LEASE_MS))
def test_a_lease_is_held_until_it_ends_and_by_one(now_ms: int, later_ms: int) -> None:
    first = leased(one_view(HOME), "x", now_ms)
    assert first is not None
    second = leased(first, "y", now_ms + later_ms)
    assert (second is None) == (later_ms < LEASE_MS)
    kept = leased(first, "x", now_ms + later_ms)
    assert kept is not None
    assert kept.lease is not None
    assert kept.lease.until_ms > now_ms + later_ms


@given(
    st.one_of(
        st.text(),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)).map(
            repr
        ),
    )
)
def test_what_is_not_ours_is_refused_and_nothing_else_is_raised(text: str) -> None:
    with suppress(ValueError):
        decode_spaces(text)


def test_a_view_that_is_building_is_never_preferred() -> None:
    spaces = begin(one_view(HOME), HOME, "home", SPACES[1], "b", 0)
    for wrong in (replace(spaces, preferred="b"), replace(spaces, preferred="nowhere"), replace(spaces, views={})):
        with pytest.raises(ValueError, match="preferred"):
            decode_spaces(encode_spaces(wrong))
