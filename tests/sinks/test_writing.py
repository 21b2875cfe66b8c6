"""Batches are bounded by bytes and are whole columns, and what no column takes is refused before any of them leaves."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from sinks.block import Block
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import COLUMN_BYTES, CollectionLayout, blocks_layout, templates_layout
from sinks.milvus.packing import ColumnValues
from sinks.milvus.writing import block_batches, template_batches, write_in_parts
from sinks.sink import SinkRejected
from tests.world import SPACE, block, line, template, unit

BLOCKS = blocks_layout("vectail")
TEMPLATES = templates_layout("vectail", SPACE)
ONE = block([line(1), line(2)])
MOST_BYTES = bytes(COLUMN_BYTES // 4 * 3)
"""What a column takes, as base64."""


def numbered(number: int, **changes: bytes) -> Block:
    return ONE._replace(id=ONE.id._replace(first=number, last=number))._replace(**changes)  # type: ignore[arg-type] # columns only


def test_an_id_stands_once_in_all_batches_together() -> None:
    batches = list(block_batches([numbered(number % 50, texts=b"x" * 45_000) for number in range(100)], 1_000_000))
    ids = [one.id for batch in batches for one in batch]
    assert len(ids) == len(set(ids)) == 50
    (columns,) = template_batches([template("a", unit(1.0)), template("a", unit(0.0, 1.0))], TEMPLATES)
    assert np.array_equal(columns[2], unit(0.0, 1.0)[None])


def test_no_batch_of_blocks_has_more_bytes_than_the_bound_but_for_a_single_block() -> None:
    stored = [numbered(number, texts=b"x" * 45_000) for number in range(30)]
    sizes = [sum(one.size_bytes for one in batch) for batch in block_batches(stored, 1_000_000)]
    assert max(sizes) <= 1_000_000
    assert min(sizes[:-1]) > 900_000
    assert [len(batch) for batch in block_batches(stored[:3], 10)] == [1, 1, 1]


def test_texts_and_vectors_count_as_bytes() -> None:
    dim = 1 << 19
    rows = [template(f"{number}", np.ones(dim, np.float32)) for number in range(5)]
    assert [len(columns[0]) for columns in template_batches(rows, templates_layout("vectail", SPACE._replace(dim=dim)))] == [2, 2, 1]
    rows = [template(f"{number}" + "é" * 30_000) for number in range(300)]
    assert [len(columns[0]) for columns in template_batches(rows, TEMPLATES)] == [99, 99, 99, 3]


def place(**changes: object) -> Block:
    return ONE._replace(id=ONE.id._replace(place=ONE.id.place._replace(**changes)))  # type: ignore[arg-type] # any


def head(**changes: object) -> Block:
    return ONE._replace(head=ONE.head._replace(**changes))  # type: ignore[arg-type] # any


BAD = {
    "texts has 65536 bytes, its column takes 65535": lambda: ONE._replace(texts=b"secret" * 8_192),
    "places has 65536 bytes": lambda: ONE._replace(places=MOST_BYTES + b"x"),
    "services is not Unicode": lambda: head(services=("a", "\ud800")),
    "services has 257 bytes, its column takes 256": lambda: head(services=("s" * 257,)),
    "levels has 33 bytes": lambda: head(levels=("l" * 33,)),
    "it has 257 services, its column takes 256": lambda: head(services=tuple(f"{n:03}" for n in range(257))),
    "it has 65 levels": lambda: head(levels=tuple(f"{n:03}" for n in range(65))),
    "it has 4097 words": lambda: ONE._replace(words=np.arange(4_097, dtype=np.int32)),
    "it has 1025 templates": lambda: head(templates=np.arange(1_025)),
    "topic has 257 bytes": lambda: place(topic="t" * 257),
    "partition does not fit": lambda: place(partition=1 << 31),
    "last_ms does not fit": lambda: ONE._replace(last_ms=1 << 63),
    "head has ": lambda: head(services=tuple(f"{n:03}" + "s" * 250 for n in range(256))),
}


@pytest.mark.parametrize(("reason", "make"), BAD.items(), ids=BAD)
def test_a_bad_block_is_named_before_any_batch_leaves_and_its_texts_are_not_told(reason: str, make: Callable[[], Block]) -> None:
    bad = make()
    with pytest.raises(SinkRejected) as error:
        next(block_batches([numbered(1), numbered(2), bad], 10))
    assert str(error.value).startswith(f"block {str(bad.id)!r}: {reason}")
    assert "secret" not in str(error.value)


def test_what_is_as_large_as_may_be_fits() -> None:
    full = ONE._replace(places=MOST_BYTES, texts=MOST_BYTES, fields=MOST_BYTES, last_ms=(1 << 63) - 1)
    full = full._replace(words=np.arange(4_096, dtype=np.int32), first_ms=-(1 << 63))
    assert list(block_batches([full], 10)) == [[full]]


class Receiver:
    """Takes so many rows at once, and counts what it took."""

    def __init__(self, most_rows: int, forgets: int = 0) -> None:
        self.most_rows = most_rows
        self.forgets = forgets
        self.taken: list[str] = []

    def __call__(self, _layout: CollectionLayout, columns: Sequence[ColumnValues]) -> int:
        ids = [str(one) for one in columns[0]]
        if len(ids) > self.most_rows:
            raise MilvusFault("insert", -1, "RESOURCE_EXHAUSTED: larger than max")
        self.taken += ids
        return len(ids) - self.forgets


def test_a_batch_that_is_too_large_is_halved_until_it_is_not() -> None:
    receiver = Receiver(3)
    columns: list[ColumnValues] = [[f"{number}" for number in range(10)], list(range(10)), np.zeros((10, 2), np.float32)]
    write_in_parts(receiver, BLOCKS, columns)
    assert receiver.taken == [f"{number}" for number in range(10)]
    with pytest.raises(MilvusFault, match="larger than max"):
        write_in_parts(Receiver(3), BLOCKS, columns, splits=False)
    with pytest.raises(MilvusFault, match="larger than max"):
        write_in_parts(Receiver(0), BLOCKS, columns)


def test_a_short_count_is_no_acknowledgement() -> None:
    with pytest.raises(MilvusFault, match="1 of 2 rows of vectail were acknowledged"):
        write_in_parts(Receiver(9, forgets=1), BLOCKS, [["a", "b"]])
