"""The door of the Milvus sink: two collections on a server, or in a local folder.

Made by the worker from its settings, called by the store and answer stages. Promises what `sinks.sink.Sink` promises; and for
a local folder, that one thread writes at a time and that the first failed write is the last (a local folder that goes on
after one loses rows that it has acknowledged).
"""

import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.access import connect
from sinks.milvus.collections import check_name
from sinks.milvus.faults import MilvusFault, refusal
from sinks.milvus.fields import lines_layout, templates_layout
from sinks.milvus.known import NewestKnown
from sinks.milvus.lending import Lending
from sinks.milvus.lite import LocalMilvus, check_folder, local_folder, names_server
from sinks.milvus.opening import ensure_both
from sinks.milvus.ranges import Stretch
from sinks.milvus.reading import Reader
from sinks.milvus.searching import any_of_each
from sinks.milvus.settings import MilvusSettings, VectorSpace
from sinks.milvus.writing import check_vector, line_batches, template_batches
from sinks.row import LineRow, TemplateRow
from sinks.sink import LineFilter, LineHit, SinkBroken, SinkCounts, SinkMismatch, StoredLines, TemplateCounts, TemplateHit, never

__all__ = ["MilvusSettings", "MilvusSink", "VectorSpace"]

_DELETES_AT_ONCE = 1_000
_MEMORY_ROWS_READ = 4_000
_MEMORY_TEMPLATES_READ = 250
"""A local search visits rows in memory in Python (7 µs a line, 75 µs a template) and those in segments at C speed: with more than
so many in memory, they are written out first."""
_MEMORY_ROWS_MATCHED = 1_000
"""A search by words takes 80 µs a line in memory."""
_NEWEST_LASTS_S = 1.0
"""On a server others write too."""


class MilvusSink:
    """A `Sink` on Milvus; once a local write has failed, every call but `close` raises SinkBroken.

    Thread: any; writes to a local folder take turns behind one lock.
    """

    def __init__(
        self,
        settings: MilvusSettings,
        space: VectorSpace,
        *,
        consistency: Literal["Bounded", "Strong"] = "Bounded",
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        """`consistency`: of reads; counts are always Strong. `say` takes one line about what `open` changes in existing collections."""
        self._settings = settings
        self._space = space
        self._consistency = consistency
        self._say = say
        self._lines = lines_layout(settings.collection)
        self._templates = templates_layout(settings.collection, space.dim)
        self._lent = Lending()
        self._latest_ms = int(time.time() * 1_000)  # a guess, until lines say better
        self._retention_s = (settings.retention_s or None) if names_server(settings.uri) else None
        self._ids: tuple[int, ...] = ()
        self._known = NewestKnown(lasts_s=0.0)
        self._reader = Reader(self._lines, self._templates, timeout_s=settings.timeout_s, calls=self._lent.calls)

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
        return 0 if self._lent.local is None else self._lent.local.repaired

    def open(self, *, create: bool = True) -> None:
        """Connect, then create or check both collections and load them; without `create`, nothing is created, indexed or altered.

        Raises SinkMismatch (one line) or SinkBusy, and leaves nothing open; after SinkBusy, `open` may be called again.
        """
        if self._lent.broken:
            raise SinkBroken(self._lent.broken)
        self.close()
        check_name(self._settings.collection)
        folder = local_folder(self._settings.uri)
        if folder is not None and not create:
            check_folder(folder)
        try:
            local = None if folder is None else LocalMilvus(folder)
            client = self._lent.open(local, lambda: connect(self._settings, local, self._consistency))
            opened = ensure_both(client, self._settings, self._space, local=folder is not None, create=create, say=self._say)
        except MilvusFault as fault:
            self.close()
            if folder is not None:
                raise SinkMismatch(f"Milvus folder {folder} cannot be used: {fault}") from None
            raise refusal(fault, write=False, local=False) from None
        except SinkMismatch:
            self.close()
            raise
        self._lines, self._templates, self._ids, self._retention_s = opened.lines, opened.templates, opened.ids, opened.retention_s
        self._reader.use(opened.lines, opened.templates, opened.index_type)
        is_local = folder is not None
        self._known = NewestKnown(lasts_s=math.inf if is_local else _NEWEST_LASTS_S, is_whole=is_local and opened.is_new)

    def upsert_templates(self, rows: Sequence[TemplateRow]) -> None:
        """Store all rows, or raise: ValueError for a vector of another dimension or not finite, else the protocol's exceptions."""
        self._lent.upsert(self._templates, template_batches(rows, self._templates))

    def upsert_lines(self, rows: Sequence[LineRow]) -> None:
        """Store all rows, or raise; templates go first."""
        with self._known.storing(rows):
            self._lent.upsert(self._lines, line_batches(rows, self._lines))
        self._check_not_replaced()
        self._latest_ms = max((row.time for row in rows), default=self._latest_ms)

    def template_vectors(self, digests: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors, float32[dim] and finite, of those of `digests` that are stored; asked for in bounded pieces."""
        return self._reader.vectors(digests)

    def template_texts(self, digests: Collection[str]) -> dict[str, str]:
        """Return the texts of those of `digests` that are stored; asked for in bounded pieces."""
        return self._reader.texts(digests)

    def nearest_templates(self, vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        """Return for each at most `limit` (and 16,384) templates, nearest first; ValueError for vectors not finite float32[n, dim]."""
        for vector in vectors:
            check_vector(vector, self._space.dim, "the query")
        if limit < 1:
            return [[] for _ in vectors]
        self._lent.lighten(self._templates, _MEMORY_TEMPLATES_READ)
        return self._reader.nearest(vectors, limit)

    def newest_lines(self, templates: Collection[str], limit: int, only: LineFilter) -> dict[str, list[LineRow]]:
        """Return the newest lines by (time, topic, partition, offset, sub, chunk), newest first; the whole call has one time-out.

        Beyond 16,384 lines of one template in one millisecond, which of those are newest is not looked for.
        """
        self._lent.check()
        now_s, wanted = time.monotonic(), list(dict.fromkeys(templates))
        known, rest = self._known.answer(wanted, only, now_s) if limit == 1 else ({}, wanted)
        found = {one: [line] for one, line in known.items()}
        if rest:
            self._lent.lighten(self._lines, _MEMORY_ROWS_READ)
            likely = self._known.times(rest) if limit == 1 and only == LineFilter(since_ms=only.since_ms) else {}
            with self._known.reading(rest, now_s) as reading:
                read = self._reader.newest_lines(rest, limit, only, self._latest_ms, likely)
                if only == LineFilter():
                    self._known.remember(reading, {one: lines[0] for one, lines in read.items()})
            found |= read
        return {one: found[one] for one in wanted if one in found}

    def matching_lines(self, text: str, limit: int, only: LineFilter) -> list[LineHit]:
        """Return at most `limit` (and 16,384) lines by their words, best first, of equally good ones the newest first.

        Where more than `limit` are equally good, which of them come is Milvus's choice; a local folder scores each of its segments
        by how rare a word is in that one. Raises ValueError when lines have no column for it.
        """
        if not self.has_bm25:
            raise ValueError("milvus.bm25 is off: lines of this index cannot be searched by their words")
        if limit < 1:
            return []
        self._lent.lighten(self._lines, _MEMORY_ROWS_MATCHED)
        return self._reader.matching(text, limit, only)

    def count_templates(
        self, only: LineFilter, *, templates: Collection[str] | None, most_rows: int, deadline_passed: Callable[[], bool]
    ) -> TemplateCounts:
        """Count the lines that pass the filter by template, the newest `most_rows` at most.

        A server takes about 5 µs a line, a local folder 80 µs in which nothing else happens: bound it. Of one millisecond with
        more than 16,384 lines only so many are counted, and the answer is not complete.
        """
        self._lent.lighten(self._lines, _MEMORY_ROWS_READ)
        return self._reader.count_templates(templates, only, self._latest_ms, most_rows=most_rows, deadline_passed=deadline_passed)

    def ping(self) -> None:
        """Return when lines can be read; a local folder can be while it is open."""
        if self._lent.local is not None:
            self._lent.check()
            return
        with self._lent.calls() as client:
            client.query(self._lines.name, 'id == ""', ["id"], limit=1)

    def counts(self) -> SinkCounts:
        """Count the rows of both collections, exactly."""
        with self._lent.calls() as client:
            return SinkCounts(lines=client.count(self._lines.name), templates=client.count(self._templates.name))

    def lines_between(
        self,
        topic: str,
        partition: int,
        first_offset: int,
        end_offset: int,
        *,
        most_rows: int | None = None,
        deadline_passed: Callable[[], bool] = never,
    ) -> StoredLines:
        """Return every line of a range of offsets, read in bounded pages; or any `most_rows` of them, or those read in time."""
        self._lent.lighten(self._lines, _MEMORY_ROWS_READ)
        where = Stretch(topic, partition, first_offset, end_offset)
        return self._reader.lines_between(where, most_rows=most_rows, deadline_passed=deadline_passed, local=self._lent.local is not None)

    def stored_templates(self, digests: Collection[str]) -> set[str]:
        """Return those of `digests` whose template row is stored; asked for in bounded pieces."""
        return self._reader.stored(digests)

    def delete_lines(self, ids: Collection[str]) -> None:
        """Remove lines by their ids, in bounded pieces."""
        try:
            for expression in any_of_each("id", ids, _DELETES_AT_ONCE):
                with self._lent.calls(write=True) as client:
                    client.delete(self._lines.name, expression)
        finally:
            self._known.forget()

    def close(self) -> None:
        """Release the connection and the folder; a folder that a write broke keeps its lock until the process ends."""
        self._lent.close()
        self._known.forget()

    def _check_not_replaced(self) -> None:
        """Refuse to go on with collections that are not those of `open`: what was stored in those is gone. Note how long lines live."""
        if self._lent.local is not None:
            return
        for layout, there in zip((self._templates, self._lines), self._ids, strict=True):
            with self._lent.calls() as client:
                now = client.described(layout.name)
                if now.id != there:
                    self._lent.broken = f"Milvus collection {layout.name!r} was replaced while running; start again to fill the new one"
                    raise SinkBroken(self._lent.broken)
            self._retention_s = now.ttl_s or None  # of the lines, which come last
