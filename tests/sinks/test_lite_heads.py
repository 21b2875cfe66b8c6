"""The blocks of a local folder in memory: what is found is what the contract says, whatever came and went."""

import threading
from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.block import Block, BlockId, BlockPlace, Head
from sinks.heads import head_row
from sinks.milvus.lite_bloom import bloom_filter
from sinks.milvus.lite_heads import HeadIndex, IndexedBlock
from sinks.row import TemplateKey
from sinks.sink import BlockFilter, SeenRun
from tests.fakes.sink import is_unseen, passes
from tests.sinks.any_blocks import BLOCKS, FILTERS, PLACES, RUNS
from tests.world import told

RUN = "0" * 20


def block(
    number: int, *, templates: Collection[int] = (1,), words: Collection[int] = (), partition: int = 0, first: int = 0, last: int = 0
) -> Block:
    """Return a block without lines; its templates' pieces and times follow from its number."""
    keys = np.array(sorted(templates), np.int64)
    head = Head(keys, keys + number, keys * 0 + first, keys * 0 + last, ("a",), ("",), number)
    place = BlockPlace("logs", "e", partition)
    return Block(BlockId(place, RUN, number, number), first, last, first, last, 5, head, np.array(sorted(words), np.int32), b"p", b"t", b"")


def indexed(one: Block) -> IndexedBlock:
    return IndexedBlock(head_row(one), bloom_filter(one.words), one.id.first + 7)


def row(one: Block) -> tuple[object, ...]:
    head = one.head
    return (*one[1:6], head.written_ms, head.services, head.levels, *(column.tolist() for column in head[:4]))


FEW = st.sampled_from(BLOCKS[:24])
"""Few enough that some are written again."""
GONE = st.sets(st.integers(0, 23))
SEEN = st.builds(SeenRun, st.sampled_from(PLACES), st.sampled_from([*RUNS, "1" * 20]), st.integers(-1, 24))


@given(st.lists(st.tuples(st.lists(FEW, max_size=8), GONE), max_size=6), st.lists(FILTERS, max_size=8))
def test_every_filter_finds_what_passes_it(steps: list[tuple[list[Block], set[int]]], filters: list[BlockFilter]) -> None:
    index, stored = HeadIndex(), dict[BlockId, Block]()
    for blocks, gone in steps:
        index.add([indexed(one) for one in blocks])
        stored |= {one.id: one for one in blocks}
        removed = [one for one in stored if one.first in gone]
        index.remove(removed)
        for name in removed:
            del stored[name]
    assert len(index) == len(stored)
    for only in [BlockFilter(), *filters]:
        found = index.find(only, None)
        wanted = {one.id: row(one) for one in stored.values() if passes(one, only)}
        surplus = told(found.heads).keys() - wanted.keys()
        assert found.is_all
        assert {name: said for name, said in told(found.heads).items() if name not in surplus} == wanted
        assert all(only.words and passes(stored[name], only._replace(words=())) for name in surplus)


@given(st.sets(FEW.map(lambda one: one.id.first)), GONE, st.lists(SEEN, unique_by=lambda one: one[:2]))
def test_what_is_unseen_is_what_begins_behind_what_was_seen(numbers: set[int], gone: set[int], seen: list[SeenRun]) -> None:
    index = HeadIndex()
    index.add([indexed(BLOCKS[number]) for number in sorted(numbers)])
    index.remove([BLOCKS[number].id for number in numbers & gone])
    left = {BLOCKS[number].id for number in numbers - gone}
    assert set(index.unseen(seen)) == {one for one in left if is_unseen(one, seen)}


def test_a_limit_leaves_the_newest() -> None:
    index = HeadIndex()
    index.add([indexed(block(number, last=time)) for number, time in enumerate([5, 9, 1, 7])])
    found = index.find(BlockFilter(), 2)
    assert [one.first for one in found.heads.ids] == [1, 3]
    assert not found.is_all
    assert index.find(BlockFilter(), 4).is_all
    assert index.find(BlockFilter(), 0).heads.size == 0


def test_after_many_deletes_the_rest_is_found_as_before() -> None:
    index, blocks = (
        HeadIndex(),
        [block(i, templates={i % 7, 7 + i % 3}, words={1 + i % 5}, partition=i % 2, first=i, last=i) for i in range(3_000)],
    )
    index.add([indexed(one) for one in blocks])
    index.remove([one.id for one in blocks if one.id.first % 5])
    index.add([indexed(block(5_000, templates={99}))])
    left = [one for one in blocks if one.id.first % 5 == 0] + [block(5_000, templates={99})]
    assert told(index.find(BlockFilter(), None).heads) == {one.id: row(one) for one in left}
    assert index.slots([one.id for one in blocks]) == {one.id: one.id.first + 7 for one in left[:-1]}
    only = BlockFilter(templates=(TemplateKey(3), TemplateKey(99)), partition=0)
    assert told(index.find(only, None).heads).keys() == {one.id for one in left if passes(one, only)}
    assert index.find(BlockFilter(words=(1,)), None).heads.size >= 600
    assert set(index.unseen([SeenRun(blocks[0].id.place, RUN, 2_000)])) == {
        one.id for one in left if one.id.place.partition == 1 or one.id.first > 2_000
    }


@pytest.mark.slow
def test_readers_beside_a_writer_see_whole_blocks() -> None:
    index, failures, done = HeadIndex(), list[str](), threading.Event()

    def read() -> None:
        newest = -1
        while not done.is_set():
            heads = index.find(BlockFilter(templates=(TemplateKey(1),)), None).heads
            for name, said in told(heads).items():
                if said != row(_grown(name.first)):
                    failures.append(f"{name}: {said}")
            last = max((name.first for name in heads.ids), default=-1)
            if last < newest:
                failures.append(f"block {newest} was there, then {last} was the newest")
            newest = last

    readers = [threading.Thread(target=read) for _ in range(2)]
    for one in readers:
        one.start()
    for number in range(0, 8_000, 4):
        index.add([indexed(_grown(number + i)) for i in range(4)])
        index.remove([_grown(number - 40 + i).id for i in range(4)])
    done.set()
    for one in readers:
        one.join()
    assert failures == []
    assert len(index) == 40


def _grown(number: int) -> Block:
    return block(max(number, 0), templates={1, 2 + max(number, 0) % 50}, first=number, last=number)
