"""The door of the Milvus sink: two collections on a server, or in a local folder.

Made by the worker from its settings, called by the store and answer stages. Promises what `sinks.sink.Sink` promises; and for
a local folder, that one thread writes at a time and that the first failed write is the last (a local folder that goes on
after one loses rows that it has acknowledged).
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.access import connect
from sinks.milvus.backend import backend, choose, has_bm25
from sinks.milvus.client import Client
from sinks.milvus.collections import check_name, ensure
from sinks.milvus.faults import MilvusFault, refusal
from sinks.milvus.fields import Layout, Space, lines_layout, templates_layout
from sinks.milvus.lite import LocalMilvus, check_folder, local_folder, names_server
from sinks.milvus.packing import ColumnValues
from sinks.milvus.reading import Reader
from sinks.milvus.retention import lifetimes, told
from sinks.milvus.searching import any_of_each
from sinks.milvus.settings import MilvusSettings
from sinks.milvus.storing import upsert_in_parts
from sinks.milvus.turns import Turns
from sinks.milvus.writing import check_vector, line_batches, template_batches
from sinks.row import LineRow, TemplateRow
from sinks.sink import LineFilter, SinkBroken, SinkBusy, SinkCounts, SinkMismatch, StoredLines, TemplateCounts, TemplateHit

__all__ = ["MilvusSettings", "MilvusSink"]

_DELETES_AT_ONCE = 1_000
_MEMORY_ROWS = 32_000
"""A local folder writes rows from memory out to a segment when it has so many: 55 µs a row, in which nothing else happens."""
_MEMORY_ROWS_READ = 4_000
_MEMORY_TEMPLATES_READ = 1_000
"""A local search visits rows in memory in Python (7 µs a line, 75 µs a template) and those in segments at C speed: with more than
so many in memory, they are written out first."""


class MilvusSink:
    """A `Sink` on Milvus; once a local write has failed, every call but `close` raises SinkBroken.

    Thread: any; writes to a local folder take turns behind one lock.
    """

    def __init__(self, settings: MilvusSettings, *, say: Callable[[str], None] = lambda _line: None) -> None:
        """`say` takes one line about what `open` changes in collections that are there."""
        self._settings = settings
        self._say = say
        self._lines = lines_layout(settings.collection)
        self._templates = templates_layout(settings.collection, settings.dim)
        self._local: LocalMilvus | None = None
        self._client: Client | None = None
        self._turns = Turns(local=False)
        self._memory_rows = {self._lines.name: 0, self._templates.name: 0}
        self._broken = ""
        self._latest_ms = int(time.time() * 1_000)  # a guess, until lines say better
        self._retention_s = (settings.retention_s or None) if names_server(settings.uri) else None
        self._ids: tuple[int, ...] = ()
        self._reader = Reader(self._lines, self._templates, timeout_s=settings.timeout_s, calls=self._calls)

    @property
    def retention_s(self) -> float | None:
        """After how many seconds a line goes, as the server says since the last write; None: never, and always so in a local folder."""
        return self._retention_s

    @property
    def has_bm25(self) -> bool:
        """Whether lines can be searched by their words; known when it is open."""
        return bool(self._lines.vector.computed_from)

    @property
    def repaired_files(self) -> int:
        """How many index files of a local folder `open` removed, to be built again."""
        return 0 if self._local is None else self._local.repaired

    def open(self, *, create: bool = True) -> None:
        """Connect, then create or check both collections and load them; without `create`, nothing is created, indexed or altered.

        Raises SinkMismatch (one line) or SinkBusy, and leaves nothing open; after SinkBusy, `open` may be called again.
        """
        if self._broken:
            raise SinkBroken(self._broken)
        self.close()
        check_name(self._settings.collection)
        folder = local_folder(self._settings.uri)
        if folder is not None and not create:
            check_folder(folder)
        try:
            self._local = None if folder is None else LocalMilvus(folder)
            self._turns = Turns(local=folder is not None)
            self._client = connect(self._settings, self._local)
            self._ensure(self._client, create=create)
        except MilvusFault as fault:
            self.close()
            if folder is not None:
                raise SinkMismatch(f"Milvus folder {folder} cannot be used: {fault}") from None
            raise refusal(fault, local_write=False) from None
        except SinkMismatch:
            self.close()
            raise

    def upsert_templates(self, rows: Sequence[TemplateRow]) -> None:
        """Store all rows, or raise: ValueError for a vector of another dimension or not finite, else the protocol's exceptions."""
        self._upsert(self._templates, template_batches(rows, self._templates))

    def upsert_lines(self, rows: Sequence[LineRow]) -> None:
        """Store all rows, or raise; templates go first."""
        self._upsert(self._lines, line_batches(rows, self._lines))
        self._check_not_replaced()
        self._latest_ms = max((row.time for row in rows), default=self._latest_ms)

    def template_vectors(self, digests: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors, float32[dim] and finite, of those of `digests` that are stored; asked for in bounded pieces."""
        return self._reader.vectors(digests)

    def template_texts(self, digests: Collection[str]) -> dict[str, str]:
        """Return the texts of those of `digests` that are stored; asked for in bounded pieces."""
        return self._reader.texts(digests)

    def nearest_templates(self, vector: NDArray[np.float32], limit: int) -> list[TemplateHit]:
        """Return at most `limit` (and 16,384) templates, nearest first; ValueError for a vector that is not finite float32[dim]."""
        check_vector(vector, self._settings.dim, "the query")
        if limit < 1:
            return []
        self._clear_memory(self._templates, _MEMORY_TEMPLATES_READ)
        return self._reader.nearest(vector, limit)

    def newest_lines(self, template: str, limit: int, only: LineFilter) -> list[LineRow]:
        """Return the newest lines by (time, topic, partition, offset, sub, chunk), newest first; the whole call has one time-out.

        Beyond 16,384 lines of one template in one millisecond, which of those are newest is not looked for.
        """
        self._clear_memory(self._lines, _MEMORY_ROWS_READ)
        return self._reader.newest_lines(template, limit, only, self._latest_ms)

    def count_templates(
        self, only: LineFilter, *, templates: Collection[str] | None, most_rows: int, out_of_time: Callable[[], bool]
    ) -> TemplateCounts:
        """Count the lines that pass the filter by template, the newest `most_rows` at most.

        A server takes about 5 µs a line, a local folder 80 µs in which nothing else happens: bound it. Of one millisecond with
        more than 16,384 lines only so many are counted, and the answer is not complete.
        """
        self._clear_memory(self._lines, _MEMORY_ROWS_READ)
        return self._reader.count_templates(templates, only, self._latest_ms, most_rows=most_rows, out_of_time=out_of_time)

    def counts(self) -> SinkCounts:
        """Count the rows of both collections, exactly."""
        with self._calls() as client:
            return SinkCounts(lines=client.count(self._lines.name), templates=client.count(self._templates.name))

    def lines_between(self, topic: str, partition: int, first_offset: int, end_offset: int) -> StoredLines:
        """Return every line of a range of offsets, read in bounded pages."""
        self._clear_memory(self._lines, _MEMORY_ROWS_READ)
        return self._reader.lines_between(topic, partition, first_offset, end_offset, local=self._local is not None)

    def stored_templates(self, digests: Collection[str]) -> set[str]:
        """Return those of `digests` whose template row is stored; asked for in bounded pieces."""
        return self._reader.stored(digests)

    def delete_lines(self, ids: Collection[str]) -> None:
        """Remove lines by their ids, in bounded pieces."""
        for expression in any_of_each("id", ids, _DELETES_AT_ONCE):
            with self._calls(write=True) as client:
                client.delete(self._lines.name, expression)

    def close(self) -> None:
        """Release the connection and the folder; a folder that a write broke keeps its lock until the process ends."""
        with self._turns.write(), self._turns.flush():
            client, self._client = self._client, None
            local, self._local = self._local, None
            if client is not None:
                client.close()
            if local is not None and self._broken:
                local.abandon()
            elif local is not None:
                local.close()

    def _ensure(self, client: Client, *, create: bool) -> None:
        settings = self._settings
        capable = backend(client.version(), local=self._local is not None)
        choice = choose(settings, capable)
        bm25 = has_bm25(settings, capable, client.describe(settings.collection))
        lines = lines_layout(settings.collection, bm25=bm25, partition_key=settings.partition_key)
        templates = templates_layout(settings.collection, settings.dim, **choice._asdict(), any_index=settings.index == "auto")
        space = Space(settings.space, settings.space_parts)
        before = [client.describe(layout.name) for layout in (templates, lines)]
        ttls_s = [0 if one is None else one.ttl_s for one in before]
        retention_s = settings.retention_s if self._local is None else None
        wanted = lifetimes(retention_s, templates_ttl_s=ttls_s[0], lines_ttl_s=ttls_s[1])
        found = [
            ensure(client, layout, space, capable, ttl_s, create=create) for layout, ttl_s in zip((templates, lines), wanted, strict=True)
        ]
        for one, ttl_s, now in zip(before, ttls_s, found, strict=True):
            if one is not None and now.ttl_s != ttl_s:
                self._say(f"Milvus keeps the rows of {now.name} {told(now.ttl_s)} from now on; it was {told(ttl_s)}")
        self._lines, self._templates = lines, templates
        self._reader.use(lines, templates, found[0].index_type)
        self._ids = tuple(one.id for one in found)
        self._retention_s = found[-1].ttl_s or None

    def _check_not_replaced(self) -> None:
        """Refuse to go on with collections that are not those of `open`: what was stored in those is gone. Note how long lines live."""
        if self._local is not None:
            return
        for layout, there in zip((self._templates, self._lines), self._ids, strict=True):
            with self._calls() as client:
                now = client.described(layout.name)
                if now.id != there:
                    self._broken = f"Milvus collection {layout.name!r} was replaced while running; start again to fill the new one"
                    raise SinkBroken(self._broken)
            self._retention_s = now.ttl_s or None  # of the lines, which come last

    @contextmanager
    def _calls(self, *, write: bool = False) -> Iterator[Client]:
        """Lend the client out, and turn what goes wrong into the protocol's exceptions."""
        with self._turns.write() if write else self._turns.read():
            if self._broken:
                raise SinkBroken(self._broken)
            if self._client is None:
                raise SinkBusy("the Milvus sink is not open")
            try:
                yield self._client
            except MilvusFault as fault:
                refused = refusal(fault, local_write=write and self._local is not None)
                if isinstance(refused, SinkBroken):
                    self._broken = str(refused)
                raise refused from None

    def _upsert(self, layout: Layout, batches: Iterable[tuple[ColumnValues, ...]]) -> None:
        for columns in batches:
            rows = len(columns[0])
            with self._calls(write=True) as client:
                upsert_in_parts(client, layout, columns, splits=self._local is None)
            self._memory_rows[layout.name] += rows
            self._clear_memory(layout, _MEMORY_ROWS)

    def _clear_memory(self, layout: Layout, most_rows: int) -> None:
        """Write a local folder's memory out to a segment when it holds more than `most_rows` rows."""
        if self._local is None or self._memory_rows[layout.name] <= most_rows:
            return
        with self._calls(write=True) as client, self._turns.flush():
            if self._memory_rows[layout.name] > most_rows:
                self._memory_rows[layout.name] = 0
                client.flush(layout.name)
