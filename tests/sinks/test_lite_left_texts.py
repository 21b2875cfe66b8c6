"""Texts of blocks that are gone, and of those that were never whole, leave a local folder with them, or at its next opening."""

from pathlib import Path

import pytest

from sinks.milvus.lite_blocks import LiteBlocks
from tests.sinks.lite_folder import Killed, Opened, found
from tests.world import block, blocks, line


@pytest.fixture
def folder(tmp_path: Path) -> Opened:
    return Opened(tmp_path / "milvus")


@pytest.mark.process
def test_what_is_older_than_the_retention_leaves_no_text_behind_and_its_slots_are_free(folder: Opened) -> None:
    written = blocks([line(number, text=f"a line of session {number:06d}") for number in range(6)], 1)
    aged = [one._replace(head=one.head._replace(written_ms=1_000 + number)) for number, one in enumerate(written[:5])]
    with folder.blocks() as stored:
        stored.write(aged)
        assert stored.drop_written_before(1_000) == 0
        assert stored.drop_written_before(1_003) == 3
        assert found(stored) == {one.id for one in aged[3:]}
    assert folder.filled() == [{3, 4}] * 3
    with folder.blocks() as stored:
        assert found(stored) == {one.id for one in aged[3:]}
        stored.write([written[5]])
        assert stored.columns([written[5].id], ["texts"])[written[5].id].texts == written[5].texts
    assert folder.slots() == [5, 5, 5]


@pytest.mark.process
def test_blocks_that_were_merged_into_another_leave_no_text_behind(folder: Opened) -> None:
    lines = [line(number, text=f"a line of session {number:06d}") for number in range(6)]
    inner, outer = blocks(lines, 1), block(lines, first=0, last=5)
    with folder.blocks() as stored:
        stored.write(inner)
        stored.write([outer])
        stored.delete([one.id for one in inner])
        assert found(stored) == {outer.id}
        assert stored.columns([outer.id], ["texts"])[outer.id].texts == outer.texts
    assert folder.filled() == [{6}] * 3
    with folder.blocks() as stored:
        assert stored.drop_written_before(outer.head.written_ms + 1) == 1
    assert folder.filled() == [set[int]()] * 3


@pytest.mark.process
@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_delete_that_was_cut_short_leaves_whole_blocks_and_the_next_opening_takes_the_texts_of_the_others(
    folder: Opened, writes: int
) -> None:
    going, staying = blocks([line(number, text=f"a line of session {number:06d}") for number in range(2)], 1)
    with folder.client() as client:
        stored = LiteBlocks(client, "vectail")
        stored.open()
        stored.write([staying, going])
        client.writes_left = writes
        with pytest.raises(Killed):
            stored.delete([going.id])
    left = {staying.id: staying.texts} if writes else {staying.id: staying.texts, going.id: going.texts}
    for create in (False, True):
        with folder.blocks(create=create) as stored:
            columns = stored.columns([staying.id, going.id], ["texts"])
            assert {name: one.texts for name, one in columns.items()} == left
            assert found(stored) == left.keys()
    assert folder.filled() == [set(range(len(left)))] * 3
    assert folder.said == []


@pytest.mark.process
def test_who_only_reads_leaves_what_a_delete_that_was_cut_short_has_left(folder: Opened) -> None:
    one = block([line(1)])
    with folder.client() as client:
        stored = LiteBlocks(client, "vectail")
        stored.open()
        stored.write([one])
        client.writes_left = 1
        with pytest.raises(Killed):
            stored.delete([one.id])
    with folder.blocks(create=False) as stored:
        assert found(stored) == set()
    assert folder.filled() == [set[int](), {0}, {0}]


@pytest.mark.process
def test_texts_behind_the_last_head_go_at_the_next_opening_on_whatever_page_they_are(folder: Opened) -> None:
    pattern = block([line(1)])
    written = [pattern._replace(id=pattern.id._replace(first=number, last=number)) for number in range(1_001)]
    with folder.client() as client:
        stored = LiteBlocks(client, "vectail")
        stored.open()
        stored.write(written[:1_000])
        client.writes_left = 2
        with pytest.raises(Killed):
            stored.write(written[1_000:])
    with folder.blocks() as stored:
        assert stored.count() == 1_000
    assert folder.filled() == [set(range(1_000))] * 3


@pytest.mark.process
@pytest.mark.parametrize("writes", [1, 2])
def test_what_was_written_without_a_head_is_not_there_and_its_slot_is_free(folder: Opened, writes: int) -> None:
    torn, whole, later = blocks([line(1), line(2), line(3)], 1)
    with folder.client() as client:
        stored = LiteBlocks(client, "vectail")
        stored.open()
        stored.write([whole])
        client.writes_left = writes
        with pytest.raises(Killed):
            stored.write([torn])
    for create in (False, True):
        with folder.blocks(create=create) as stored:
            assert found(stored) == {whole.id}
    assert folder.filled() == [{0}] * 3
    with folder.blocks() as stored:
        stored.write([later])
        assert stored.columns([later.id, torn.id], ["texts"])[later.id].texts == later.texts
        assert found(stored) == {whole.id, later.id}
    assert folder.slots() == [2, 2, 2]
    assert folder.said == []
