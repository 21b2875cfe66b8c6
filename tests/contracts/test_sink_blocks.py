"""What every sink must do with blocks, run on the fake, on a local Milvus folder and on a real server."""

import numpy as np
import pytest

from sinks.block import Block, BlockColumns
from sinks.heads import head_row, join_heads
from sinks.milvus.fields import COLUMN_BYTES
from sinks.sink import BlockFilter, ColumnName, Sink, SinkCounts, SinkRejected
from tests.world import block, blocks, line, told

ALL = BlockFilter()
COLUMNS: tuple[ColumnName, ...] = ("places", "texts", "fields")
MOST_BYTES = COLUMN_BYTES // 4 * 3
"""Of an encoded column: what it takes as base64."""


def many(number: int, **changes: bytes) -> list[Block]:
    """Return many blocks, quickly made: alike but for their numbers."""
    one = block([line(1, fields='{"a": "b"}')])._replace(**changes)  # type: ignore[arg-type] # columns only
    return [one._replace(id=one.id._replace(first=n, last=n), first_ms=n, last_ms=n) for n in range(number)]


def check_stored(sink: Sink, stored: list[Block]) -> None:
    found = sink.find_blocks(ALL)
    assert found.is_all
    assert told(found.heads) == told(join_heads([head_row(one) for one in stored]))
    assert sink.read_columns([one.id for one in stored], COLUMNS) == {
        one.id: BlockColumns(one.places, one.texts, one.fields) for one in stored
    }
    assert sink.counts().blocks == len(stored)


def test_a_new_sink_has_no_blocks(sink: Sink) -> None:
    check_stored(sink, [])
    assert sink.read_columns([block([line(1)]).id], COLUMNS) == {}
    assert sink.read_words([block([line(1)]).id]) == {}


def test_blocks_come_back_as_they_were_written(sink: Sink) -> None:
    stored = blocks(
        [line(offset, service=f"s{offset % 3}", level="WARN" if offset % 7 else "", fields='{"a": 1}') for offset in range(40)], 10
    )
    stored.append(block([line(1, topic="other.topic_1", epoch="", partition=7, time=-5, text="\x00 \U0001f701", template_text="\n")]))
    sink.write_blocks(stored)
    check_stored(sink, stored)
    words = sink.read_words([one.id for one in stored])
    assert words == {} or all(np.array_equal(words[one.id], one.words) for one in stored)


def test_a_block_that_is_written_again_or_twice_in_a_call_is_there_once(sink: Sink) -> None:
    stored = blocks([line(offset) for offset in range(30)], 10)
    sink.write_blocks(stored[:2])
    sink.write_blocks([stored[1], stored[2], stored[2]], again=True)
    check_stored(sink, stored)


def test_more_than_one_call_takes_is_all_stored(sink: Sink) -> None:
    stored = many(400, texts=b"x" * 45_000)
    sink.write_blocks(stored)
    assert sink.counts() == SinkCounts(blocks=400, templates=0)
    assert {one: len(columns.texts) for one, columns in sink.read_columns([one.id for one in stored], ["texts"]).items()} == {
        one.id: 45_000 for one in stored
    }


def test_only_the_columns_that_were_asked_for_come_and_only_of_blocks_that_are_there(sink: Sink) -> None:
    stored = many(3)
    sink.write_blocks(stored[:2])
    ids = [one.id for one in stored]
    first = stored[0]
    assert sink.read_columns(ids, ["texts"]) == {one: BlockColumns(b"", first.texts, b"") for one in ids[:2]}
    assert sink.read_columns(ids, ["places", "fields"]) == {one: BlockColumns(first.places, b"", first.fields) for one in ids[:2]}
    assert sink.read_columns([], COLUMNS) == {}


def test_deleted_blocks_are_gone_and_may_be_written_again(sink: Sink) -> None:
    stored = blocks([line(offset) for offset in range(30)], 10)
    sink.write_blocks(stored)
    sink.delete_blocks([stored[1].id, block([line(1)], first=99).id])
    check_stored(sink, [stored[0], stored[2]])
    assert sink.read_columns([stored[1].id], COLUMNS) == {}
    sink.write_blocks([stored[1]], again=True)
    check_stored(sink, stored)


def test_many_blocks_are_all_found_and_deleted(sink: Sink) -> None:
    stored = many(2_300)
    sink.write_blocks(stored)
    found = sink.find_blocks(ALL)
    assert (found.is_all, found.heads.size) == (True, 2_300)
    assert len(sink.read_columns([one.id for one in stored], COLUMNS)) == 2_300
    sink.delete_blocks([one.id for one in stored[1:]])
    check_stored(sink, stored[:1])


def test_a_limit_cuts_and_says_so(sink: Sink) -> None:
    stored = many(10)
    sink.write_blocks([stored[at] for at in (3, 9, 1, 0, 4, 8, 2, 7, 6, 5)])
    for limit, is_all in ((3, False), (9, False), (10, True), (11, True)):
        found = sink.find_blocks(ALL, limit=limit)
        assert (found.heads.size, found.is_all) == (min(limit, 10), is_all)
        if sink.capabilities.orders_blocks:
            assert set(found.heads.ids) == {one.id for one in stored[-limit:]}
    few = sink.find_blocks(BlockFilter(until_ms=3), limit=3)
    assert (set(few.heads.ids), few.is_all) == ({one.id for one in stored[:3]}, True)
    assert sink.find_blocks(ALL, limit=0).heads.size == 0


@pytest.mark.parametrize("column", COLUMNS)
def test_a_block_that_no_column_takes_is_refused_and_the_others_of_its_call_are_not_stored(sink: Sink, column: str) -> None:
    good, bad = many(2)
    with pytest.raises(SinkRejected):
        sink.write_blocks([good, bad._replace(**{column: b"x" * (MOST_BYTES + 1)})])  # type: ignore[arg-type] # bytes
    check_stored(sink, [])
    sink.write_blocks([good, bad._replace(**{column: b"x" * MOST_BYTES})])  # type: ignore[arg-type] # bytes
    assert sink.counts().blocks == 2


def test_what_was_acknowledged_is_there_after_it_was_closed(sink: Sink) -> None:
    stored = blocks([line(offset) for offset in range(50)], 10)
    sink.write_blocks(stored)
    sink.delete_blocks([stored[2].id])
    sink.close()
    sink.open()
    check_stored(sink, [one for one in stored if one is not stored[2]])


def test_a_strong_read_sees_the_last_write_and_the_last_delete(sink: Sink) -> None:
    for stored in many(10):
        sink.write_blocks([stored])
        assert set(sink.find_blocks(BlockFilter(partition=0), strong=True).heads.ids) == {stored.id}
        assert sink.read_columns([stored.id], ["places"], strong=True).keys() == {stored.id}
        sink.delete_blocks([stored.id])
        assert sink.find_blocks(ALL, strong=True).heads.size == 0
        assert sink.read_columns([stored.id], ["places"], strong=True) == {}
