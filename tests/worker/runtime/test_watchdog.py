"""The watchdog: how long a batch may take, and what it writes to the log."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace

import pytest

from worker.runtime.watchdog import EngineHangs, Watchdog, oldest

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


HANGS: Mapping[str, tuple[list[tuple[float | None, float, float]], float]] = {
    "no answer in time": ([(100, 100, 120)], 110.0),
    "each batch has the whole time": ([(100, 100, 109), (109, 109, 118), (None, 118, 124), (125, 125, 134), (125, 134, 140)], 135.0),
    "frozen for 11 s it has the rest of its time, less one look": ([(100, 100, 105), (100, 116, 126)], 120.0),
    "frozen for an hour": ([(100, 100, 105), (100, 3705, 3715)], 3709.0),
    "begun before the first look": ([(100, 500, 520)], 509.0),
}
"""Since when the engine is busy, from when to when it is looked at, and after which look it hangs."""


@pytest.mark.parametrize("name", HANGS)
def test_an_engine_hangs_at_the_look_after_its_time_and_no_earlier(name: str) -> None:
    """Time in which the whole process stood still does not count."""
    looks, hangs_s = HANGS[name]
    busy_s: list[float | None] = [None]
    watchdog = Watchdog(lambda: busy_s[0], watchdog_s=10.0)
    found = []
    for since_s, first_s, last_s in looks:
        busy_s[0] = since_s
        found.append(watched(watchdog, every_tick(first_s, last_s)))
    assert found == [None] * (len(looks) - 1) + [hangs_s + TICK_S]


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


def test_one_engine_that_hangs_is_found_among_others_that_come_and_go() -> None:
    now_s = [100.0]
    hung, idle = SimpleNamespace(busy_since_s=100.0), SimpleNamespace(busy_since_s=None)

    def engines() -> list[SimpleNamespace]:
        return [SimpleNamespace(busy_since_s=now_s[0] - 0.1), hung, idle]

    watchdog = Watchdog(lambda: oldest(engines()), watchdog_s=10.0)

    def moments() -> Iterator[float]:
        for tick in range(500):
            now_s[0] = 100.0 + tick / 5
            yield now_s[0]

    ended_s = watched(watchdog, moments())
    assert ended_s is not None
    assert 110 <= ended_s <= 111
    assert oldest([idle]) is None
