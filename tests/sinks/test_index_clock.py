"""The running index time: one look at both clocks, and a line for each time that one of them cannot be believed."""

from sinks.milvus.index_clock import IndexClock
from sinks.milvus.index_time import Clocks

DAY_MS = 86_400_000
RETENTION_S = 30 * 86_400.0


class Machine:
    """Both clocks, and what was said."""

    def __init__(self) -> None:
        self.monotonic_s = 50.0
        self.wall_ms = 100.0 * DAY_MS
        self.said: list[str] = []
        self.clock = IndexClock(lambda: Clocks(self.monotonic_s, self.wall_ms), self.said.append)

    def wait(self, seconds: float) -> float:
        self.monotonic_s += seconds
        self.wall_ms += 1000 * seconds
        return self.clock.look().index_ms


def test_before_it_begins_it_is_the_wall_clock() -> None:
    machine = Machine()
    machine.wall_ms += 12 * DAY_MS
    assert machine.wait(1.0) == 112 * DAY_MS + 1_000
    assert machine.said == []


def test_a_clock_that_is_set_is_said_once_each_time() -> None:
    machine = Machine()
    machine.clock.begin("", None, RETENTION_S)
    machine.wall_ms += 12 * DAY_MS
    assert [machine.wait(60.0), machine.wait(60.0)] == [100 * DAY_MS + 60_000, 100 * DAY_MS + 120_000]
    machine.wall_ms -= 12 * DAY_MS
    machine.wait(60.0)
    rest = "that makes nothing older for index.retention_days"
    assert machine.said == [f"the clock was set {way} by 12 days; {rest}" for way in ("forward", "back")]


def test_a_start_goes_on_from_the_last_mark_and_says_when_it_cannot_tell_how_long_ago_that_was() -> None:
    first = Machine()
    first.clock.begin("", None, RETENTION_S)
    mark = first.clock.look().mark
    for days, counts, words in ((0.5, 0.5, []), (3.0, 0.0, ["3 days after"]), (-2.0, 0.0, ["2 days before"])):
        after = Machine()
        after.wall_ms += days * DAY_MS
        after.clock.begin(mark, None, RETENTION_S)
        assert after.wait(0.0) == (100 + counts) * DAY_MS
        assert [said.split("the clock is ")[1].split(" the last time")[0] for said in after.said] == words


def test_without_a_retention_nothing_is_said() -> None:
    machine = Machine()
    machine.clock.begin("1/1", None, None)
    machine.wall_ms += 12 * DAY_MS
    machine.wait(60.0)
    assert machine.said == []
