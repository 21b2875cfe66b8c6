"""Stages: a thread, a step, and where an exception goes."""

import threading
import weakref

from worker.runtime.lane import Lane
from worker.runtime.stage import Stage, empty

WAIT_S = 20.0


def run(stage: Stage) -> None:
    stage.start()
    stage.join(WAIT_S)
    assert not stage.is_alive()


def test_what_a_body_raises_reaches_the_service_on_the_stages_own_thread() -> None:
    crashes: list[tuple[str, Exception, str]] = []
    error = KeyError("planted")

    def body() -> None:
        raise error

    run(Stage("store-1", body, lambda name, raised: crashes.append((name, raised, threading.current_thread().name))))
    assert crashes == [("store-1", error, "store-1")]


def test_a_stage_never_keeps_the_process_alive() -> None:
    assert Stage("embed", lambda: None, lambda _name, _error: None).daemon


def test_a_lane_is_emptied_in_bounded_lists_until_it_is_closed() -> None:
    lane: Lane[int] = Lane("test")
    lists: list[list[int]] = []
    lane.put([1, 2, 3, 4, 5])
    lane.close()
    run(Stage("step", empty(lane, lists.append, most=2), lambda _name, _error: None))
    assert lists == [[1, 2], [3, 4], [5]]


def test_what_was_worked_is_not_kept_while_nothing_comes() -> None:
    class Entry:
        """Something that can be seen to go."""

    lane: Lane[Entry] = Lane("test")
    gone = threading.Event()
    entry = Entry()
    weakref.finalize(entry, gone.set)
    lane.put([entry])
    del entry
    stage = Stage("step", empty(lane, lambda _taken: None, most=2), lambda _name, _error: None)
    stage.start()
    assert gone.wait(WAIT_S)
    lane.close()
    stage.join(WAIT_S)


def test_a_step_that_raises_takes_nothing_more() -> None:
    lane: Lane[int] = Lane("test")
    crashes: list[Exception] = []

    def step(taken: list[int]) -> None:
        raise ValueError(f"planted for {taken}")

    lane.put([1, 2])
    run(Stage("step", empty(lane, step, most=1), lambda _name, error: crashes.append(error)))
    assert [str(error) for error in crashes] == ["planted for [1]"]
    assert lane.take(10, wait=False) == [2]
