"""The one way to lines: every question about stored lines is answered through a `BlockReader`, from any sink.

Every answer is of the union of all runs (design: sink): inner blocks are left out, of copies one holds. A question whose listing grows
old, or does not hold any more, is asked again from its start; a block that cannot be read is left out, and the answer is not
`complete`. What a reader decodes stays in its cache; what it learns about templates' names and about how dense blocks lie, too.

Thread: any.
"""

import copy
import time
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId, BlockPlace
from sinks.reading.arrivals import Arrival
from sinks.reading.between import RecordRange, StoredLines, event_start, lines_between
from sinks.reading.cache import BlockCache
from sinks.reading.counting import NO_TEMPLATE_COUNTS, CountQuery, Counts, TemplateCounts, count, count_templates, template_ids_of
from sinks.reading.fresh import FreshLines, fresh_lines
from sinks.reading.line_filter import LineFilter, never
from sinks.reading.listing import PAGE_BLOCKS, Pace
from sinks.reading.matching import MatchingLines, lines_with
from sinks.reading.names import TemplateNames
from sinks.reading.newest import NewestLines, newest_lines
from sinks.reading.ordered import OrderedLines, Reach, Stride, lines_in_order, span_of
from sinks.reading.recent import FoundTemplates, newest_templates
from sinks.reading.selecting import Selection
from sinks.reading.snapshot import Answer, Snapshot, consistently
from sinks.row import TemplateId, TemplateKey
from sinks.sink import Sink

CACHE_BYTES = 96 * 1024 * 1024
RECENT_BLOCKS = 1_000


class BlockReader:
    """Answers questions about the lines of a sink.

    Every call may raise what the sink's reads raise, and SinkBusy if blocks are merged away faster than they can be read.

    Thread: any.
    """

    def __init__(
        self, sink: Sink, *, cache_bytes: int = CACHE_BYTES, clock: Callable[[], float] = time.monotonic, page_blocks: int = PAGE_BLOCKS
    ) -> None:
        self._sink = sink
        self._clock = clock
        self._cache = BlockCache(cache_bytes)
        self._names = TemplateNames()
        self._pace = Pace(page_blocks)
        self._stride = Stride(2 * page_blocks)
        self._snapshot: Snapshot | None = None
        """The one that every question is answered over; None: each has its own."""

    def over_one_snapshot(self, read: Callable[["BlockReader"], Answer], *, deadline_passed: Callable[[], bool] = never) -> Answer:
        """Return what `read` returns, called with a reader whose answers all belong together: each block is listed and fetched once.

        `read` is called again if the listing does not hold any more. The reader that it gets is of one thread.
        """

        def bound(snapshot: Snapshot) -> Answer:
            reader = copy.copy(self)
            reader._snapshot = snapshot  # noqa: SLF001 - of a copy of itself
            return read(reader)

        return self._read(bound, deadline_passed)

    def newest_lines(
        self, templates: Collection[TemplateId], limit: int, only: LineFilter, *, deadline_passed: Callable[[], bool] = never
    ) -> NewestLines:
        """Return of each template the newest `limit` lines that pass."""
        return self._read(lambda snapshot: newest_lines(snapshot, self._pace, templates, limit, only), deadline_passed)

    def lines_between(
        self, offsets: RecordRange, *, most_lines: int | None = None, deadline_passed: Callable[[], bool] = never, strong: bool = False
    ) -> StoredLines:
        """Return all lines of these offsets, by epoch, offset, sub and chunk; the first `most_lines` of them."""
        return self._read(lambda snapshot: lines_between(snapshot, offsets.blocks, most_lines), deadline_passed, strong=strong)

    def event_start(self, place: BlockPlace, offset: int, *, deadline_passed: Callable[[], bool] = never) -> int:
        """Return where the stored entry begins that spans both `offset - 1` and `offset`; `offset` if no line of one is there."""
        return self._read(lambda snapshot: event_start(snapshot, place, offset), deadline_passed, strong=True)

    def lines_with(
        self, selection: Selection, limit: int, *, literals: Collection[str] = (), deadline_passed: Callable[[], bool] = never
    ) -> MatchingLines:
        """Return the newest `limit` lines of a selection, which has nothing `holding`.

        `literals` are ASCII texts that every match holds, in small letters or capital ones.
        """
        return self._read(lambda snapshot: lines_with(snapshot, self._pace, selection, limit, literals), deadline_passed)

    def newest_templates(
        self, only: LineFilter, *, most_blocks: int = RECENT_BLOCKS, deadline_passed: Callable[[], bool] = never
    ) -> FoundTemplates:
        """Return the templates of the newest blocks' lines that pass, at most `most_blocks` blocks, the last seen first."""
        return self._read(lambda snapshot: newest_templates(snapshot, self._pace, self._names, only, most_blocks), deadline_passed)

    def count(self, query: CountQuery, *, deadline_passed: Callable[[], bool] = never) -> Counts:
        """Count the lines that pass, in groups."""
        if query.templates is not None and not query.templates:
            return Counts([], complete=True)
        return self._read(lambda snapshot: count(snapshot, self._names, query), deadline_passed)

    def count_templates(
        self, only: LineFilter, templates: tuple[TemplateId, ...] | None, *, deadline_passed: Callable[[], bool] = never
    ) -> TemplateCounts:
        """Count the lines of some templates (None: of any) that pass, as columns."""
        if templates is not None and not templates:
            return NO_TEMPLATE_COUNTS
        return self._read(lambda snapshot: count_templates(snapshot, only, templates), deadline_passed)

    def template_ids(
        self, only: LineFilter, keys: NDArray[np.int64], *, deadline_passed: Callable[[], bool] = never
    ) -> dict[TemplateKey, TemplateId]:
        """Return the ids of templates that were counted under a filter, by key; one that cannot be named is left out."""
        return self._read(lambda snapshot: template_ids_of(snapshot, self._names, only, keys), deadline_passed)

    def span_of(self, selection: Selection, *, deadline_passed: Callable[[], bool] = never) -> tuple[int, int] | None:
        """Return the first and the end of a window that holds every line of a selection; None if there are none. Lists all its blocks."""
        return self._read(lambda snapshot: span_of(snapshot, selection), deadline_passed)

    def lines_in_order(
        self, selection: Selection, start: Reach, until_ms: int, most: int, *, deadline_passed: Callable[[], bool] = never
    ) -> OrderedLines:
        """Return the first `most` lines of a selection from `start` to before `until_ms`, in the order of time, and how far they reach."""
        return self._read(lambda snapshot: lines_in_order(snapshot, self._stride, selection, start, until_ms, most), deadline_passed)

    def fresh_lines(
        self,
        arrivals: Sequence[Arrival],
        has_seen: Callable[[BlockId], bool],
        selection: Selection,
        most: int,
        *,
        deadline_passed: Callable[[], bool] = never,
    ) -> FreshLines:
        """Return the newest `most` lines of blocks that arrived, without those that the index had; `has_seen` is the watch's."""
        return self._read(lambda snapshot: fresh_lines(snapshot, arrivals, has_seen, selection, most), deadline_passed)

    def _read(self, read: Callable[[Snapshot], Answer], deadline_passed: Callable[[], bool], *, strong: bool = False) -> Answer:
        def make(is_again: bool) -> Snapshot:  # noqa: FBT001
            return Snapshot(self._sink, self._cache, self._clock, deadline_passed, strong=strong, is_last=is_again)

        return consistently(make, read) if self._snapshot is None else read(self._snapshot)
