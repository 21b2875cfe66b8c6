"""One writer at a time, and nobody reads while a local folder writes its memory out."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from sinks.milvus.turns import Turns

WAIT_S = 10.0
A_MOMENT_S = 0.05


class Visitor:
    """A thread that enters one turn, says so, and stays until it is told to leave."""

    def __init__(self, turn: Callable[[], AbstractContextManager[None]]) -> None:
        self.inside = threading.Event()
        self.leave = threading.Event()
        self._turn = turn
        self._thread = threading.Thread(target=self._visit)
        self._thread.start()

    def _visit(self) -> None:
        with self._turn():
            self.inside.set()
            assert self.leave.wait(WAIT_S)

    def end(self) -> None:
        self.leave.set()
        self._thread.join(WAIT_S)


def test_writes_are_served_in_their_order_of_arrival() -> None:
    turns = Turns(local=True)
    served: list[int] = []
    first = Visitor(turns.write)
    assert first.inside.wait(WAIT_S)

    def write(number: int) -> None:
        with turns.write():
            served.append(number)

    later = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for number, thread in enumerate(later):
        thread.start()
        while turns.waiting < number + 1:
            pass
    first.end()
    for thread in later:
        thread.join(WAIT_S)
    assert served == list(range(20))


def test_who_does_not_want_to_wait_writes_only_where_nobody_does() -> None:
    turns = Turns(local=True)
    first = Visitor(turns.write)
    assert first.inside.wait(WAIT_S)
    with turns.write_if_free() as free:
        assert not free
    second = Visitor(turns.write)
    first.end()
    assert second.inside.wait(WAIT_S)
    second.end()
    with turns.write_if_free() as free:
        assert free
        late = Visitor(turns.write)
        assert not late.inside.wait(A_MOMENT_S)
        with turns.write_if_free() as twice:
            assert not twice
    assert late.inside.wait(WAIT_S)
    late.end()


@pytest.mark.parametrize("local", [True, False])
def test_reads_go_beside_each_other_and_beside_a_write_and_on_a_server_writes_too(*, local: bool) -> None:
    turns = Turns(local=local)
    visitors = [Visitor(turns.write), Visitor(turns.read), Visitor(turns.read if local else turns.write)]
    for visitor in visitors:
        assert visitor.inside.wait(WAIT_S)
    for visitor in visitors:
        visitor.end()


def test_a_flush_waits_for_reads_and_keeps_new_ones_out() -> None:
    turns = Turns(local=True)
    reader = Visitor(turns.read)
    assert reader.inside.wait(WAIT_S)
    flush = Visitor(turns.flush)
    assert not flush.inside.wait(A_MOMENT_S)
    while not turns._flushing:  # noqa: SLF001 (on a busy machine its thread may not have come so far)
        pass
    late = Visitor(turns.read)
    assert not late.inside.wait(A_MOMENT_S)
    reader.end()
    assert flush.inside.wait(WAIT_S)
    assert not late.inside.wait(A_MOMENT_S)
    flush.end()
    assert late.inside.wait(WAIT_S)
    late.end()


def test_a_turn_ends_with_an_exception_too() -> None:
    turns = Turns(local=True)
    for turn in (turns.write, turns.read, turns.flush) * 2:
        with pytest.raises(KeyError), turn():
            raise KeyError
