"""What arrives, in which order, and what is never said twice; `tests.properties.test_tail` has random histories."""

from collections.abc import Iterable

import pytest

from sinks.block import BlockId
from sinks.reading.arrivals import GAP_S, Arrival, Watch
from tests.world import block, line, open_sink, run


class Watched:
    """A watch over a fake sink whose blocks hold a line for each of their numbers."""

    def __init__(self, *, most: int = 100) -> None:
        self.now_s = 0.0
        self.sink = open_sink()
        self.watch = Watch(self.sink, lambda: self.now_s, most=most)

    def write(self, *numbers: int | tuple[int, int], of: int = 1) -> None:
        for one in numbers:
            first, last = (one, one) if isinstance(one, int) else one
            self.sink.write_blocks([block([line(number) for number in range(first, last + 1)], run(of), first, last)])

    def new(self) -> list[tuple[int, int]]:
        before = self.watch.end
        self.now_s += 1.0
        self.watch.look()
        return numbers(one.block for one in self.watch.since(before).blocks if one.is_whole)


def numbers(ids: Iterable[BlockId]) -> list[tuple[int, int]]:
    return [(one.first, one.last) for one in ids]


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_block_that_was_overtaken_arrives_when_it_is_there(watched: Watched) -> None:
    watched.new()
    watched.write(0, 2, 3)
    assert watched.new() == [(0, 0), (2, 2), (3, 3)]
    watched.write(1)
    assert watched.new() == [(1, 1)]
    watched.write(4)
    assert watched.new() == [(4, 4)]


def test_a_number_that_never_comes_is_given_up(watched: Watched) -> None:
    watched.new()
    watched.write(0, 2)
    assert watched.new() == [(0, 0), (2, 2)]
    watched.now_s += GAP_S
    assert watched.new() == []
    watched.write(1)
    assert watched.new() == [], "that late it is not looked for: a look would have to list all of the run"


def test_merged_blocks_arrive_if_none_of_their_lines_did(watched: Watched) -> None:
    watched.new()
    watched.write(0, 1)
    watched.new()
    watched.write((0, 1))
    assert watched.new() == []
    watched.write((2, 5))
    assert watched.new() == [(2, 5)]
    watched.write(6)
    watched.new()
    watched.write((7, 9))  # 7 to 9 were merged and are gone already
    watched.write((6, 9))
    assert watched.new() == [(7, 9)]
    watched.write(10, 12)
    assert watched.new() == [(10, 10), (12, 12)]
    watched.write((10, 12))
    watched.now_s += 1.0
    watched.watch.look()
    assert watched.watch.since(watched.watch.end - 1).blocks == [
        Arrival(block([line(10), line(11), line(12)], run(1), 10, 12).id, is_whole=False)
    ], "11 is in it, and 10 and 12 have been here"


def test_whoever_reads_on_too_late_is_told_so() -> None:
    watched = Watched(most=3)
    watched.new()
    watched.write(*range(5))
    watched.new()
    late = watched.watch.since(0)
    assert (numbers(one.block for one in late.blocks), late.end, late.is_all) == ([(2, 2), (3, 3), (4, 4)], 5, False)
    assert watched.watch.since(2).is_all


def test_all_who_ask_within_half_a_second_share_a_look(watched: Watched) -> None:
    watched.new()
    watched.watch.look()
    watched.now_s += 0.4
    watched.watch.look()
    assert watched.sink.calls.count("unseen_blocks") == 1
    watched.now_s += 0.2
    watched.watch.look()
    assert watched.sink.calls.count("unseen_blocks") == 2


def test_what_is_added_to_a_run_that_is_not_watched_any_more_was_not_seen(watched: Watched) -> None:
    for number in range(10):
        watched.write(0, of=number + 1)
    watched.new()
    watched.now_s += 700.0
    watched.new()
    watched.write(1, of=1)
    assert watched.new() == []
    assert watched.watch.has_seen(block([line(0)], run(1), 0).id)
    assert not watched.watch.has_seen(block([line(1)], run(1), 1).id)


def test_runs_that_are_not_written_any_more_are_forgotten(watched: Watched) -> None:
    for number in range(10):
        watched.write(0, of=number + 1)
    watched.new()
    assert watched.watch.has_seen(block([line(0)], run(1), 0).id)
    watched.write(1, of=8)
    assert watched.new() == [(1, 1)]
    watched.now_s += 700.0
    watched.new()
    watched.write(2, of=8)
    watched.write(1, of=10)
    assert watched.new() == [(1, 1)]
