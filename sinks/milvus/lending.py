"""The connection, lent out call by call: whose turn it is, what a failure means, and when a local folder's memory is written out.

Used by the sink's door and, through it, by its reader. For a local folder: one write at a time, and the first failed write is the last
(a folder that goes on after one loses rows that it has acknowledged). Reads never wait for a write; a flush keeps them out for its time.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from sinks.milvus.client import Client
from sinks.milvus.faults import MilvusFault, refusal
from sinks.milvus.fields import Layout
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.packing import ColumnValues
from sinks.milvus.turns import Turns
from sinks.milvus.writing import upsert_in_parts
from sinks.sink import SinkBroken, SinkBusy

_MEMORY_ROWS = 32_000
"""A local folder writes rows from memory out to a segment when it has so many: 55 µs a row, in which nothing else happens."""


class Lending:
    """A connection or none; once broken, every call raises SinkBroken.

    Thread: any.
    """

    def __init__(self) -> None:
        self.broken = ""
        """Not empty: why nothing more may be written or read."""
        self.local: LocalMilvus | None = None
        self._client: Client | None = None
        self._turns = Turns(local=False)
        self._memory_rows: dict[str, int] = {}
        self._wished_rows: dict[str, int] = {}

    def open(self, local: LocalMilvus | None, connect: Callable[[], Client]) -> Client:
        """Hold a local folder, or none, and a connection. Raises what `connect` does; then `close` lets go of the folder."""
        self.local, self._turns = local, Turns(local=local is not None)
        self._memory_rows, self._wished_rows = {}, {}
        self._client = connect()
        return self._client

    def check(self) -> Client:
        """Raise SinkBroken or SinkBusy unless there is a connection to use."""
        if self.broken:
            raise SinkBroken(self.broken)
        if self._client is None:
            raise SinkBusy("the Milvus sink is not open")
        return self._client

    @contextmanager
    def calls(self, *, write: bool = False) -> Iterator[Client]:
        """Lend the client out, and turn what goes wrong into the protocol's exceptions."""
        with self._turns.write() if write else self._turns.read(), self._refusals(write=write):
            yield self.check()

    def upsert(self, layout: Layout, batches: Iterable[tuple[ColumnValues, ...]]) -> None:
        """Store batch by batch, and write memory out when it is large, or larger than a reader wished."""
        for columns in batches:
            with self.calls(write=True) as client:
                upsert_in_parts(client, layout, columns, splits=self.local is None)
                if self.local is None:
                    continue
                self._memory_rows[layout.name] = self._memory_rows.get(layout.name, 0) + len(columns[0])
                if self._memory_rows[layout.name] > self._wished_rows.pop(layout.name, _MEMORY_ROWS):
                    self._write_out(client, layout)

    def lighten(self, layout: Layout, most_rows: int) -> None:
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
        """Release the connection and the folder; a folder that a write broke keeps its lock until the process ends."""
        with self._turns.write(), self._turns.flush():
            client, self._client = self._client, None
            local, self.local = self.local, None
            if client is not None:
                client.close()
            if local is not None and self.broken:
                local.abandon()
            elif local is not None:
                local.close()

    def _write_out(self, client: Client, layout: Layout) -> None:
        with self._turns.flush():
            self._memory_rows[layout.name] = 0
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
