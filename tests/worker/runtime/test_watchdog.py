"""The watchdog: how long a batch may take, and what it writes to the log."""

import threading
from collections.abc import Iterable

import pytest

from worker.runtime.watchdog import EngineHangs, Watchdog

TICK_S = 0.25


def watched(watchdog: Watchdog, moments_s: Iterable[float]) -> float | None:
    """Check at each moment; returns the one at which the engine counts as hung."""
    for now_s in moments_s:
        try:
            watchdog.check(now_s)
        except EngineHangs:
            return now_s
    return None


def every_tick(first_s: float, last_s: float) -> list[float]:
    return [first_s + number * TICK_S for number in range(round((last_s - first_s) / TICK_S) + 1)]


@pytest.mark.parametrize(("since_s", "until_s"), [(None, 200.0), (100.0, 100.0), (100.0, 110.0)])
def test_an_engine_that_rests_or_has_time_left_is_let_alone(
    since_s: float | None, until_s: float, capfd: pytest.CaptureFixture[str]
) -> None:
    watchdog = Watchdog(lambda: since_s, watchdog_s=10.0)
    assert watched(watchdog, every_tick(100.0, until_s)) is None
    assert capfd.readouterr() == ("", "")


def test_an_engine_that_does_not_answer_in_time_hangs_at_the_next_look() -> None:
    assert watched(Watchdog(lambda: 100.0, watchdog_s=10.0), every_tick(100.0, 120.0)) == 110.0 + TICK_S


def test_every_batch_has_the_whole_time() -> None:
    since_s: list[float | None] = [100.0]
    watchdog = Watchdog(lambda: since_s[0], watchdog_s=10.0)
    for first_s, began_s in ((100.0, 100.0), (109.0, 109.0), (118.0, None), (125.0, 125.0)):
        since_s[0] = began_s
        assert watched(watchdog, every_tick(first_s, first_s + 9.0 if began_s else 124.0)) is None
    assert watched(watchdog, every_tick(134.0, 140.0)) == 135.0 + TICK_S


@pytest.mark.parametrize("frozen_s", [11.0, 3_600.0])
def test_time_in_which_the_whole_process_stood_still_is_not_the_engines(frozen_s: float) -> None:
    """SIGSTOP in the middle of a batch: after SIGCONT the engine has the rest of its time, less one check."""
    watchdog = Watchdog(lambda: 100.0, watchdog_s=10.0)
    assert watched(watchdog, every_tick(100.0, 105.0)) is None
    back_s = 105.0 + frozen_s
    assert watched(watchdog, every_tick(back_s, back_s + 4.0)) is None
    assert watched(watchdog, every_tick(back_s + 4.0, back_s + 10.0)) == back_s + 4.0 + TICK_S


def test_a_batch_that_began_before_the_first_look_or_while_frozen_is_watched_from_then_on() -> None:
    watchdog = Watchdog(lambda: 100.0, watchdog_s=10.0)
    assert watched(watchdog, every_tick(500.0, 505.0)) is None
    assert watched(watchdog, every_tick(505.0, 520.0)) == 509.0 + TICK_S


def test_an_engine_that_hangs_ends_in_one_line_that_names_the_setting(capfd: pytest.CaptureFixture[str]) -> None:
    watchdog = Watchdog(lambda: 100.0, watchdog_s=0.5)
    with pytest.raises(EngineHangs, match=r"^the engine has not answered for 0\.5 s \(engine\.watchdog_s\); the stacks are in the log$"):
        watchdog.check(100.6)
    assert capfd.readouterr().out == ""


def test_the_stacks_of_all_threads_are_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    inside, end = threading.Event(), threading.Event()

    def a_call_that_hangs() -> None:
        inside.set()
        end.wait()

    thread = threading.Thread(target=a_call_that_hangs, daemon=True)
    thread.start()
    inside.wait()
    with pytest.raises(EngineHangs):
        Watchdog(lambda: 0.0, watchdog_s=0.5).check(2.0)
    end.set()
    thread.join()
    stacks = capfd.readouterr().err
    assert "in a_call_that_hangs" in stacks
    assert "in test_the_stacks_of_all_threads_are_on_standard_error" in stacks
