"""The end of a service beside something that hangs: it comes in time, and what was stored is committed."""

import threading

import pytest

from consumers.record import Partition
from tests.fakes.sink import FakeSink
from tests.worker.running import WAIT_S, World, lines_of, wait_until
from worker.service.shutdown import Ending


class NeverCloses(FakeSink):
    """Hangs in `close` and in `open` for as long as the test likes.

    Thread: any.
    """

    def __init__(self) -> None:
        super().__init__()
        self.opens, self.may_open, self.may_close = threading.Event(), threading.Event(), threading.Event()

    def open(self, *, create: bool = True, adopt: bool = False) -> None:
        self.opens.set()
        self.may_open.wait()
        super().open(create=create, adopt=adopt)

    def close(self) -> None:
        self.may_close.wait()
        super().close()


def test_who_hangs_in_its_close_does_not_hold_the_end(world: World) -> None:
    world.sink = sink = NeverCloses()
    sink.may_open.set()
    world.send(lines_of(20))
    running = world.start(world.settings(drain_s=8.0)).opened()
    wait_until(lambda: len(world.stored()) == 20, "20 lines")
    assert running.stop() == Ending.DRAINED
    assert world.committed() == 20
    (closing,) = [thread for thread in threading.enumerate() if thread.name == "close"]
    sink.may_close.set()
    closing.join(WAIT_S)
    assert world.engine.closed


@pytest.mark.parametrize("commit", [None, 7], ids=["open", "sent"])
def test_where_a_partition_was_given_up_it_is_not_called_drained(world: World, commit: int | None) -> None:
    world.send(lines_of(20))
    running = world.start(world.settings(drain_s=1.0)).opened()
    wait_until(lambda: world.committed() == 20, "20 records are committed")
    assert running.service.logs is not None
    running.service.logs.commits.given_up = {Partition("logs", 0): commit}
    assert running.stop() == Ending.UNDRAINED


def test_who_hangs_in_its_open_does_not_hold_the_end_and_nothing_begins_when_it_comes_back(world: World) -> None:
    world.sink = sink = NeverCloses()
    sink.may_close.set()
    running = world.start(world.settings(drain_s=0.5))
    assert sink.opens.wait(WAIT_S)
    assert running.stop() == Ending.DRAINED
    (opening,) = [thread for thread in threading.enumerate() if thread.name == "open"]
    sink.may_open.set()
    opening.join(WAIT_S)
    assert not running.service.opened.is_set()
