"""Rows become columns: bounded batches, each id once, every value checked before anything is sent.

Called by the sink's writes. A value that no column takes is its row's fault (`SinkRejected`); a vector that is not finite or has another
dimension is ours (`ValueError`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sinks.block import Block
from sinks.codec import encode_head
from sinks.line import LEVEL_BYTES, SERVICE_BYTES
from sinks.milvus.base64_texts import base64_text
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import (
    COLUMN_BYTES,
    EPOCH_BYTES,
    ID_BYTES,
    MOST_LEVELS,
    MOST_SERVICES,
    MOST_TEMPLATES,
    MOST_WORDS,
    PAD_DIM,
    TEMPLATE_BYTES,
    TOPIC_BYTES,
    CollectionLayout,
)
from sinks.milvus.packing import ColumnValues
from sinks.row import TEMPLATE_TEXT_BYTES, TemplateRow
from sinks.sink import SinkRejected

_TEMPLATES_BYTES = 6_000_000
"""Of texts and vectors in one write."""
_ROW_BYTES = 100
_INT32, _INT64 = 1 << 31, 1 << 63
_Row = TypeVar("_Row")

Write = Callable[[CollectionLayout, Sequence[ColumnValues]], int]
"""Send one batch; returns how many rows were counted."""


def block_batches(blocks: Sequence[Block], most_bytes: int) -> Iterator[list[Block]]:
    """Yield the blocks in batches of about the given size in bytes, each id once.

    Raises SinkRejected before the first batch if a block has a value that its column cannot hold.
    """
    last = list({block.id: block for block in blocks}.values())
    for block in last:
        check_block(block)
    yield from parts_within(last, [block.size_bytes for block in last], most_bytes)


def check_block(block: Block) -> None:
    """Raise SinkRejected for the first value that a column does not take; its own bounds are narrower, so that this is a bug of ours."""
    whose = f"block {str(block.id)!r}"
    head = block.head
    texts = {
        "id": (str(block.id), ID_BYTES),
        "topic": (block.id.place.topic, TOPIC_BYTES),
        "epoch": (block.id.place.epoch, EPOCH_BYTES),
    }
    for name, (text, most_bytes) in texts.items():
        _check_text(whose, name, text, most_bytes)
    for name, characters in block.characters.items():
        _check_size(whose, name, characters, COLUMN_BYTES)
    for name, items, most, most_bytes in (
        ("services", head.services, MOST_SERVICES, SERVICE_BYTES),
        ("levels", head.levels, MOST_LEVELS, LEVEL_BYTES),
    ):
        _check_number_of(whose, name, len(items), most)
        for item in items:
            _check_text(whose, name, item, most_bytes)
    _check_number_of(whose, "templates", len(head.templates), MOST_TEMPLATES)
    _check_number_of(whose, "words", len(block.words), MOST_WORDS)
    numbers = {"partition": (block.id.place.partition, _INT32), "lines": (block.lines, _INT32)}
    numbers |= {name: (getattr(block, name), _INT64) for name in ("first_offset", "last_offset", "first_ms", "last_ms")}
    for name, (number, bound) in numbers.items():
        if not -bound <= number < bound:
            raise SinkRejected(f"{whose}: {name} does not fit its column")
    _check_text(whose, "head", encode_head(head), COLUMN_BYTES)


def block_columns(blocks: Sequence[Block]) -> tuple[ColumnValues, ...]:
    """Return the columns of `fields.blocks_layout`."""
    heads = [block.head for block in blocks]
    topics, epochs, partitions = zip(*(block.id.place for block in blocks), strict=True)
    return (
        [str(block.id) for block in blocks],
        topics,
        epochs,
        partitions,
        *zip(*(block[1:6] for block in blocks), strict=True),
        [encode_head(head) for head in heads],
        [head.templates.tolist() for head in heads],
        [block.words.tolist() for block in blocks],
        [head.services for head in heads],
        [head.levels for head in heads],
        [base64_text(block.places) for block in blocks],
        [base64_text(block.texts) for block in blocks],
        [base64_text(block.fields) for block in blocks],
        np.zeros((len(blocks), PAD_DIM), np.float32),
    )


def template_batches(rows: Sequence[TemplateRow], layout: CollectionLayout) -> Iterator[tuple[ColumnValues, ...]]:
    """Yield the columns of `layout` in bounded batches, each id once.

    Raises, before the first batch, ValueError for a vector that is not float32[dim] and finite, SinkRejected for a text that does not fit.
    """
    last = list({row.template: row for row in rows}.values())
    dim = layout.vector.limit
    for row in last:
        check_vector(row.vector, dim, f"template {row.template}")
    for row in last:
        _check_text(f"template {row.template!r}", "id", row.template, TEMPLATE_BYTES)
        _check_text(f"template {row.template!r}", "text", row.text, TEMPLATE_TEXT_BYTES)
    for part in parts_within(last, [len(row.text.encode()) + 4 * dim + _ROW_BYTES for row in last], _TEMPLATES_BYTES):
        yield [row.template for row in part], [row.text for row in part], np.stack([row.vector for row in part])


def size_bytes(columns: Sequence[ColumnValues]) -> int:
    """Return about how much memory columns of texts and vectors take."""
    return sum(
        column.nbytes if isinstance(column, np.ndarray) else sum(len(one) for one in column if isinstance(one, str)) for column in columns
    )


def check_vector(vector: NDArray[np.float32], dim: int, whose: str) -> None:
    """Raise ValueError unless `vector` is [dim] and finite: Milvus Lite takes NaN without a word."""
    if vector.shape != (dim,):
        raise ValueError(f"the vector of {whose} has shape {vector.shape}, expected ({dim},)")
    if not np.isfinite(vector).all():
        raise ValueError(f"the vector of {whose} is not finite")


def write_in_parts(write: Write, layout: CollectionLayout, columns: Sequence[ColumnValues], *, splits: bool = True) -> None:
    """Store one batch; `splits` halves it for as long as it is too large. Raises MilvusFault, also for rows that were not counted."""
    parts = [columns]
    while parts:
        part = parts.pop()
        rows = len(part[0])
        try:
            counted = write(layout, part)
        except MilvusFault as fault:
            if not splits or rows == 1 or not fault.may_be_size:
                raise
            middle = rows // 2
            parts += [[column[middle:] for column in part], [column[:middle] for column in part]]
            continue
        if counted != rows:
            raise MilvusFault("write", -1, f"{counted} of {rows} rows of {layout.name} were acknowledged")


def parts_within(rows: Sequence[_Row], sizes: Sequence[int], most_bytes: int) -> Iterator[list[_Row]]:
    """Cut rows into batches; one that is larger than a batch is one of its own."""
    part: list[_Row] = []
    part_bytes = 0
    for row, size_bytes in zip(rows, sizes, strict=True):
        if part and part_bytes + size_bytes > most_bytes:
            yield part
            part, part_bytes = [], 0
        part.append(row)
        part_bytes += size_bytes
    if part:
        yield part


def _check_number_of(whose: str, name: str, number: int, most: int) -> None:
    """Refuse too long an array: servers before 2.4 take more than the capacity that they were told."""
    if number > most:
        raise SinkRejected(f"{whose}: it has {number} {name}, its column takes {most}")


def _check_text(whose: str, name: str, text: str, most_bytes: int) -> None:
    """Raise SinkRejected unless the column takes this text; its length counts in bytes, as on a server (Milvus Lite counts characters)."""
    try:
        size_bytes = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise SinkRejected(f"{whose}: {name} is not Unicode (a lone surrogate)") from None
    _check_size(whose, name, size_bytes, most_bytes)


def _check_size(whose: str, name: str, size_bytes: int, most_bytes: int) -> None:
    if size_bytes > most_bytes:
        raise SinkRejected(f"{whose}: {name} has {size_bytes} bytes, its column takes {most_bytes}")
