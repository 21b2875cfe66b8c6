"""Whatever the wall clock says and whenever the process ends, no block goes before its time, and each goes at last."""

from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.milvus.index_time import Clocks, Dates, Moment, expired_before_ms, first_moment, next_moment, slack_ms

DAY_MS = 86_400_000
L_S = 20 * 86_400.0
L_MS = 20 * DAY_MS
S_MS = DAY_MS
LOOK_MS = S_MS // 4
NOON_MS = 20_000 * DAY_MS
MOST_STEPS = 4
WOBBLE_MS = S_MS // (MOST_STEPS + 1)
"""Small errors stay within this of each other between two steps."""


class Stored(NamedTuple):
    """A block: when it was really written, and what it bears."""

    born_ms: int
    written_ms: int


@dataclass
class World:
    """An index, the machine's wrong wall clock, and one process after the other; `now_ms` is the real time."""

    now_ms: int = NOON_MS
    step_ms: int = 0
    wobble_ms: int = 0
    booted_ms: int = 0
    marks: list[str] = field(default_factory=lambda: [""])
    blocks: list[Stored] = field(default_factory=list)
    moment: Moment | None = None

    def clocks(self) -> Clocks:
        return Clocks((self.now_ms - self.booted_ms) / 1000, self.now_ms + self.step_ms + self.wobble_ms)

    def look(self) -> None:
        """Store a block, store a mark, and drop what has expired."""
        if self.moment is None:
            self.booted_ms = self.now_ms
            written_ms = [one.written_ms for one in self.blocks]
            dates = Dates(min(written_ms), max(written_ms)) if written_ms else None
            self.moment = first_moment(self.marks[-1], dates, self.clocks(), slack_ms(L_S))
        self.moment = next_moment(self.moment, self.clocks(), slack_ms(L_S))
        self.blocks.append(Stored(self.now_ms, round(self.moment.index_ms)))
        self.marks.append(self.moment.mark)
        before_ms = expired_before_ms(self.moment.index_ms, L_S)
        gone = [one for one in self.blocks if one.written_ms < before_ms]
        assert all(self.now_ms - one.born_ms >= L_MS for one in gone), "a block was dropped too early"
        self.blocks = [one for one in self.blocks if one.written_ms >= before_ms]

    def run(self, lasts_ms: int) -> None:
        for _ in range(0, lasts_ms, LOOK_MS):
            self.look()
            self.now_ms += LOOK_MS

    def stop(self, pause_ms: int, *, killed: bool = False) -> None:
        """End the process; if it was killed, its last mark was not stored."""
        if killed and self.moment is not None and len(self.marks) > 1:
            self.marks.pop()
        self.moment = None
        self.now_ms += pause_ms


RUN = st.tuples(st.just("run"), st.integers(0, 12 * S_MS))
SET = st.tuples(st.just("set"), st.integers(-6_600, 40).map(lambda number: number * 3 * S_MS))
WOBBLE = st.tuples(st.just("wobble"), st.integers(0, WOBBLE_MS))
PAUSE = st.tuples(st.just("pause"), st.one_of(st.integers(0, S_MS), st.integers(0, 2 * L_MS)))
KILL = st.tuples(st.just("kill"), st.integers(0, 2 * S_MS))
EVENTS = st.lists(st.one_of(RUN, RUN, SET, WOBBLE, PAUSE, KILL), max_size=14).filter(
    lambda events: sum(name == "set" for name, _ in events) <= MOST_STEPS
)


@given(events=EVENTS)
def test_no_block_goes_before_its_time_and_all_go_at_last_whatever_the_clock_does(events: list[tuple[str, int]]) -> None:
    world = World()
    for name, amount in events:
        if name == "run":
            world.run(amount)
        elif name == "set":
            world.step_ms = amount
        elif name == "wobble":
            world.wobble_ms = amount
        else:
            world.stop(amount, killed=name == "kill")
    steady_ms = world.now_ms
    for _ in range(30 + len(events)):  # steady from now on, but for a restart a day
        world.run(S_MS)
        world.stop(LOOK_MS)
    assert all(one.born_ms >= steady_ms for one in world.blocks)


@pytest.mark.parametrize(("days", "slack_days"), [(None, 1.0), (0.5, 0.05), (7.0, 0.7), (10.0, 1.0), (3_650.0, 1.0)])
def test_the_slack_is_a_tenth_of_the_retention_and_at_most_a_day(days: float | None, slack_days: float) -> None:
    assert slack_ms(None if days is None else days * 86_400) == pytest.approx(slack_days * DAY_MS)


def test_a_block_goes_a_tenth_after_its_retention() -> None:
    assert expired_before_ms(NOON_MS, 7 * 86_400) == NOON_MS - 7.7 * DAY_MS


@pytest.mark.parametrize("error_ms", [12 * DAY_MS, -12 * DAY_MS, -NOON_MS, S_MS + 1, -S_MS - 1])
def test_a_clock_that_is_set_counts_nothing_and_what_follows_counts(error_ms: int) -> None:
    moment = Moment(NOON_MS, Clocks(100.0, NOON_MS))
    there = next_moment(moment, Clocks(160.0, NOON_MS + 60_000 + error_ms), S_MS)
    assert (there.index_ms, there.uncounted_ms) == (NOON_MS + 60_000, error_ms)
    back = next_moment(there, Clocks(220.0, NOON_MS + 120_000), S_MS)
    assert (back.index_ms, back.uncounted_ms) == (NOON_MS + 120_000, -error_ms)
    assert next_moment(back, Clocks(280.0, NOON_MS + 180_000), S_MS) == Moment(NOON_MS + 180_000, Clocks(280.0, NOON_MS + 180_000))


def test_a_small_correction_is_followed_so_that_errors_do_not_add_up() -> None:
    moment = Moment(NOON_MS, Clocks(0.0, NOON_MS))
    for number in range(1, 101):
        moment = next_moment(moment, Clocks(number * 60.0, NOON_MS + number * 60_000 + number % 2 * S_MS), S_MS)
    assert moment.index_ms == NOON_MS + 100 * 60_000


def test_looks_that_follow_each_other_closely_lose_nothing() -> None:
    moment = Moment(NOON_MS, Clocks(0.0, NOON_MS))
    for number in range(1, 10_001):
        moment = next_moment(moment, Clocks(number * 0.000_25, NOON_MS + number * 0.25), S_MS)
    assert moment.index_ms == pytest.approx(NOON_MS + 2_500, abs=1)


@pytest.mark.parametrize(("pause_ms", "counts_ms"), [(0, 0), (S_MS, S_MS), (S_MS + 1, 0), (-S_MS, -S_MS), (-S_MS - 1, 0), (-NOON_MS, 0)])
def test_a_pause_counts_up_to_the_slack_and_a_longer_one_may_be_a_wrong_clock(pause_ms: int, counts_ms: int) -> None:
    mark = Moment(5_000.0, Clocks(9.0, NOON_MS)).mark
    moment = first_moment(mark, None, Clocks(1.0, NOON_MS + pause_ms), S_MS)
    assert (moment.index_ms, moment.uncounted_ms) == (5_000 + counts_ms, pause_ms - counts_ms)


@pytest.mark.parametrize("mark", ["", "x", "5", "5/", "/5", "-5/7", "5/7/9"])
@pytest.mark.parametrize(
    ("wall_ms", "begins_ms"), [(NOON_MS, NOON_MS), (NOON_MS + 3 * S_MS, NOON_MS + 3 * S_MS), (NOON_MS + 3 * S_MS + 1, NOON_MS + 2 * S_MS)]
)
def test_without_a_mark_it_begins_at_the_clock_if_that_suits_the_blocks(mark: str, wall_ms: int, begins_ms: int) -> None:
    dates = Dates(NOON_MS, NOON_MS + 2 * S_MS)
    assert first_moment(mark, dates, Clocks(1.0, wall_ms), S_MS).index_ms == begins_ms
    assert first_moment(mark, dates, Clocks(1.0, 0.0), S_MS).index_ms == dates.newest_ms, "before every block"
    assert first_moment(mark, None, Clocks(1.0, wall_ms), S_MS).index_ms == wall_ms, "there are no blocks"
