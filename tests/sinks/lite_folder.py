"""A local folder for tests of its blocks: what is in it, and a client that can be killed in the middle."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sinks.block import BlockId
from sinks.milvus.fields import CollectionLayout, Row
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.lite_blocks import LiteBlocks, columns_layout, heads_layout, words_layout
from sinks.milvus.milvus_client import MilvusAddress, MilvusConnection
from sinks.milvus.packing import ColumnValues
from sinks.sink import BlockFilter

LAYOUTS = (heads_layout("vectail"), words_layout("vectail"), columns_layout("vectail"))


class Killed(Exception):
    """As when the process ends at this place."""


class Faulty(MilvusConnection):
    """Can answer as Milvus Lite does at the moment in which it writes its memory out: some rows are in neither place. And can be killed."""

    short_answers = 0
    writes_left = 1_000_000

    def query(self, collection: str, expression: str, columns: Sequence[str], **options: Any) -> list[Row]:  # noqa: ANN401
        """Leave out a row of the next few answers."""
        rows = super().query(collection, expression, columns, **options)
        self.short_answers -= 1
        return rows[1:] if self.short_answers >= 0 else rows

    def insert(self, layout: CollectionLayout, columns: Sequence[ColumnValues]) -> int:
        self.writes_left -= 1
        if self.writes_left < 0:
            raise Killed
        return super().insert(layout, columns)


class Opened:
    """A local folder, opened again and again; only one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []

    @contextmanager
    def client(self) -> Iterator[Faulty]:
        """Serve the folder for a while."""
        local = LocalMilvus(self.folder)
        client = Faulty(MilvusAddress(local.address, pings=False), timeout_s=30, write_timeout_s=60, consistency="Strong")
        try:
            yield client
        finally:
            client.close()
            local.close()

    @contextmanager
    def blocks(self, *, create: bool = True) -> Iterator[LiteBlocks]:
        """Open the blocks in it for a while."""
        with self.client() as client:
            stored = LiteBlocks(client, "vectail", self.said.append)
            stored.open(create=create)
            yield stored

    def slots(self) -> list[int]:
        """Return how many heads (empty ones included), filters and columns are stored."""
        with self.client() as client:
            return [client.count(layout.name) for layout in LAYOUTS]

    def filled(self) -> list[set[int]]:
        """Return the slots in which anything is stored of a head, of a filter, and of columns."""
        with self.client() as client:
            return [_filled(client, layout) for layout in LAYOUTS]


def _filled(client: MilvusConnection, layout: CollectionLayout) -> set[int]:
    names = [field.name for field in layout.fields if field.kind == "varchar"]
    rows = client.query(layout.name, "slot >= 0", ["slot", *names])
    return {row["slot"] for row in rows if any(row[name] for name in names)}


def found(stored: LiteBlocks, only: BlockFilter = BlockFilter()) -> set[BlockId]:  # noqa: B008 (immutable)
    return set(stored.find(only).heads.ids)
