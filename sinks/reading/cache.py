"""Decoded columns of blocks, and what their texts do not hold, kept in memory: a block never changes, so what was seen once stays right."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sinks.block import BlockId, CodedColumn, Column, Lines
from sinks.sink import ColumnName

_OBJECT_BYTES = 120
"""About what an entry takes beside its content."""
_TEXT_BYTES = 57
"""What a text takes beside its characters, its place in a tuple included."""
_ABSENT_BYTES = 400
"""About what it takes to know that a block lacks a literal, the block's id included."""


class _Without(NamedTuple):
    """Stands for a literal that no text of a block holds, where a column has its name."""

    literal: str


class BlockCache:
    """At most `most_bytes` of decoded columns and absent literals, those that were used last.

    Thread: any; one lock.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._columns: OrderedDict[tuple[BlockId, ColumnName | _Without], tuple[Lines | Column, int]] = OrderedDict()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """How many bytes it holds, about."""
        with self._lock:
            return self._bytes

    def get(self, block: BlockId, names: Sequence[ColumnName]) -> list[Lines | Column] | None:
        """Return these columns of a block, `places` as lines without texts and fields; None unless all of them are here."""
        with self._lock:
            found = [self._columns.get((block, name)) for name in names]
            columns = [one[0] for one in found if one is not None]
            if len(columns) < len(names):
                return None
            for name in names:
                self._columns.move_to_end((block, name))
            return columns

    def put(self, block: BlockId, name: ColumnName, column: Lines | Column) -> None:
        """Keep a column, and drop what was not used for the longest time if there is no room."""
        self._put((block, name), column, _OBJECT_BYTES + (_lines_bytes(column) if isinstance(column, Lines) else int(column.nbytes)))

    def lacks(self, block: BlockId, literals: Iterable[str]) -> bool:
        """Whether one of these literals is known to be in no text of a block."""
        with self._lock:
            for literal in literals:
                key = (block, _Without(literal))
                if key in self._columns:
                    self._columns.move_to_end(key)
                    return True
        return False

    def put_absent(self, block: BlockId, literals: Iterable[str]) -> None:
        """Keep that no text of a block holds any of these literals."""
        for literal in literals:
            self._put((block, _Without(literal)), None, _ABSENT_BYTES)

    def _put(self, key: tuple[BlockId, ColumnName | _Without], column: Lines | Column, size_bytes: int) -> None:
        if size_bytes > self._most_bytes:
            return
        with self._lock:
            _, before = self._columns.pop(key, (None, 0))
            self._columns[key] = column, size_bytes
            self._bytes += size_bytes - before
            while self._bytes > self._most_bytes:
                _, (_, dropped_bytes) = self._columns.popitem(last=False)
                self._bytes -= dropped_bytes


def _lines_bytes(lines: Lines) -> int:
    coded = [column for column in lines if isinstance(column, CodedColumn)]
    numbers = [column for column in lines if isinstance(column, np.ndarray)] + [column.codes for column in coded]
    texts = sum(_TEXT_BYTES * len(column.values) + len("".join(column.values)) for column in coded)
    once = {id(column): column for column in numbers}.values()
    return texts + sum(column.nbytes for column in once if column.strides != (0,))  # one value for all takes no memory
