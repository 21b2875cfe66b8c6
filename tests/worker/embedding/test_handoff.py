"""The handoff by example: waits, wakes and the two ends; `tests/properties/test_handoff.py` has the rules."""

import threading
from collections.abc import Callable

import pytest

from worker.embedding.handoff import BatchHandoff

WAIT_S = 20.0
_MOMENT_S = 0.02
"""Long enough for a thread that does not wait to return."""

Between = BatchHandoff[str, str]
Act = Callable[[Between], object]


class Waker:
    """Counts how often it woke the embed stage.

    Thread: any.
    """

    def __init__(self) -> None:
        self.wakes = 0

    def __call__(self) -> None:
        self.wakes += 1


@pytest.fixture
def waker() -> Waker:
    return Waker()


@pytest.fixture
def handoff(waker: Waker) -> Between:
    return BatchHandoff(waker)


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


def begun(handoff: Between, batch: str) -> None:
    """Offer a batch and let the engine begin it."""
    handoff.offer_batch(batch)
    assert handoff.begin_batch(wait=False) == batch


def test_a_batch_that_was_offered_is_begun_computed_and_collected(handoff: Between) -> None:
    assert (handoff.has_room, handoff.is_idle) == (True, True)
    handoff.offer_batch("batch")
    assert (handoff.has_room, handoff.has_results, handoff.is_idle) == (False, False, False)
    assert handoff.begin_batch() == "batch"
    assert (handoff.has_room, handoff.has_results, handoff.is_idle) == (True, False, False)
    handoff.finish_batch("result")
    assert (handoff.has_room, handoff.has_results, handoff.is_idle) == (True, True, False)
    assert handoff.take_results() == ["result"]
    assert (handoff.has_room, handoff.has_results, handoff.is_idle) == (True, False, True)
    assert handoff.take_results() == []


def test_results_come_in_the_order_of_the_batches(handoff: Between) -> None:
    for batch in ("first", "second", "third"):
        begun(handoff, batch)
        handoff.finish_batch(f"of {batch}")
    assert handoff.take_results() == ["of first", "of second", "of third"]


def test_a_second_ready_batch_is_refused_and_the_first_stays(handoff: Between) -> None:
    handoff.offer_batch("first")
    with pytest.raises(RuntimeError, match="already ready"):
        handoff.offer_batch("second")
    assert handoff.begin_batch() == "first"


def test_a_withdrawn_batch_is_not_computed(handoff: Between) -> None:
    handoff.offer_batch("first")
    assert handoff.withdraw_batch() == "first"
    assert handoff.withdraw_batch() is None
    assert handoff.begin_batch(wait=False) is None
    assert (handoff.has_room, handoff.is_idle) == (True, True)


def test_a_batch_that_has_begun_cannot_be_withdrawn(handoff: Between) -> None:
    begun(handoff, "first")
    assert handoff.withdraw_batch() is None
    assert not handoff.is_idle


def test_the_embed_stage_is_woken_when_a_batch_is_begun_and_when_a_result_is_there(handoff: Between, waker: Waker) -> None:
    assert handoff.begin_batch(wait=False) is None
    handoff.offer_batch("first")
    handoff.withdraw_batch()
    handoff.offer_batch("first")
    assert waker.wakes == 0
    handoff.begin_batch()
    assert waker.wakes == 1
    handoff.finish_batch("result")
    assert waker.wakes == 2


def test_the_embed_stage_is_woken_after_the_change_and_without_the_lock() -> None:
    """The woken thread must not find the lock held, nor the old state."""
    seen: list[object] = []

    def look() -> None:
        seen.append(Waiting(lambda: (watched.has_room, watched.has_results, watched.is_idle)).returns())

    watched: Between = BatchHandoff(look)
    begun(watched, "first")
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


def test_closed_means_that_the_ready_batch_is_still_computed(handoff: Between) -> None:
    begun(handoff, "first")
    handoff.offer_batch("second")
    handoff.close()
    handoff.finish_batch("of first")
    assert handoff.begin_batch() == "second"
    handoff.finish_batch("of second")
    assert handoff.begin_batch() is None
    assert handoff.take_results() == ["of first", "of second"]
    assert (handoff.is_idle, handoff.has_room) == (True, False)


def test_abandoned_means_that_the_ready_batch_is_forgotten(handoff: Between, waker: Waker) -> None:
    begun(handoff, "first")
    handoff.offer_batch("second")
    handoff.abandon()
    assert waker.wakes == 2, "once for the first batch, once because it was abandoned"
    handoff.finish_batch("of first")
    assert handoff.begin_batch() is None
    assert handoff.withdraw_batch() is None
    assert not handoff.has_room


def test_what_was_closed_can_still_be_abandoned(handoff: Between) -> None:
    handoff.offer_batch("first")
    handoff.close()
    handoff.abandon()
    assert handoff.begin_batch() is None


def nothing_out(_ahead: Between) -> None:
    """Arrange nothing."""


def one_ready(handoff: Between) -> None:
    handoff.offer_batch("first")


def one_in_work(handoff: Between) -> None:
    begun(handoff, "first")


def both_out(handoff: Between) -> None:
    begun(handoff, "first")
    handoff.offer_batch("second")


def one_result(handoff: Between) -> None:
    both_out(handoff)
    handoff.finish_batch("of first")


def abandoned(handoff: Between) -> None:
    both_out(handoff)
    handoff.abandon()


@pytest.mark.parametrize("or_room", [False, True])
@pytest.mark.parametrize("arrange", [nothing_out, one_result, abandoned])
def test_there_is_no_wait_for_what_will_not_come_or_is_there(handoff: Between, arrange: Act, *, or_room: bool) -> None:
    arrange(handoff)
    Waiting(lambda: handoff.wait_for_result(or_room=or_room)).returns()


def test_there_is_no_wait_for_room_where_there_is_room(handoff: Between) -> None:
    one_in_work(handoff)
    Waiting(lambda: handoff.wait_for_result(or_room=True)).returns()


@pytest.mark.parametrize(
    ("arrange", "or_room", "too_little", "wake"),
    [
        (one_in_work, False, nothing_out, lambda handoff: handoff.finish_batch("of first")),
        (both_out, False, nothing_out, lambda handoff: handoff.finish_batch("of first")),
        (both_out, True, nothing_out, lambda handoff: handoff.finish_batch("of first")),
        (one_ready, False, lambda handoff: handoff.begin_batch(), lambda handoff: handoff.finish_batch("of first")),
        (one_ready, True, nothing_out, lambda handoff: handoff.begin_batch()),
        (one_ready, True, nothing_out, lambda handoff: handoff.abandon()),
        (both_out, False, nothing_out, lambda handoff: handoff.abandon()),
    ],
    ids=["in work", "both", "both, for room", "ready", "ready, for room", "ready, abandoned", "both, abandoned"],
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


def test_two_threads_compute_everything_once_in_order(waker: Waker) -> None:
    """One thread offers and sometimes withdraws, the other computes."""
    handoff: BatchHandoff[int, int] = BatchHandoff(waker)
    count = 5_000

    def compute() -> None:
        while (number := handoff.begin_batch()) is not None:
            handoff.finish_batch(number)

    engine = threading.Thread(target=compute, daemon=True)
    engine.start()
    collected: list[int] = []
    waiting = list(range(count))[::-1]
    while waiting or not handoff.is_idle:
        if waiting and handoff.has_room:
            handoff.offer_batch(waiting.pop())
        if len(waiting) % 3 == 0 and (back := handoff.withdraw_batch()) is not None:
            waiting.append(back)
            handoff.offer_batch(waiting.pop())
        handoff.wait_for_result(or_room=bool(waiting))
        collected += handoff.take_results()
    handoff.close()
    engine.join(WAIT_S)
    assert not engine.is_alive()
    assert collected == list(range(count))
