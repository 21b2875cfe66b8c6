"""One batch ahead, by example: who waits for what, who is woken, and the two ends. `tests/properties/test_ahead.py` has the rules."""

import threading
from collections.abc import Callable

import pytest

from worker.embedding.handoff import BatchHandoff

WAIT_S = 20.0
_MOMENT_S = 0.02
"""Long enough for a thread that does not wait to return."""

Between = BatchHandoff[str, str]
Act = Callable[[Between], object]


class Bell:
    """Counts how often it was rung.

    Thread: any.
    """

    def __init__(self) -> None:
        self.rung = 0

    def __call__(self) -> None:
        self.rung += 1


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def ahead(bell: Bell) -> Between:
    return BatchHandoff(bell)


class Waiting(threading.Thread):
    """Calls something that waits, on a thread of its own.

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


def begun(ahead: Between, batch: str) -> None:
    """Offer a batch and let the engine begin it."""
    ahead.offer(batch)
    assert ahead.next(wait=False) == batch


def test_a_batch_that_was_offered_is_begun_computed_and_collected(ahead: Between) -> None:
    assert (ahead.wants, ahead.is_idle) == (True, True)
    ahead.offer("batch")
    assert (ahead.wants, ahead.has_results, ahead.is_idle) == (False, False, False)
    assert ahead.next() == "batch"
    assert (ahead.wants, ahead.has_results, ahead.is_idle) == (True, False, False)
    ahead.done("result")
    assert (ahead.wants, ahead.has_results, ahead.is_idle) == (True, True, False)
    assert ahead.results() == ["result"]
    assert (ahead.wants, ahead.has_results, ahead.is_idle) == (True, False, True)
    assert ahead.results() == []


def test_results_come_in_the_order_of_the_batches(ahead: Between) -> None:
    for batch in ("first", "second", "third"):
        begun(ahead, batch)
        ahead.done(f"of {batch}")
    assert ahead.results() == ["of first", "of second", "of third"]


def test_a_second_ready_batch_is_refused_and_the_first_stays(ahead: Between) -> None:
    ahead.offer("first")
    with pytest.raises(RuntimeError, match="stands ready already"):
        ahead.offer("second")
    assert ahead.next() == "first"


def test_a_batch_that_was_taken_back_is_not_computed(ahead: Between) -> None:
    ahead.offer("first")
    assert ahead.take_back() == "first"
    assert ahead.take_back() is None
    assert ahead.next(wait=False) is None
    assert (ahead.wants, ahead.is_idle) == (True, True)


def test_a_batch_that_has_begun_cannot_be_taken_back(ahead: Between) -> None:
    begun(ahead, "first")
    assert ahead.take_back() is None
    assert not ahead.is_idle


def test_the_embed_stage_is_rung_for_when_a_batch_is_begun_and_when_a_result_is_there(ahead: Between, bell: Bell) -> None:
    assert ahead.next(wait=False) is None
    ahead.offer("first")
    ahead.take_back()
    ahead.offer("first")
    assert bell.rung == 0
    ahead.next()
    assert bell.rung == 1
    ahead.done("result")
    assert bell.rung == 2


def test_the_bell_is_rung_when_the_news_can_be_seen_and_without_the_lock() -> None:
    """Whoever answers the bell on another thread must not find the lock held, nor the old state."""
    seen: list[object] = []

    def look() -> None:
        seen.append(Waiting(lambda: (rung_for.wants, rung_for.has_results, rung_for.is_idle)).returns())

    rung_for: Between = BatchHandoff(look)
    begun(rung_for, "first")
    rung_for.done("result")
    rung_for.abandon()
    assert seen == [(True, False, False), (True, True, False), (False, True, False)]


@pytest.mark.parametrize(
    ("wake", "returned"),
    [(lambda ahead: ahead.offer("batch"), "batch"), (lambda ahead: ahead.close(), None), (lambda ahead: ahead.abandon(), None)],
    ids=["offer", "close", "abandon"],
)
def test_the_engine_stage_waits_for_a_batch_or_the_end(ahead: Between, wake: Act, returned: str | None) -> None:
    engine = Waiting(ahead.next)
    assert engine.still_waits()
    wake(ahead)
    assert engine.returns() == returned


def test_closed_means_that_the_ready_batch_is_still_computed(ahead: Between) -> None:
    begun(ahead, "first")
    ahead.offer("second")
    ahead.close()
    ahead.done("of first")
    assert ahead.next() == "second"
    ahead.done("of second")
    assert ahead.next() is None
    assert ahead.results() == ["of first", "of second"]
    assert (ahead.is_idle, ahead.wants) == (True, False)


def test_abandoned_means_that_the_ready_batch_is_forgotten(ahead: Between, bell: Bell) -> None:
    begun(ahead, "first")
    ahead.offer("second")
    ahead.abandon()
    assert bell.rung == 2, "once for the first batch, once because it was abandoned"
    ahead.done("of first")
    assert ahead.next() is None
    assert ahead.take_back() is None
    assert not ahead.wants


def test_what_was_closed_can_still_be_abandoned(ahead: Between) -> None:
    ahead.offer("first")
    ahead.close()
    ahead.abandon()
    assert ahead.next() is None


def nothing_out(_ahead: Between) -> None:
    """Leave it as it is."""


def one_ready(ahead: Between) -> None:
    ahead.offer("first")


def one_in_work(ahead: Between) -> None:
    begun(ahead, "first")


def both_out(ahead: Between) -> None:
    begun(ahead, "first")
    ahead.offer("second")


def one_result(ahead: Between) -> None:
    both_out(ahead)
    ahead.done("of first")


def abandoned(ahead: Between) -> None:
    both_out(ahead)
    ahead.abandon()


@pytest.mark.parametrize("until_wants", [False, True])
@pytest.mark.parametrize("arrange", [nothing_out, one_result, abandoned])
def test_there_is_no_wait_for_what_will_not_come_or_is_there(ahead: Between, arrange: Act, *, until_wants: bool) -> None:
    arrange(ahead)
    Waiting(lambda: ahead.wait(until_wants=until_wants)).returns()


def test_there_is_no_wait_for_room_where_there_is_room(ahead: Between) -> None:
    one_in_work(ahead)
    Waiting(lambda: ahead.wait(until_wants=True)).returns()


@pytest.mark.parametrize(
    ("arrange", "until_wants", "too_little", "wake"),
    [
        (one_in_work, False, nothing_out, lambda ahead: ahead.done("of first")),
        (both_out, False, nothing_out, lambda ahead: ahead.done("of first")),
        (both_out, True, nothing_out, lambda ahead: ahead.done("of first")),
        (one_ready, False, lambda ahead: ahead.next(), lambda ahead: ahead.done("of first")),
        (one_ready, True, nothing_out, lambda ahead: ahead.next()),
        (one_ready, True, nothing_out, lambda ahead: ahead.abandon()),
        (both_out, False, nothing_out, lambda ahead: ahead.abandon()),
    ],
    ids=["in work", "both", "both, for room", "ready", "ready, for room", "ready, abandoned", "both, abandoned"],
)
def test_the_embed_stage_waits_for_a_result_for_room_or_for_the_end(
    ahead: Between, arrange: Act, too_little: Act, wake: Act, *, until_wants: bool
) -> None:
    arrange(ahead)
    stage = Waiting(lambda: ahead.wait(until_wants=until_wants))
    too_little(ahead)
    assert stage.still_waits()
    wake(ahead)
    stage.returns()


def test_two_threads_compute_everything_once_in_order(bell: Bell) -> None:
    """One offers and now and then takes back, the other computes; nobody waits for the other's clock."""
    ahead: BatchHandoff[int, int] = BatchHandoff(bell)
    count = 5_000

    def compute() -> None:
        while (number := ahead.next()) is not None:
            ahead.done(number)

    engine = threading.Thread(target=compute, daemon=True)
    engine.start()
    collected: list[int] = []
    waiting = list(range(count))[::-1]
    while waiting or not ahead.is_idle:
        if waiting and ahead.wants:
            ahead.offer(waiting.pop())
        if len(waiting) % 3 == 0 and (back := ahead.take_back()) is not None:
            waiting.append(back)
            ahead.offer(waiting.pop())
        ahead.wait(until_wants=bool(waiting))
        collected += ahead.results()
    ahead.close()
    engine.join(WAIT_S)
    assert not engine.is_alive()
    assert collected == list(range(count))
