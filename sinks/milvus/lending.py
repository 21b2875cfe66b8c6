"""The connection, lent out call by call: whose turn it is, what a failure means, and when a local folder's memory is written out.

Used by the sink's door and, through it, by its reader. For a local folder: one write at a time, and the first failed write is the last
(a folder that goes on after one loses rows that it has acknowledged). Reads never wait for a write; a flush keeps them out for its time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from sinks.milvus.faults import MilvusFault, refusal
from sinks.milvus.fields import CollectionLayout
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.milvus_client import MilvusConnection
from sinks.milvus.packing import ColumnValues
from sinks.milvus.turns import Turns
from sinks.milvus.writing import size_bytes, write_in_parts
from sinks.sink import SinkBroken, SinkBusy

_MEMORY_BYTES = 6_000_000
"""So many bytes of rows in memory are written out to a segment. Beyond 16 MB a local folder would do it in the middle of an insert, and
meanwhile readers would find none of them."""


class Lending:
    """A connection or none; once broken, every call raises SinkBroken.

    Thread: any.
    """

    def __init__(self) -> None:
        self.broken = ""
        """Not empty: why nothing more may be written or read."""
        self.local: LocalMilvus | None = None
        self._client: MilvusConnection | None = None
        self._turns = Turns(local=False)
        self._memory_rows: dict[str, int] = {}
        self._memory_bytes: dict[str, int] = {}
        self._wished_rows: dict[str, int] = {}

    def open(self, local: LocalMilvus | None, connect: Callable[[], MilvusConnection]) -> MilvusConnection:
        """Hold a local folder, or none, and a connection. Raises what `connect` does; then `close` lets go of the folder."""
        self.local, self._turns = local, Turns(local=local is not None)
        self._memory_rows, self._memory_bytes, self._wished_rows = {}, {}, {}
        self._client = connect()
        return self._client

    def check(self) -> MilvusConnection:
        """Raise SinkBroken or SinkBusy unless there is a connection to use."""
        if self.local is not None and self.local.has_ended and not self.broken:
            self.broken = "the process that serves the Milvus folder has ended; nothing more is written to this folder until a new start"
        if self.broken:
            raise SinkBroken(self.broken)
        if self._client is None:
            raise SinkBusy("the Milvus sink is not open")
        return self._client

    @contextmanager
    def calls(self, *, write: bool = False) -> Iterator[MilvusConnection]:
        """Lend the client out, and turn what goes wrong into the protocol's exceptions."""
        with self._turns.write() if write else self._turns.read(), self._refusals(write=write):
            yield self.check()

    @contextmanager
    def call_at_once(self) -> Iterator[MilvusConnection]:
        """Lend the client out for a read that waits for no flush, and may miss rows because of it."""
        with self._refusals(write=False):
            yield self.check()

    def upsert(self, layout: CollectionLayout, batches: Iterable[Sequence[ColumnValues]]) -> None:
        """Store batch by batch, and write memory out when it is large, or larger than a reader wished."""
        for columns in batches:
            with self.calls(write=True) as client:
                write_in_parts(client.upsert, layout, columns, splits=self.local is None)
                if self.local is None:
                    continue
                name = layout.name
                self._memory_rows[name] = self._memory_rows.get(name, 0) + len(columns[0])
                self._memory_bytes[name] = self._memory_bytes.get(name, 0) + size_bytes(columns)
                wished = self._wished_rows.pop(name, None)
                if self._memory_bytes[name] > _MEMORY_BYTES or (wished is not None and self._memory_rows[name] > wished):
                    self._write_out(client, layout)

    def lighten(self, layout: CollectionLayout, most_rows: int) -> None:
        """Write a local folder's memory out before a read if it holds more than `most_rows` rows.

        That only makes reading faster, so a reader does it where no writer is in the way, and else leaves it to them: the one whose turn
        it is does it after its batch.
        """
        if self.local is None or self._memory_rows.get(layout.name, 0) <= most_rows:
            return
        with self._turns.write_if_free() as free, self._refusals(write=True):
            if free and self._memory_rows[layout.name] > most_rows:
                self._write_out(self.check(), layout)
            elif not free:
                self._wished_rows[layout.name] = most_rows

    def close(self) -> None:
        """Release the connection and the folder."""
        with self._turns.write(), self._turns.flush():
            client, self._client = self._client, None
            local, self.local = self.local, None
            if client is not None:
                client.close()
            if local is not None and self.broken:
                local.abandon()
            elif local is not None:
                local.close()

    def _write_out(self, client: MilvusConnection, layout: CollectionLayout) -> None:
        with self._turns.flush():
            self._memory_rows[layout.name] = self._memory_bytes[layout.name] = 0
            client.flush(layout.name)

    @contextmanager
    def _refusals(self, *, write: bool) -> Iterator[None]:
        try:
            yield
        except MilvusFault as fault:
            refused = refusal(fault, write=write, local=self.local is not None)
            if isinstance(refused, SinkBroken):
                self.broken = str(refused)
            raise refused from None
