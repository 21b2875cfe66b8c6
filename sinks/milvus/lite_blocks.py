"""Blocks in a local folder: three collections, and all that finds a block in memory.

Called by the sink, one write at a time; reads come beside it. A block is its head's row in `NAME`, its word filter in `NAME_words` and its
columns in `NAME_columns`: Milvus Lite materialises whole rows, and who reads heads must not pay for texts. Failures are `MilvusFault`; the
sink says what they mean (after a failed write nothing more is written).

The three rows of a block have one key, its *slot*, a small number. They are written in the order words, columns, head, and emptied in
the opposite one: a block is there when the head in its slot bears its id, and texts are in a slot only while its words bear an id. A
killed process leaves slots that have words and no head, and `open` empties what is left there. Rows are overwritten and slots taken
again, nothing is ever deleted from Milvus Lite: it keeps each delete in memory, and copies all of them for every query, until its oldest
file is gone.
"""

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from sinks.arrow import give_memory_back
from sinks.block import Block, BlockColumns, BlockId, parse_block_id
from sinks.codec import BlockDamaged, decode_head, encode_head
from sinks.heads import HeadRow, head_row
from sinks.milvus.base64_texts import base64_text, frame_of_base64
from sinks.milvus.collections import check_collection
from sinks.milvus.fields import COLUMN_BYTES, EPOCH_BYTES, ID_BYTES, PAD_DIM, TOPIC_BYTES, CollectionLayout, Field, Row
from sinks.milvus.index_time import Dates
from sinks.milvus.lite_bloom import FILTER_CHARACTERS, bloom_filter, decode_filter, encode_filter
from sinks.milvus.lite_heads import HeadIndex, IndexedBlock
from sinks.milvus.lite_texts import LONGER_CHARACTERS, frame_of_text, stored_text
from sinks.milvus.milvus_client import MilvusConnection
from sinks.milvus.packing import ColumnValues
from sinks.milvus.writing import parts_within
from sinks.sink import BlockFilter, ColumnName, FoundBlocks, SeenRun, SinkMismatch

CALL_BYTES = 8_000_000
"""About so much goes in one call; larger ones gain nothing and hold up others (measured)."""
_READ_AT_ONCE = 250
_SLOTS_AT_ONCE = 1_000
_MOST_LINES = 60_000_000
"""Then Milvus Lite's compaction fails for ever, at about 2 GB in one column (measured)."""
_MANY_LINES = 50_000_000
_TRIES = 3
"""While Milvus Lite writes its memory out, a row is for a moment in neither place; the next query waits for the end of that."""
_SLOT = Field("slot", "int64", key=True)
_ID = Field("id", "varchar", ID_BYTES)
_PAD = Field("pad", "vector", PAD_DIM, metric="L2")


def heads_layout(collection: str) -> CollectionLayout:
    """Where each block is and what is in it; of an empty slot all is empty."""
    return CollectionLayout(
        collection,
        (
            _SLOT,
            _ID,
            Field("topic", "varchar", TOPIC_BYTES),
            Field("epoch", "varchar", EPOCH_BYTES),
            Field("partition", "int32"),
            Field("first_offset", "int64"),
            Field("last_offset", "int64"),
            Field("first_ms", "int64"),
            Field("last_ms", "int64"),
            Field("lines", "int32"),
            Field("head", "varchar", COLUMN_BYTES),
            _PAD,
        ),
    )


def words_layout(collection: str) -> CollectionLayout:
    """The Bloom filter of each block's words."""
    return CollectionLayout(f"{collection}_words", (_SLOT, _ID, Field("words", "varchar", FILTER_CHARACTERS), _PAD))


def columns_layout(collection: str) -> CollectionLayout:
    """The lines of each block; texts and fields, which are most of it, as `lite_texts` writes them."""
    columns = [Field(name, "varchar", COLUMN_BYTES + LONGER_CHARACTERS) for name in BlockColumns._fields]
    return CollectionLayout(f"{collection}_columns", (_SLOT, _ID, *columns, _PAD))


class LiteBlocks:
    """The blocks of one local folder.

    Thread: any; `open`, `write` and `delete` one at a time.
    """

    def __init__(self, client: MilvusConnection, collection: str, say: Callable[[str], None] = lambda _line: None) -> None:
        """`say` takes one line about what `open` found to be repaired."""
        self._client = client
        self._say = say
        self._heads = heads_layout(collection)
        self._words = words_layout(collection)
        self._columns = columns_layout(collection)
        self._index = HeadIndex()
        self._free: list[int] = []
        """Slots below `_next_slot` that no block has; a heap, so that few slots hold all there ever was at once."""
        self._next_slot = 0

    def open(self, *, create: bool = True, properties: Mapping[str, str] = MappingProxyType({})) -> None:
        """Create what is missing, check what is there, and read what is kept in memory; `properties` are for a new `NAME`.

        Without `create`, nothing is created or emptied. No collection gets an index: nothing is searched by vector here, and one without
        is always loaded. Raises SinkMismatch or MilvusFault.
        """
        with ThreadPoolExecutor(1) as beside:  # Milvus Lite reads a collection's files when it is first described; these are the largest
            columns = beside.submit(self._ensure, self._columns, create=create)
            self._ensure(self._heads, create=create, properties=properties)
            self._ensure(self._words, create=create)
            left = self._read_heads()
            columns.result()
        for at in range(0, len(left) if create else 0, _SLOTS_AT_ONCE):
            self._empty(left[at : at + _SLOTS_AT_ONCE], self._columns, self._words)
        if (lines := self._index.lines()) >= _MANY_LINES:
            self._say(f"Milvus folder: it has {lines:,} lines, and beyond about {_MOST_LINES:,} it fails; go on in another, or on a server")

    def write(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        """Store all blocks, which `writing.check_block` has checked, or raise MilvusFault; one that is there stays as it is."""
        del again  # what is there is known
        stored = self._index.slots([block.id for block in blocks])
        new = {block.id: block for block in blocks if block.id not in stored}
        rows = [(block, encode_head(block.head), bloom_filter(block.words)) for block in new.values()]
        sizes = [block.size_bytes + len(head) + len(bloom) for block, head, bloom in rows]
        for part in parts_within(rows, sizes, CALL_BYTES):
            self._write_part(part)

    def delete(self, ids: Collection[BlockId]) -> None:
        """Remove these blocks and their texts; one that is not there is no error."""
        slots = list(self._index.slots(ids).values())
        self._index.remove(ids)
        for at in range(0, len(slots), _SLOTS_AT_ONCE):
            part = slots[at : at + _SLOTS_AT_ONCE]
            self._empty(part, self._heads, self._columns, self._words)
            for slot in part:
                heapq.heappush(self._free, slot)

    def drop_written_before(self, written_ms: int) -> int:
        """Remove the blocks that were written before a moment; return how many there were."""
        expired = self._index.written_before(written_ms)
        self.delete(expired)
        return len(expired)

    def find(self, only: BlockFilter, limit: int | None = None) -> FoundBlocks:
        """Return the blocks that pass a filter; with a limit, those with the latest `last_ms`. Only words may let too many pass."""
        return self._index.find(only, limit)

    def unseen(self, seen: Collection[SeenRun]) -> list[BlockId]:
        """Return the blocks that begin behind what was seen of their run; reads memory only."""
        return self._index.unseen(seen)

    def columns(self, ids: Collection[BlockId], columns: Collection[ColumnName]) -> dict[BlockId, BlockColumns]:
        """Return these columns of those of `ids` that are stored; asked for in bounded pieces.

        Of a block whose columns are lost, as after a power failure, they are empty, which no decoder takes.
        """
        found: dict[BlockId, BlockColumns] = {}
        for _ in range(_TRIES):
            missing = {slot: one for one, slot in self._index.slots(ids).items() if one not in found}
            if not missing:
                break
            slots = list(missing)
            for at in range(0, len(slots), _READ_AT_ONCE):
                for row in self._client.query(self._columns.name, _any_slot(slots[at : at + _READ_AT_ONCE]), ["slot", "id", *columns]):
                    one = missing[row["slot"]]
                    if row["id"] == str(one):  # else it was deleted meanwhile, and another has its slot
                        texts = (frame_of_text(row.get(name, "")) for name in ("texts", "fields"))
                        found[one] = BlockColumns(frame_of_base64(row.get("places", "")), *texts)
        lost = [one for one in self._index.slots(ids) if one not in found]
        return found | dict.fromkeys(lost, BlockColumns(b"", b"", b""))

    def dates(self) -> Dates | None:
        """Return when the oldest and the newest block were written; None without blocks."""
        return self._index.dates()

    def count(self) -> int:
        """Return how many blocks are stored."""
        return len(self._index)

    def _write_part(self, rows: Sequence[tuple[Block, str, bytes]]) -> None:
        slots = [heapq.heappop(self._free) for _ in range(min(len(self._free), len(rows)))]
        slots += range(self._next_slot, self._next_slot + len(rows) - len(slots))
        self._next_slot = max(self._next_slot, slots[-1] + 1)
        blocks = [block for block, _, _ in rows]
        keys: list[ColumnValues] = [slots, [str(block.id) for block in blocks]]
        pad = np.zeros((len(rows), PAD_DIM), np.float32)
        places = [base64_text(block.places) for block in blocks]
        texts, fields = [stored_text(block.texts) for block in blocks], [stored_text(block.fields) for block in blocks]
        self._client.insert(self._words, [*keys, [encode_filter(bloom) for _, _, bloom in rows], pad])
        self._client.insert(self._columns, [*keys, places, texts, fields, pad])
        where = map(list, zip(*((*block.id.place, *block[1:6]) for block in blocks), strict=True))
        self._client.insert(self._heads, [*keys, *where, [head for _, head, _ in rows], pad])
        self._index.add([IndexedBlock(head_row(block), bloom, slot) for (block, _, bloom), slot in zip(rows, slots, strict=True)])

    def _empty(self, slots: Sequence[int], *layouts: CollectionLayout) -> None:
        """Leave nothing in these rows of one collection after the other."""
        for layout in layouts:
            self._client.insert(layout, [_emptied(field, slots) for field in layout.fields])

    def _ensure(self, layout: CollectionLayout, *, create: bool, properties: Mapping[str, str] = MappingProxyType({})) -> None:
        """Check a collection, or create it. Raises SinkMismatch or MilvusFault."""
        found = self._client.describe(layout.name)
        if found is not None:
            check_collection(layout, found)
        elif create:
            self._client.create(layout, properties)
        else:
            raise SinkMismatch(f"Milvus collection {layout.name!r} does not exist; nothing has been indexed yet")

    def _read_heads(self) -> list[int]:
        """Read all heads and word filters into memory; return the slots that have words and no head."""
        self._index, used, worded = HeadIndex(), set[int](), set[int]()
        first, rows = 0, self._client.count(self._heads.name) + self._client.count(self._words.name)
        with ThreadPoolExecutor(1) as ahead:  # Milvus Lite has a process of its own: it makes a page ready while we take in the last one
            asked = ahead.submit(self._read_page, first) if rows else None
            while asked is not None:
                page = asked.result()
                first, rows = first + _SLOTS_AT_ONCE, rows - len(page.heads) - len(page.words)
                asked = ahead.submit(self._read_page, first) if rows > 0 else None
                used |= self._add_page(page)
                worded |= {row["slot"] for row in page.words if row["id"]}
        give_memory_back()
        self._next_slot = max(used, default=-1) + 1
        self._free = sorted(set(range(self._next_slot)) - used)
        if len(used) > len(self._index):
            unreadable = len(used) - len(self._index)
            self._say(f"Milvus collection {self._heads.name!r}: {unreadable:,} rows are not heads of blocks; their lines are left out")
        return sorted(worded - used)

    def _read_page(self, first: int) -> "_SlotPage":
        """Read heads and filters of some slots. By their list: for a range, Milvus Lite would look at all rows."""
        expression = _any_slot(range(first, first + _SLOTS_AT_ONCE))
        heads = self._client.query(self._heads.name, expression, ["slot", *HeadRow._fields])
        return _SlotPage(heads, self._client.query(self._words.name, expression, ["slot", "id", "words"]))

    def _add_page(self, page: "_SlotPage") -> set[int]:
        """Add what was read to memory; return the slots that are not empty."""
        heads: dict[int, HeadRow] = {}
        for row in page.heads:
            try:
                if row["id"]:
                    columns = {name: row[name] for name in HeadRow._fields}
                    heads[row["slot"]] = HeadRow(**columns | {"id": parse_block_id(row["id"]), "head": decode_head(row["head"])})
            except (BlockDamaged, ValueError):
                continue
        words = {(row["slot"], row["id"]): row["words"] for row in page.words}
        # A filter that is not there, or not its block's, may hold any word.
        filters = [decode_filter(words.get((slot, str(head.id)), "")) for slot, head in heads.items()]
        self._index.add([IndexedBlock(head, bloom, slot) for (slot, head), bloom in zip(heads.items(), filters, strict=True)])
        return {row["slot"] for row in page.heads if row["id"]}


class _SlotPage(NamedTuple):
    """Rows of some slots."""

    heads: Sequence[Row]
    words: Sequence[Row]


def _any_slot(slots: Sequence[int]) -> str:
    return f"slot in {list(slots)}"


def _emptied(field: Field, slots: Sequence[int]) -> ColumnValues:
    """Return the values of one column in rows that are empty."""
    if field.key:
        return slots
    if field.kind == "vector":
        return np.zeros((len(slots), field.limit), np.float32)
    return [""] * len(slots) if field.kind == "varchar" else [0] * len(slots)
