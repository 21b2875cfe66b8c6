"""Blocks on a Milvus server: one collection, filtered there by ranges and arrays.

Called by the sink. Failures are `MilvusFault`; the sink says what they mean. A server returns at most 16,384 rows to one query and no more
than about 100 MB: what is more is read in pages, in the order of ids.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sinks.block import Block, BlockColumns, BlockId, parse_block_id
from sinks.codec import BlockDamaged, decode_head
from sinks.heads import NO_HEADS, HeadRow, join_heads
from sinks.milvus.base64_texts import frame_of_base64
from sinks.milvus.expressions import MOST_ROWS, after, any_of_each, block_expression, unseen_expressions
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import CollectionLayout, Row
from sinks.milvus.milvus_client import MilvusConnection
from sinks.milvus.writing import block_columns, write_in_parts
from sinks.sink import BlockFilter, ColumnName, FoundBlocks, SeenRun

_HEADS_AT_ONCE = 4_096
"""Of a page, which begins with the first id above the last page's."""
_TEXTS_AT_ONCE = 250
_PLACES_AT_ONCE = 1_000
_DELETES_AT_ONCE = 1_000
_Read = TypeVar("_Read")


class ServerBlocks:
    """The blocks of one collection.

    Thread: any.
    """

    def __init__(self, client: MilvusConnection, layout: CollectionLayout, say: Callable[[str], None] = lambda _line: None) -> None:
        """`say` takes one line, once, when rows cannot be read."""
        self._client = client
        self._layout = layout
        self._say = say
        self._has_said = False

    def write(self, blocks: Sequence[Block], *, again: bool) -> None:
        """Store all blocks; `again`: some may be there (an insert looks for no row of the same id)."""
        write_in_parts(self._client.upsert if again else self._client.insert, self._layout, block_columns(blocks))

    def delete(self, ids: Collection[BlockId]) -> None:
        """Remove these blocks; one that is not there is no error."""
        for expression in any_of_each("id", map(str, ids), _DELETES_AT_ONCE):
            self._client.delete(self._layout.name, expression)

    def find(self, only: BlockFilter, limit: int | None, consistency: str | None) -> FoundBlocks:
        """Return the blocks that pass a filter; with a limit, any of them. `consistency`: None for the client's own."""
        expression = block_expression(only)
        if expression is None:
            return FoundBlocks(NO_HEADS, is_all=True)
        rows = self._rows(expression, None if limit is None else limit + 1, consistency)
        heads = [head for row in rows[:limit] if (head := _head(row)) is not None]
        if len(heads) < len(rows[:limit]) and not self._has_said:
            self._has_said = True
            self._say(f"Milvus collection {self._layout.name!r} has rows that are not blocks or cannot be read; they are left out")
        return FoundBlocks(join_heads(heads), limit is None or len(rows) <= limit)

    def unseen(self, seen: Collection[SeenRun], consistency: str | None) -> list[BlockId]:
        """Return the blocks that begin behind what was seen of their run; only ids are read."""
        rows = [row for expression in unseen_expressions(seen) for row in self._rows(expression, None, consistency, ["id"])]
        return [one for row in rows if (one := _id(row)) is not None]

    def columns(self, ids: Collection[BlockId], columns: Collection[ColumnName], consistency: str | None) -> dict[BlockId, BlockColumns]:
        """Return these columns of those of `ids` that are stored."""
        at_once = _PLACES_AT_ONCE if set(columns) <= {"places"} else _TEXTS_AT_ONCE
        empty = BlockColumns(b"", b"", b"")

        def read(row: Row) -> BlockColumns:
            return empty._replace(**{name: frame_of_base64(row[name]) for name in columns})

        return self._by_id(ids, columns, at_once, consistency, read)

    def words(self, ids: Collection[BlockId]) -> dict[BlockId, NDArray[np.int32]]:
        """Return the words of those of `ids` that are stored (Strong)."""
        return self._by_id(ids, ["words"], _PLACES_AT_ONCE, "Strong", lambda row: np.array(row["words"], np.int32))

    def count(self) -> int:
        """Return how many blocks are stored (Strong)."""
        return self._client.count(self._layout.name)

    def _rows(self, expression: str, most: int | None, consistency: str | None, columns: Sequence[str] = HeadRow._fields) -> list[Row]:
        """Return the rows that match, or `most` of them."""
        at_once = MOST_ROWS if most is None else min(most, MOST_ROWS)
        try:
            rows = self._client.query(self._layout.name, expression, columns, limit=at_once, consistency=consistency)
        except MilvusFault as fault:
            if not fault.may_be_size:
                raise
        else:
            if len(rows) < at_once or at_once == most:
                return rows
        found: list[Row] = []
        for page in self._pages(expression, consistency, columns):
            found += page
            if most is not None and len(found) >= most:
                return found[:most]
        return found

    def _pages(self, expression: str, consistency: str | None, columns: Sequence[str]) -> Iterator[list[Row]]:
        """Yield all rows that match, in the order of their ids."""
        last, limit = "", MOST_ROWS if list(columns) == ["id"] else _HEADS_AT_ONCE
        while True:
            try:
                asked = after("id", last, f"({expression})" if expression else "")
                page = self._client.query_lowest(self._layout.name, asked, columns, limit=limit, consistency=consistency)
            except MilvusFault as fault:
                if limit == 1 or not fault.may_be_size:
                    raise
                limit //= 2
                continue
            if not page:
                return
            yield page
            last = max(row["id"] for row in page)

    def _by_id(
        self,
        ids: Collection[BlockId],
        columns: Collection[str],
        at_once: int,
        consistency: str | None,
        read: Callable[[Row], _Read],
    ) -> dict[BlockId, _Read]:
        wanted = {str(one): one for one in ids}
        found: dict[BlockId, _Read] = {}
        parts = [list(wanted)[start : start + at_once] for start in range(0, len(wanted), at_once)]
        while parts:
            part = parts.pop()
            for expression in any_of_each("id", part, at_once):
                try:
                    rows = self._client.query(self._layout.name, expression, ["id", *columns], consistency=consistency)
                except MilvusFault as fault:
                    if len(part) == 1 or not fault.may_be_size:
                        raise
                    parts += [part[: len(part) // 2], part[len(part) // 2 :]]
                else:
                    found |= {wanted[row["id"]]: read(row) for row in rows}
        return found


def _id(row: Row) -> BlockId | None:
    """Read a row's id; None for one that is no block of ours."""
    try:
        return parse_block_id(row["id"])
    except ValueError:
        return None


def _head(row: Row) -> HeadRow | None:
    """Read a row; None for one that is no block of ours."""
    try:
        id_, head = parse_block_id(row["id"]), decode_head(row["head"])
    except (ValueError, BlockDamaged):
        return None
    return HeadRow(id_, row["first_offset"], row["last_offset"], row["first_ms"], row["last_ms"], row["lines"], head)
