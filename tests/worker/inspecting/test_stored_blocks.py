"""A window of blocks is read as readers read it, and what a block says of itself is compared with its lines."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sinks.block import ANY_WORD, Block, BlockColumns, BlockId
from sinks.sink import ColumnName, SinkBusy
from tests.worker.inspecting.audited_index import AuditedIndex, own_line
from tests.world import block, line
from worker.inspecting.stored_blocks import StoredBlock, inner_blocks, read_window

LINES = (
    own_line(3, text="login from 10.1.2.3", service="a", level="WARN"),
    own_line(4, chunk=0, chunks=2, cut=9, text="one", template_text="one *"),
    own_line(4, chunk=1, chunks=2, cut=9, text="two"),
    own_line(9, records=3, service="b"),
)


@pytest.fixture
def only(audited: AuditedIndex) -> BlockId:
    (stored,) = audited.store(*LINES)
    return stored


def read(audited: AuditedIndex) -> StoredBlock:
    (found,) = audited.window().blocks
    return found


def test_a_sound_block_is_read_with_its_lines(audited: AuditedIndex, only: BlockId) -> None:
    found = read(audited)
    assert (found.id, found.lines, found.holds, found.fault, found.is_readable) == (only, LINES, (True,) * 4, "", True)
    assert (found.first_offset, found.last_offset, found.masks, found.written_ms) == (3, 11, "m1", 0)


DAMAGES = {"first_offset": 2, "last_offset": 9, "first_ms": 0, "last_ms": 9_001, "lines": 4}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_range_that_does_not_fit_the_lines_is_found(audited: AuditedIndex, only: BlockId, name: str) -> None:
    audited.sink.blocks[only] = audited.sink.blocks[only]._replace(**{name: DAMAGES[name]})  # type: ignore[arg-type]
    assert read(audited).fault == f"differs from its lines in {name}"


HEADS: dict[str, dict[str, Any]] = {
    "a template left out": {"templates": np.array([5]), "pieces": np.array([4])},
    "another count": {"pieces": np.array([2, 2])},
    "another first time": {"first_ms": np.array([0, 0])},
    "another last time": {"last_ms": np.array([99, 99])},
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_does_not_fit_the_lines_is_found(audited: AuditedIndex, only: BlockId, name: str) -> None:
    stored = audited.sink.blocks[only]
    columns: dict[str, Any] = {column: np.resize(values, 2) for column, values in HEADS[name].items()}
    head = stored.head._replace(**columns)
    audited.sink.blocks[only] = stored._replace(head=head)
    assert read(audited).fault == "differs from its lines in templates"


def test_services_and_levels_that_are_not_in_the_head_are_found(audited: AuditedIndex, only: BlockId) -> None:
    stored = audited.sink.blocks[only]
    audited.sink.blocks[only] = stored._replace(head=stored.head._replace(services=("a",), levels=()))
    assert read(audited).fault == "differs from its lines in services, levels"


def test_a_word_may_be_too_many_and_none_may_be_missing(audited: AuditedIndex, only: BlockId) -> None:
    stored = audited.sink.blocks[only]
    assert len(stored.words)
    more = np.append(stored.words, np.int32(1 << 27 | 12345)).astype(np.int32)
    faults = []
    for words in (more, stored.words[1:], np.array([ANY_WORD], np.int32)):
        audited.sink.blocks[only] = stored._replace(words=words)
        faults.append(read(audited).fault)
    assert faults == ["", "differs from its lines in words", ""]


@pytest.mark.parametrize("column", BlockColumns._fields)
def test_a_block_that_cannot_be_read_is_found_and_the_others_are_read(audited: AuditedIndex, only: BlockId, column: str) -> None:
    audited.store(own_line(20))
    unreadable: dict[str, Any] = {column: "AAAA"}
    audited.sink.blocks[only] = audited.sink.blocks[only]._replace(**unreadable)
    window = audited.window()
    damaged = next(found for found in window.blocks if found.id == only)
    assert (damaged.is_readable, damaged.lines, damaged.fault[:16]) == (False, (), "cannot be read: ")
    assert [found.offset for found in window.lines] == [20]


def test_a_line_that_stands_twice_in_a_run_is_found_in_both_blocks(audited: AuditedIndex, only: BlockId) -> None:
    (other,) = audited.store(LINES[0], own_line(7))
    faults = {found.id: found.fault for found in audited.window().blocks}
    assert faults == {only: f"holds lines that {other} holds too", other: f"holds lines that {only} holds too"}


def test_a_line_that_stands_twice_in_a_block_is_found(audited: AuditedIndex) -> None:
    audited.store(LINES[0], LINES[0]._replace(text="other"), LINES[3])
    assert read(audited).fault == "holds a line twice"


def test_a_copy_in_another_run_is_no_fault_and_the_latest_holds(audited: AuditedIndex, only: BlockId) -> None:
    (later,) = audited.store(LINES[0]._replace(text="new"), run=2)
    window = audited.window()
    assert [found.fault for found in window.blocks] == ["", ""]
    assert {found.id: found.holds for found in window.blocks} == {only: (False, True, True, True), later: (True,)}
    assert (window.copies, {found.text for found in window.lines if found.offset == 3}) == (1, {"new"})


def test_inner_blocks_are_left_out_and_found_for_removal(audited: AuditedIndex) -> None:
    parts = audited.store(*LINES[1:3], size=1)
    outer = block(LINES[1:3], parts[0].run, parts[0].first, parts[1].last)
    audited.sink.blocks[outer.id] = outer
    found = read(audited)
    assert found.id == outer.id
    assert sorted(inner_blocks(audited.sink, audited.busy_retry, found)) == sorted(parts)


def test_a_window_holds_its_own_lines_of_every_epoch_only(audited: AuditedIndex, only: BlockId) -> None:
    old = line(4, text="of an earlier topic")
    audited.store(old)
    audited.store(own_line(4, partition=1, text="elsewhere"))
    window = read_window(audited.sink, audited.busy_retry, "logs", 0, range(4, 9))
    assert sorted(window.lines) == sorted([*LINES[1:3], old])
    assert only in {found.id for found in window.blocks}


@dataclass
class _Merging:
    """Merges each block away between listing and reading, so many times."""

    audited: AuditedIndex
    times: int

    def read_columns(self, ids: list[BlockId], columns: list[ColumnName], *, strong: bool = False) -> dict[BlockId, BlockColumns]:
        sink = self.audited.sink
        if self.times:
            self.times -= 1
            gone = ids[0]
            merged: Block = sink.blocks.pop(gone)
            longer = gone._replace(last=gone.last + 1)
            sink.blocks[longer] = merged._replace(id=longer)
        return sink.read_columns(ids, columns, strong=strong)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.audited.sink, name)


def test_a_listed_block_that_is_gone_begins_the_read_anew(audited: AuditedIndex, only: BlockId) -> None:
    merging: Any = _Merging(audited, 2)
    window = read_window(merging, audited.busy_retry, "logs", 0, range(100))
    assert (window.lines, [found.id.last for found in window.blocks]) == (LINES, [only.last + 2])
    merging.times = 99
    with pytest.raises(SinkBusy, match="5 times in a row"):
        read_window(merging, audited.busy_retry, "logs", 0, range(100))
