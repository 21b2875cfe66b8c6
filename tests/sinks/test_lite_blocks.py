"""Blocks in a local folder: what is acknowledged is found, also after a reopening, and what is damaged is told."""

from pathlib import Path

import numpy as np
import pytest

from sinks.block import BlockColumns
from sinks.codec import BlockDamaged, decode_places
from sinks.milvus.base64_texts import base64_text
from sinks.milvus.fields import PAD_DIM, CollectionLayout, Field
from sinks.milvus.lite_blocks import LiteBlocks
from sinks.milvus.lite_texts import stored_text
from sinks.milvus.packing import ColumnValues
from sinks.sink import BlockFilter, ColumnName, SinkMismatch
from tests.sinks.lite_folder import LAYOUTS, Opened, found
from tests.world import block, blocks, line

COLUMNS: tuple[ColumnName, ...] = ("places", "texts", "fields")


@pytest.fixture
def folder(tmp_path: Path) -> Opened:
    return Opened(tmp_path / "milvus")


@pytest.mark.process
def test_columns_are_stored_as_they_always_were(folder: Opened) -> None:
    places, texts = bytes(range(240, 251)), bytes(range(201, 250))
    with folder.blocks() as written:
        written.write([block([line(1)])._replace(places=places, texts=texts, fields=b"(\xb5/\xfd")])
    with folder.client() as client:
        (row,) = client.query(LAYOUTS[2].name, "slot in [0]", list(COLUMNS))
    stored = "=ycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+Q=="
    assert {name: row[name] for name in COLUMNS} == {"places": "8PHy8/T19vf4+fo=", "texts": stored, "fields": "=KLUv/Q=="}


@pytest.mark.process
def test_what_is_deleted_stays_deleted_and_its_slot_is_taken_by_another(folder: Opened) -> None:
    one, other, never, later, last = blocks([line(number) for number in range(1, 6)], 1)
    with folder.blocks() as stored:
        stored.write([one, other])
        stored.delete([one.id, never.id])
        assert found(stored) == {other.id}
        assert stored.columns([one.id], COLUMNS) == {}
    assert folder.slots() == [2, 2, 2]
    with folder.blocks() as stored:
        assert found(stored) == {other.id}
        stored.write([later])
        assert stored.columns([one.id, later.id], ["texts"]).keys() == {later.id}
        stored.delete([later.id, other.id])
        stored.write([one, last], again=True)
        assert {name: row.texts for name, row in stored.columns([one.id, last.id], ["texts"]).items()} == {
            one.id: one.texts,
            last.id: last.texts,
        }
    assert folder.slots() == [2, 2, 2]
    with folder.blocks() as stored:
        assert found(stored) == {one.id, last.id}
        assert found(stored, BlockFilter(words=tuple(one.words.tolist()))) == {one.id} or not len(one.words)


@pytest.mark.process
@pytest.mark.parametrize("columns", [["places"], ["places", "texts"]])
def test_a_block_whose_columns_are_lost_is_damaged(folder: Opened, columns: list[ColumnName]) -> None:
    lost, other = blocks([line(1), line(2)], 1)
    with folder.blocks() as stored:
        stored.write([lost, other])
    with folder.client() as client:
        client.delete(LAYOUTS[2].name, "slot in [0]")
    with folder.blocks() as stored:
        read = stored.columns([lost.id, other.id], columns)
        assert read[other.id].places == other.places
        with pytest.raises(BlockDamaged):
            decode_places(read[lost.id].places)


@pytest.mark.process
def test_a_slot_with_the_columns_of_another_block_is_damaged(folder: Opened) -> None:
    one, other = blocks([line(1), line(2)], 1)
    with folder.blocks() as stored:
        stored.write([one, other])
    with folder.client() as client:
        pad = np.zeros((1, PAD_DIM), np.float32)
        client.insert(LAYOUTS[2], [[0], [str(other.id)], [base64_text(other.places)], [stored_text(other.texts)], ["="], pad])
        client.insert(LAYOUTS[1], [[0], [str(other.id)], ["AAAAAAAAAAA="], pad])
    with folder.blocks() as stored:
        assert stored.columns([one.id], COLUMNS) == {one.id: BlockColumns(b"", b"", b"")}
        assert found(stored, BlockFilter(words=(12, 34))) >= {one.id}


@pytest.mark.process
def test_a_block_without_a_filter_may_hold_any_word(folder: Opened) -> None:
    one = block([line(1)])
    with folder.blocks() as stored:
        stored.write([one])
    with folder.client() as client:
        client.delete(LAYOUTS[1].name, "slot in [0]")
    with folder.blocks() as stored:
        assert found(stored, BlockFilter(words=(12, 34))) == {one.id}


@pytest.mark.process
def test_heads_that_cannot_be_read_are_told_and_nothing_is_removed(folder: Opened) -> None:
    good, damaged = blocks([line(1), line(2)], 1)
    with folder.blocks() as stored:
        stored.write([good, damaged])
    with folder.client() as client:
        columns: list[ColumnValues] = [[1], [str(damaged.id)], ["logs"], ["0a0b0c0d"], [0], [2], [2], [2_000], [2_000], [1], ["damaged"]]
        client.upsert(LAYOUTS[0], [*columns, np.zeros((1, PAD_DIM), np.float32)])
    with folder.blocks() as stored:
        assert found(stored) == {good.id}
        stored.write([block([line(3)], first=2)])  # does not take the slot
    assert folder.slots() == [3, 3, 3]
    assert folder.said == ["Milvus collection 'vectail': 1 rows are not heads of blocks; their lines are left out"]


@pytest.mark.process
def test_more_heads_than_a_page_are_all_read_at_opening(folder: Opened) -> None:
    pattern = block([line(1)])
    written = [pattern._replace(id=pattern.id._replace(first=number, last=number)) for number in range(9_000)]
    with folder.blocks() as stored:
        stored.write(written)
    with folder.blocks() as stored:
        assert stored.count() == len(found(stored)) == 9_000


@pytest.mark.process
def test_nothing_that_is_stored_is_missed_while_memory_is_written_out(folder: Opened) -> None:
    written = blocks([line(1), line(2), line(3)], 1)
    with folder.client() as client:
        stored = LiteBlocks(client, "vectail")
        stored.open()
        stored.write(written)
        client.short_answers = 2
        read = stored.columns([one.id for one in written], COLUMNS)
        assert {name: one.texts for name, one in read.items()} == {one.id: one.texts for one in written}


@pytest.mark.process
def test_a_folder_that_is_about_full_is_told_at_opening(folder: Opened) -> None:
    one, other = (block([line(number)], first=number)._replace(lines=25_000_000) for number in (1, 2))
    with folder.blocks() as stored:
        stored.write([one])
    with folder.blocks() as stored:
        stored.write([other])
    assert folder.said == []
    with folder.blocks():
        pass
    assert folder.said == ["Milvus folder: it has 50,000,000 lines, and beyond about 60,000,000 it fails; go on in another, or on a server"]


@pytest.mark.process
def test_who_only_reads_misses_what_is_not_there_beside_the_heads(folder: Opened) -> None:
    with folder.client() as client:
        for layout in LAYOUTS[:2]:
            client.create(layout, {})
    with pytest.raises(SinkMismatch, match="'vectail_columns' does not exist"), folder.blocks(create=False):
        pass
    with folder.client() as client:
        assert client.describe("vectail_columns") is None


@pytest.mark.process
@pytest.mark.parametrize(("layout", "name"), list(zip(LAYOUTS, ("head", "words", "places"), strict=True)))
def test_a_collection_with_other_columns_is_refused(folder: Opened, layout: CollectionLayout, name: str) -> None:
    other = CollectionLayout(layout.name, tuple(Field(field.name, "int64") if field.name == name else field for field in layout.fields))
    with folder.client() as client:
        client.create(other, {})
    with pytest.raises(SinkMismatch, match=f"field '{name}': type is INT64, expected VARCHAR"), folder.blocks():
        pass
