"""A wall clock that is wrong for a while costs no line of a local folder: not while a worker runs, not at a start, not at the one after."""

import math
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from sinks.block import Block
from sinks.milvus.index_time import Clocks
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from tests.worker.chain import Chain
from tests.worker.indexing.test_upkeep import store_singly, turn
from tests.world import SPACE, block, line
from worker.indexing.block_writer import PatientWrites
from worker.indexing.flights import Flights
from worker.indexing.runs import Runs
from worker.indexing.store_tally import StoreTally
from worker.indexing.upkeep import Upkeep
from worker.runtime.surroundings import Surroundings

DAY_S, MINUTE_S = 86_400.0, 61.0
DAYS = 7
TODAY_S = 20_000 * DAY_S


class Machine:
    """Workers on one local folder, one after the other, on a machine whose wall clock is `error_s` wrong.

    Thread: one.
    """

    def __init__(self, folder: Path) -> None:
        self.now_s = 0.0
        self.error_s = 0.0
        self.said: list[str] = []
        self._folder = folder
        self._numbers = count()
        self._booted_s = 0.0
        self.sink = self._start()

    def restart(self, pause_s: float = 0.0) -> None:
        """End the worker, let time pass, and start the next one; its monotonic clock begins anew."""
        self.sink.close()
        self.now_s += pause_s
        self._booted_s = self.now_s
        self.sink = self._start()

    def store(self, blocks: int = 1) -> None:
        """Store blocks that bear the date which the sink gives them."""
        for _ in range(blocks):
            number = next(self._numbers)
            self.sink.write_blocks([dated(block([line(number)], first=number), self.sink.date_ms())])

    def run(self, lasts_s: float, turns: int = 3) -> int:
        """Let time pass, with a turn of upkeep now and then; return how many blocks there are then."""
        for _ in range(turns):
            self.now_s += lasts_s / turns
            self.upkeep.turn()
        return self.sink.counts().blocks

    def _start(self) -> MilvusSink:
        settings = MilvusSettings(uri=str(self._folder))
        sink = MilvusSink(
            settings, SPACE, retention_s=DAYS * 86_400, clocks=lambda: Clocks(self._clock(), self._wall_ms()), say=self.said.append
        )
        sink.open()
        surroundings = Surroundings(clock=self._clock, wall_ms=self._wall_ms, say=self.said.append)
        self.upkeep = Upkeep(
            sink=sink,
            flights=Flights(keep_s=lambda: math.inf, clock=self._clock),
            runs=Runs(surroundings),
            writes=PatientWrites(surroundings, StoreTally()),
            masks_of=lambda _topic: "1",
            surroundings=surroundings,
        )
        return sink

    def _clock(self) -> float:
        return self.now_s - self._booted_s

    def _wall_ms(self) -> float:
        return 1000 * (TODAY_S + self.now_s + self.error_s)


def dated(one: Block, written_ms: int) -> Block:
    return one._replace(head=one.head._replace(written_ms=written_ms))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "index")
    yield machine
    machine.sink.close()


@pytest.mark.process
@pytest.mark.parametrize(("error_s", "is_restarted"), [(12 * DAY_S, True), (-TODAY_S, False), (-TODAY_S, True)])
def test_what_was_stored_while_the_clock_was_wrong_stays_when_it_is_set_right(
    machine: Machine, error_s: float, *, is_restarted: bool
) -> None:
    machine.error_s = error_s
    machine.restart()
    machine.store(5)
    assert machine.run(DAY_S) == 5
    machine.error_s = 0.0
    if is_restarted:
        machine.restart(60.0)
    assert machine.run(3 * MINUTE_S) == 5
    machine.store()
    machine.restart(60.0)
    assert machine.run(3 * MINUTE_S) == 6, "the process after it sees old dates and new ones"
    assert machine.run(5 * DAY_S) == 6
    assert machine.run(3 * DAY_S) == 0


@pytest.mark.process
def test_pauses_count_unless_they_are_so_long_that_the_clock_may_be_wrong(machine: Machine) -> None:
    machine.store()
    assert machine.run(6.5 * DAY_S) == 1
    machine.restart(0.7 * DAY_S)
    assert machine.run(0.6 * DAY_S) == 0
    assert machine.said == ["dropped blocks that are older than index.retention_days: 1"]
    machine.store()
    machine.restart(30 * DAY_S)
    assert machine.run(MINUTE_S) == 1
    assert machine.said[1].startswith("the clock is 30 days after the last time that this index knows of;")


def test_how_many_blocks_were_dropped_is_said_once_an_hour(chain: Chain) -> None:
    chain.sink.lifetime_s = 120.0
    store_singly(chain, 2)
    turn(chain, 181.0)
    assert chain.said == ["dropped blocks that are older than index.retention_days: 2"]
    for _ in range(2):
        store_singly(chain, 3)
        turn(chain, 121.0)
        turn(chain, 61.0)
    turn(chain, 3_600.0)
    assert chain.said[1:] == ["dropped blocks that are older than index.retention_days: 6"]
