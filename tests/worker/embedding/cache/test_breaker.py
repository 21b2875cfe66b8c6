"""The circuit breaker, with a clock that the test moves."""

import pytest

from worker.embedding.cache.breaker import FAILURES, FIRST_WAIT_S, LONGEST_WAIT_S, Breaker


def opened(draw: float = 1.0) -> Breaker:
    """Return a breaker that has just opened at 0."""
    breaker = Breaker(lambda: draw)
    for _ in range(FAILURES):
        fail(breaker, 0.0)
    return breaker


def fail(breaker: Breaker, now: float) -> bool:
    admission = breaker.admit(now)
    assert admission is not None
    return breaker.on_failure(admission, now)


def succeed(breaker: Breaker, now: float) -> bool:
    admission = breaker.admit(now)
    assert admission is not None
    return breaker.on_success(admission)


def test_failures_apart_do_not_open_it() -> None:
    breaker = Breaker(lambda: 1.0)
    for _ in range(3 * FAILURES):
        fail(breaker, 0.0)
        assert not succeed(breaker, 0.0)
    assert not breaker.is_open


def test_half_open_exactly_one_is_admitted() -> None:
    breaker = opened()
    assert breaker.admit(FIRST_WAIT_S - 0.001) is None
    assert not breaker.would_reject(FIRST_WAIT_S)
    assert breaker.admit(FIRST_WAIT_S) is not None
    assert [breaker.admit(FIRST_WAIT_S + later) for later in range(100)] == [None] * 100
    assert breaker.would_reject(FIRST_WAIT_S + 100)


def test_a_probe_that_succeeds_closes_it_and_says_so_once() -> None:
    breaker = opened()
    assert succeed(breaker, FIRST_WAIT_S)
    assert not breaker.is_open
    assert not succeed(breaker, FIRST_WAIT_S)
    assert [fail(breaker, FIRST_WAIT_S) for _ in range(FAILURES)] == [False] * (FAILURES - 1) + [True]


def test_a_probe_that_fails_opens_it_for_twice_as_long_up_to_a_bound() -> None:
    breaker = opened()
    now, waits = FIRST_WAIT_S, []
    for _ in range(10):
        assert not fail(breaker, now)
        low, high = 0.0, 100.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (middle, high) if breaker.would_reject(now + middle) else (low, middle)
        waits.append(high)
        now += high
    assert waits[:3] == pytest.approx([2 * FIRST_WAIT_S, 4 * FIRST_WAIT_S, 8 * FIRST_WAIT_S], abs=1e-4)
    assert waits[-3:] == pytest.approx([LONGEST_WAIT_S] * 3, abs=1e-4)


def test_once_closed_it_begins_with_short_waits_again() -> None:
    breaker = opened()
    fail(breaker, FIRST_WAIT_S)
    succeed(breaker, 100.0)
    for _ in range(FAILURES):
        fail(breaker, 100.0)
    assert not breaker.would_reject(100.0 + FIRST_WAIT_S)


@pytest.mark.parametrize(("draw", "share"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)])
def test_waits_are_spread_over_their_upper_half(draw: float, share: float) -> None:
    breaker = opened(draw)
    assert breaker.would_reject(FIRST_WAIT_S * share - 0.001)
    assert not breaker.would_reject(FIRST_WAIT_S * share)


def test_what_was_admitted_before_it_opened_decides_nothing() -> None:
    breaker = Breaker(lambda: 1.0)
    early = breaker.admit(0.0)
    assert early is not None
    for _ in range(FAILURES):
        fail(breaker, 0.0)
    assert not breaker.on_success(early)
    assert breaker.would_reject(0.0)
    probe = breaker.admit(FIRST_WAIT_S)
    assert probe is not None
    assert not breaker.on_failure(early, FIRST_WAIT_S)
    assert breaker.on_success(probe)
    assert not breaker.on_failure(early, FIRST_WAIT_S)
    assert not breaker.is_open


def test_after_years_of_failures_the_wait_is_still_a_number() -> None:
    breaker, now = opened(), 0.0
    for _ in range(3000):
        now += LONGEST_WAIT_S
        fail(breaker, now)
    assert not breaker.would_reject(now + LONGEST_WAIT_S)
