"""How far an ordered reading looks ahead, and how it cuts time into windows; `tests.properties.test_ordered` has random histories."""

from sinks.line import Line
from sinks.reading.ordered import Reach
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from tests.fakes.sink import FakeSink
from tests.world import block, line, open_sink, run


def reader_of(*blocks: list[Line], page_blocks: int = 128) -> tuple[FakeSink, BlockReader]:
    """Return a reader of blocks, each of a partition of its own."""
    sink = open_sink(orders_blocks=False)
    sink.write_blocks([block([one._replace(partition=at) for one in lines], run(1)) for at, lines in enumerate(blocks)])
    return sink, BlockReader(sink, clock=lambda: 0.0, page_blocks=page_blocks)


def times(reader: BlockReader, until_ms: int, most: int) -> list[int]:
    found: list[int] = []
    reach = Reach(0)
    while reach.time_ms < until_ms:
        some = reader.lines_in_order(Selection(), reach, until_ms, most)
        assert some.reach != reach
        found += [one.time for one in some.lines]
        reach = some.reach
    return found


def test_no_line_comes_before_one_of_a_block_that_is_not_unpacked_yet() -> None:
    early = [[line(0, time=at), line(1, time=100 + at)] for at in range(8)]
    late = [[line(0, time=50 + at), line(1, time=150 + at)] for at in range(4)]
    _, reader = reader_of(*early, *late)
    expected = sorted(one.time for lines in (*early, *late) for one in lines)
    assert times(reader, 200, 10) == expected


def test_a_window_that_too_many_blocks_overlap_is_made_narrower() -> None:
    _, reader = reader_of(*[[line(0, time=10 * at), line(1, time=10 * at + 4)] for at in range(30)], page_blocks=1)
    assert times(reader, 400, 1_000) == [time for at in range(30) for time in (10 * at, 10 * at + 4)]


def test_windows_grow_again_where_few_blocks_begin_however_many_reach_over_them() -> None:
    long = [[line(0, time=at), line(1, time=1_000_000 + at)] for at in range(20)]
    short = [[line(0, time=20_000 * at)] for at in range(1, 40)]
    sink, reader = reader_of(*long, *short, page_blocks=2)
    sink.calls.clear()
    assert len(times(reader, 2_000_000, 1_000)) == 79
    assert sink.calls.count("find_blocks") < 200


def test_a_line_comes_at_the_time_of_the_copy_that_holds_and_at_no_other() -> None:
    sink, reader = reader_of([line(offset, time=1_000_000 + offset) for offset in range(10)], page_blocks=1)
    sink.write_blocks([block([line(offset, time=offset) for offset in range(10)], run(2))])
    assert times(reader, 2_000_000, 3) == list(range(10))
    assert reader.lines_in_order(Selection(), Reach(500_000), 2_000_000, 1_000).lines == []
