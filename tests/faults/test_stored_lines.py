"""The fault tests' own reader of blocks reads what the product writes, and resolves copies as the design says."""

import random
from typing import Any

import pytest

from sinks.line import Line
from sinks.milvus.base64_texts import base64_text
from sinks.milvus.lite_texts import stored_text
from tests.faults.stored_lines import Line as Read
from tests.faults.stored_lines import StoredBlock, resolve, text_in_folder, unpack_block
from tests.template_ids import id_of
from tests.world import block, line, run


def as_read(one: Line) -> Read:
    place = (one.topic, one.epoch, one.partition, one.offset, one.sub, one.chunk, one.chunks, one.cut, one.kafka_time)
    return Read(one.id, id_of(one.template_text), one.template_text, one.text or "", one.time, one.service, one.level, *place)


def unpacked(lines: list[Line], **about: Any) -> StoredBlock:  # noqa: ANN401 - as `block`
    made = block(lines, **about)
    return unpack_block({"id": str(made.id), "places": base64_text(made.places), "texts": base64_text(made.texts)})


BLOCKS: dict[str, list[Line]] = {
    "one": [line(7)],
    "alike": [line(n) for n in range(5, 50)],
    "gaps": [line(n * n) for n in range(40)],
    "far apart": [line(0), line(1 << 40, time=5)],
    "odd texts": [line(0, text="a\nb"), line(1, text="\n"), line(2, text="ä\0\u2028x"), line(3, text="\r\n\n")],
    "chunks": [line(3, chunk=n, chunks=4, cut=(1 << 64) - 5, text=f"{n}", template_text=f"t{n}") for n in range(4)],
    "entries": [line(3, sub=n, service="ab"[n % 2], level=("WARN", "")[n % 2], kafka_time=9) for n in range(6)],
    "no labels": [line(3, service="", level="")],
    "times": [line(n, time=(1 << 50) * n, kafka_time=n) for n in range(3)],
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_read_as_it_was_written(name: str) -> None:
    assert list(unpacked(BLOCKS[name]).lines) == [as_read(one) for one in BLOCKS[name]]


@pytest.mark.parametrize("size", [0, 1, 6, 7, 8, 63, 64, 65, 999])
def test_a_column_of_a_folder_is_read_as_it_was_written(size: int) -> None:
    made = block([line(n, text=random.Random(n).randbytes(size).hex()) for n in range(3)])
    for frame in (made.texts, made.places, b""):
        assert text_in_folder(stored_text(frame)) == base64_text(frame)


def test_a_wrong_range_of_a_block_is_seen() -> None:
    made = block([line(3), line(4)])
    row = {"id": str(made.id), "places": base64_text(made.places), "texts": base64_text(made.texts)}
    right = row | {"first_offset": 3, "last_offset": 4, "first_ms": 3_000, "last_ms": 4_000, "lines": 2}
    assert len(unpack_block(right).lines) == 2
    for name in ("first_offset", "last_offset", "first_ms", "last_ms", "lines"):
        with pytest.raises(AssertionError):
            unpack_block(right | {name: 99})


def test_an_inner_block_counts_for_nothing() -> None:
    inner = [unpacked([line(n)], first=n) for n in range(2)]
    outer = unpacked([line(0), line(1)], first=0, last=1)
    resolved = resolve([inner[0], outer, inner[1]])
    assert ([one.offset for one in resolved.lines], resolved.copies) == ([0, 1], [])


def test_a_line_that_is_twice_in_a_run_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="stored twice"):
        resolve([unpacked([line(0)], first=0), unpacked([line(0)], first=1)])


def test_of_copies_that_of_the_latest_run_holds() -> None:
    resolved = resolve([unpacked([line(0, text="new")], run=run(2)), unpacked([line(0, text="old"), line(1)], run=run(1))])
    assert [one.text for one in sorted(resolved.lines)] == ["new", "line 1"]
    assert [one.text for one in resolved.copies] == ["old"]


def test_pieces_of_one_cut_combine_and_whole_copies_come_before_torn_ones() -> None:
    def piece(chunk: int, cut: int) -> Line:
        return line(0, chunk=chunk, chunks=2, cut=cut, text=f"{cut}/{chunk}")

    combined = resolve([unpacked([piece(0, 5)], run=run(1)), unpacked([piece(1, 5)], run=run(2)), unpacked([piece(0, 6)], run=run(3))])
    assert sorted(one.text for one in combined.lines) == ["5/0", "5/1"]
    torn = resolve([unpacked([piece(0, 5)], run=run(1)), unpacked([piece(1, 6)], run=run(2))])
    assert [one.text for one in torn.lines] == ["6/1"]
