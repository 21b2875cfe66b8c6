"""The cache of decoded blocks is bounded by bytes and forgets what was not used for the longest time."""

from sinks.arrow import string_column
from sinks.block import BlockId, BlockPlace
from sinks.lines import lines_of
from sinks.reading.cache import BlockCache
from tests.world import line, run

LINES = lines_of([line(offset) for offset in range(10)])
TEXTS = string_column(["x" * 1_000])


def name(number: int) -> BlockId:
    return BlockId(BlockPlace("logs", "e", 0), run(1), number, number)


def test_columns_come_back_only_if_all_are_there() -> None:
    cache = BlockCache(1_000_000)
    cache.put(name(0), "places", LINES)
    assert cache.get(name(0), ["places"]) == [LINES]
    assert cache.get(name(0), ["places", "texts"]) is None
    cache.put(name(0), "texts", TEXTS)
    assert cache.get(name(0), ["places", "texts"]) == [LINES, TEXTS]
    assert cache.get(name(1), ["places"]) is None


def test_what_was_not_used_for_the_longest_time_goes_first() -> None:
    cache = BlockCache(3_500)
    for number in range(3):
        cache.put(name(number), "texts", TEXTS)
    cache.get(name(0), ["texts"])
    cache.put(name(3), "texts", TEXTS)
    assert [cache.get(name(number), ["texts"]) is not None for number in range(4)] == [True, False, True, True]
    assert cache.size_bytes <= 3_500


def test_the_same_column_again_takes_no_more_room() -> None:
    cache = BlockCache(1_000_000)
    cache.put(name(0), "places", LINES)
    once = cache.size_bytes
    cache.put(name(0), "places", LINES)
    assert cache.size_bytes == once


def test_a_column_that_is_too_large_is_not_kept() -> None:
    cache = BlockCache(100)
    cache.put(name(0), "texts", TEXTS)
    assert cache.get(name(0), ["texts"]) is None
    assert cache.size_bytes == 0


def test_a_literal_that_a_block_lacks_is_known_for_this_block_and_no_column_of_it() -> None:
    cache = BlockCache(1_000_000)
    cache.put_absent(name(0), ["a-1", "texts"])
    assert cache.lacks(name(0), ["b-2", "a-1"])
    assert not cache.lacks(name(0), ["b-2", "places"])
    assert not cache.lacks(name(1), ["a-1"])
    assert cache.get(name(0), ["texts"]) is None


def test_absent_literals_take_room_and_go_when_they_are_not_asked_for() -> None:
    cache = BlockCache(4_000)
    cache.put_absent(name(0), ["a-1", "b-2"])
    for number in range(100):
        assert cache.lacks(name(0), ["a-1"])
        cache.put_absent(name(0), [str(number)])
    assert cache.size_bytes <= 4_000
    assert not cache.lacks(name(0), ["b-2"])
