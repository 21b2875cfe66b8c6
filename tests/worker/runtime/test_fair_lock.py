"""The fair lock: one at a time, in the order of arrival, and an error lets go of it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from worker.runtime.fair_lock import FairLock

WAIT_S = 30.0
THREADS, TIMES = 4, 500


def test_those_who_wait_enter_in_the_order_in_which_they_came() -> None:
    lock, entered = FairLock(), list[int]()

    def enter(number: int) -> None:
        with lock:
            entered.append(number)

    with ThreadPoolExecutor(THREADS) as threads:
        with lock:
            ended = []
            for number in range(THREADS):
                ended.append(threads.submit(enter, number))
                while lock.waiting <= number:
                    assert not ended[number].done()
        for one in ended:
            one.result(WAIT_S)
    assert entered == list(range(THREADS))


def test_only_one_is_inside() -> None:
    lock, inside, most = FairLock(), list[int](), list[int]()
    begin = threading.Barrier(THREADS)

    def enter(number: int) -> None:
        begin.wait(WAIT_S)
        for _ in range(TIMES):
            with lock:
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    with ThreadPoolExecutor(THREADS) as threads:
        for one in [threads.submit(enter, number) for number in range(THREADS)]:
            one.result(WAIT_S)
    assert (max(most), len(most)) == (1, THREADS * TIMES)


def test_an_error_inside_lets_the_next_one_in() -> None:
    lock = FairLock()
    with pytest.raises(ValueError, match="inside"), lock:
        raise ValueError("inside")
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(lock.__enter__).result(WAIT_S) is None
