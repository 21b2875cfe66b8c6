"""The handoff between real threads: who waits, who is woken and when; `tests/properties/test_handoff.py` has the rules."""

import threading
from collections.abc import Callable

import pytest

from worker.embedding.handoff import BatchHandoff

WAIT_S = 20.0
_MOMENT_S = 0.02
"""Long enough for a thread that does not wait to return."""

Between = BatchHandoff[str, str]
Act = Callable[[Between], object]


@pytest.fixture
def handoff() -> Between:
    return BatchHandoff(lambda: None)


class Waiting(threading.Thread):
    """Makes a call that waits, on its own thread.

    Thread: itself.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self.returned: object = "nothing yet"
        self._call = call
        self.start()

    def run(self) -> None:
        self.returned = self._call()

    def returns(self) -> object:
        """Return what the call returned."""
        self.join(WAIT_S)
        assert not self.is_alive(), "it still waits"
        return self.returned

    def still_waits(self) -> bool:
        self.join(_MOMENT_S)
        return self.is_alive()


def test_the_embed_stage_is_woken_after_the_change_and_without_the_lock() -> None:
    """The woken thread must not find the lock held, nor the old state."""
    seen: list[object] = []

    def look() -> None:
        seen.append(Waiting(lambda: (watched.has_room, watched.has_results, watched.is_idle)).returns())

    watched: Between = BatchHandoff(look)
    one_in_work(watched)
    watched.finish_batch("result")
    watched.abandon()
    assert seen == [(True, False, False), (True, True, False), (False, True, False)]


@pytest.mark.parametrize(
    ("wake", "returned"),
    [
        (lambda handoff: handoff.offer_batch("batch"), "batch"),
        (lambda handoff: handoff.close(), None),
        (lambda handoff: handoff.abandon(), None),
    ],
    ids=["offer", "close", "abandon"],
)
def test_the_engine_stage_waits_for_a_batch_or_the_end(handoff: Between, wake: Act, returned: str | None) -> None:
    engine = Waiting(handoff.begin_batch)
    assert engine.still_waits()
    wake(handoff)
    assert engine.returns() == returned


def test_what_is_offered_after_the_end_is_dropped(handoff: Between) -> None:
    handoff.close()
    handoff.offer_batch("late")
    assert (handoff.begin_batch(), handoff.is_idle) == (None, True)


def nothing(_handoff: Between) -> None:
    """Too little to wake anybody."""


def one_ready(handoff: Between) -> None:
    handoff.offer_batch("first")


def one_in_work(handoff: Between) -> None:
    one_ready(handoff)
    handoff.begin_batch()


def both_out(handoff: Between) -> None:
    one_in_work(handoff)
    handoff.offer_batch("second")


@pytest.mark.parametrize(
    ("arrange", "or_room", "too_little", "wake"),
    [
        (one_in_work, False, nothing, lambda handoff: handoff.finish_batch("of first")),
        (both_out, True, nothing, lambda handoff: handoff.finish_batch("of first")),
        (one_ready, False, lambda handoff: handoff.begin_batch(), lambda handoff: handoff.finish_batch("of first")),
        (one_ready, True, nothing, lambda handoff: handoff.begin_batch()),
        (both_out, False, nothing, lambda handoff: handoff.abandon()),
    ],
    ids=["in work", "both, for room", "ready", "ready, for room", "both, abandoned"],
)
def test_the_embed_stage_waits_for_a_result_for_room_or_for_the_end(
    handoff: Between, arrange: Act, too_little: Act, wake: Act, *, or_room: bool
) -> None:
    arrange(handoff)
    stage = Waiting(lambda: handoff.wait_for_result(or_room=or_room))
    too_little(handoff)
    assert stage.still_waits()
    wake(handoff)
    stage.returns()
