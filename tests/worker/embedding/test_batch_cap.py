"""The batch cap: what it learns from a batch, how fast, and what it ignores."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.embedding.batch_cap import BatchCap


def new_cap(*, budget: int = 640, least: int = 40, target_s: float = 0.1) -> BatchCap:
    return BatchCap(budget_tokens=budget, least_tokens=least, target_s=target_s)


def after(cap: BatchCap, *observed: tuple[int, float]) -> list[int]:
    """Return the cap after each batch of (tokens, seconds)."""
    found = []
    for tokens, seconds in observed:
        cap.observe(tokens, seconds)
        found.append(cap.capped_tokens)
    return found


@pytest.mark.parametrize(("budget", "least", "target_s"), [(10, 0, 0.1), (10, 11, 0.1), (10, 5, 0.0), (10, 5, math.nan)])
def test_impossible_settings_are_refused(budget: int, least: int, target_s: float) -> None:
    with pytest.raises(ValueError, match=r"need 0 < least|cannot take"):
        new_cap(budget=budget, least=least, target_s=target_s)


SLOW = (640, 0.2)
"""Twice the target: two of them halve a cap of 640."""


@pytest.mark.parametrize(
    ("observed", "caps"),
    [
        pytest.param([(640, 0.1)] * 3, [640] * 3, id="a full batch is short enough"),
        pytest.param([(640, 0.16), (640, 0.128)], [640, 500], id="two slow ones cut it to what fitted in the faster"),
        pytest.param([(640, 0.128), (640, 0.16)], [640, 500], id="in any order"),
        pytest.param([(640, 30.0)] * 10, [640, 320, 320, 160, 160, 80, 80, 40, 40, 40], id="halved at most"),
        pytest.param([(640, 30.0), (640, 0.1)] * 2, [640] * 4, id="a slow one by itself changes nothing"),
        pytest.param([SLOW, (100, 0.05), SLOW], [640, 640, 320], id="what says nothing between two slow ones does not excuse them"),
        pytest.param([(319, 30.0)] * 10, [640] * 10, id="less than half the cap says nothing when it is slow"),
        pytest.param([(320, 30.0)] * 2, [640, 320], id="half the cap does"),
        pytest.param([SLOW, SLOW, *[(600, 0.12), (200, 0.09)] * 2], [640, *[320] * 5], id="neither slow nor short"),
        pytest.param([SLOW, SLOW, (320, 0.05), (340, 0.05), (360, 0.095), (378, 0.1)], [640, 320, 340, 360, 378, 378], id="it grows"),
        pytest.param([(0, 5.0), (0, 5.0), (640, 0.0), (640, 0.0)], [640] * 4, id="nothing, or no time, teaches nothing"),
    ],
)
def test_the_cap_after_each_batch(observed: Sequence[tuple[int, float]], caps: Sequence[int]) -> None:
    assert after(new_cap(), *observed) == caps


def test_without_a_target_it_is_always_the_budget() -> None:
    cap = new_cap(target_s=math.inf)
    cap.query_arrived()
    assert after(cap, *[(640, 1e9)] * 3) == [640] * 3


def test_it_holds_while_queries_arrive_and_ten_seconds_of_work_longer() -> None:
    cap = new_cap()
    after(cap, (640, 0.2), (640, 0.2))
    held = [cap.tokens]
    cap.query_arrived()
    for seconds in (0.0, 9.5, 0.25, 0.25):
        cap.observe(50, seconds)
        held.append(cap.tokens)
    assert held == [640, 320, 320, 320, 640]
    cap.query_arrived()
    cap.observe(50, 9.5)
    cap.query_arrived()
    cap.observe(50, 9.5)
    assert cap.queries_arrive
    cap.observe(0, 0.5)
    assert not cap.queries_arrive, "the time of a needless engine restart counts, too"


def test_after_a_shrink_it_never_goes_above_again() -> None:
    cap = new_cap(least=300)
    cap.shrink(500)
    assert after(cap, *[(500, 0.01)] * 5) == [500] * 5
    cap.shrink(900)
    assert (cap.tokens, cap.capped_tokens) == (500, 500)
    cap.shrink(200)
    assert after(cap, *[(200, 30.0)] * 4) == [200] * 4, "the least shrinks with it"


def test_telling_it_the_same_budget_again_forgets_nothing() -> None:
    cap = new_cap()
    cap.observe(640, 0.2)
    cap.shrink(640)
    assert after(cap, (640, 0.2)) == [320]


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 0.099), st.floats(1e-6, 0.01), st.integers(1, 20_000), st.lists(st.floats(0, 1), max_size=60))
def test_on_a_linear_engine_it_approaches_what_fits_and_never_crosses_it(
    start_s: float, token_s: float, budget: int, sizes: Sequence[float]
) -> None:
    """For batches of any size, each change moves the cap towards what fits, never beyond."""
    cap = new_cap(budget=budget, least=1)
    fits = min((0.1 - start_s) / token_s, budget)
    for size in sizes:
        before = cap.capped_tokens
        tokens = max(int(size * budget), 1)
        cap.observe(tokens, start_s + token_s * tokens)
        now = cap.capped_tokens
        if now < before:
            assert now >= min(int(fits), before) - 1
        if now > before:
            assert now <= fits + 1e-6
            assert now - before <= max(budget // 32, 1)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.floats(0, 0.05), st.floats(1e-6, 0.01), st.integers(1, 20_000))
def test_full_batches_on_a_linear_engine_bring_it_to_what_fits_in_a_bounded_number(start_s: float, token_s: float, budget: int) -> None:
    """Two batches per cut. A cut halves the cap, or at least halves its distance from what fits: the start-up takes half the target."""
    cap = new_cap(budget=budget, least=1)
    fits = (0.1 - start_s) / token_s
    for _ in range(2 * (2 * math.ceil(math.log2(budget) + 1) + 1)):
        cap.observe(cap.capped_tokens, start_s + token_s * cap.capped_tokens)
    assert max(1, min(int(fits), budget) - 1) <= cap.capped_tokens <= max(1, fits + 1e-6)
    low = max(cap.capped_tokens // 2, 1)
    cap = new_cap(budget=budget, least=1)
    cap.observe(budget, 1e9)
    while cap.capped_tokens > low:
        cap.observe(cap.capped_tokens, 1e9)
    for _ in range(2 * budget):
        cap.observe(cap.capped_tokens, start_s + token_s * cap.capped_tokens)
    assert cap.capped_tokens <= max(fits, 1) + 1e-6
