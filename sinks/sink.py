"""What every sink promises: it stores templates and blocks and finds them again; and the four ways in which it may refuse.

The writing stages and the readers hold a `Sink` and never know which one. Nothing here unpacks a block: `sinks.reading` does, for every
sink alike. The blame for a failure is in the exception's type (design: errors).
"""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sinks.block import Block, BlockColumns, BlockId, BlockPlace
from sinks.heads import Heads
from sinks.index_spaces import IndexSpaces, VectorSpace
from sinks.row import TemplateId, TemplateKey, TemplateRow, TemplateText, Vector

ColumnName = Literal["places", "texts", "fields"]


class SinkBusy(Exception):
    """The world's fault: away, slow, rate-limited, refused access. Hold what is to be written and try again later."""


class SinkRejected(Exception):
    """The fault of what is written: it holds a value that can never be stored. One line alone that is refused is a dead letter."""


class SinkBroken(Exception):
    """Ours: the store may be damaged if we go on (a local folder after a failed write). Stop, commit nothing more."""


class SinkMismatch(Exception):
    """The user must change something before a start can succeed; the message is one line and names it."""


class TemplateHit(NamedTuple):
    """A template that fits a query."""

    template: TemplateId
    score: float
    """Cosine similarity, -1 … 1; or BM25, above 0, comparable within one answer only."""
    text: TemplateText


class OffsetSpan(NamedTuple):
    """Blocks of a partition that overlap `first_offset` ≤ offset < `end_offset`.

    Thread: any.
    """

    partition: int
    first_offset: int
    end_offset: int


class RunSpan(NamedTuple):
    """Blocks of a partition that overlap `first_offset` ≤ offset < `end_offset`, but for those of one run.

    Thread: any.
    """

    place: BlockPlace
    run: str
    first_offset: int
    end_offset: int


class BlockFilter(NamedTuple):
    """Which blocks are wanted: those that may hold a wanted line. Every part that is set must hold.

    Thread: any.
    """

    topics: tuple[str, ...] = ()
    """Any of these."""
    epoch: str | None = None
    partition: int | None = None
    first_offset: int | None = None
    end_offset: int | None = None
    """Blocks that overlap `first_offset` ≤ offset < `end_offset`."""
    since_ms: int | None = None
    until_ms: int | None = None
    """Blocks that overlap `since_ms` ≤ time < `until_ms`."""
    templates: tuple[TemplateKey, ...] | None = None
    """Blocks with any of these. None: whatever their templates; empty: no block."""
    words: tuple[int, ...] = ()
    """Blocks that may hold all of these."""
    services: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    """Blocks with any of these."""
    spans: tuple[OffsetSpan, ...] | None = None
    """Blocks of any of these; None: wherever they are, empty: no block."""
    besides: tuple[RunSpan, ...] | None = None
    """Blocks of any of these, which may hold other copies of their lines; None: of any run, empty: no block."""
    not_topics: tuple[str, ...] = ()
    """Of none of these."""
    not_services: tuple[str, ...] = ()
    not_levels: tuple[str, ...] = ()
    """Blocks with any other one than these."""


class FoundBlocks(NamedTuple):
    """Blocks that pass a filter, inner ones included."""

    heads: Heads
    """In no order. A sink without an exact filter for something (words, `not_services`) may give blocks too many, never one too few."""
    is_all: bool
    """False: there are more than the limit."""


class SeenRun(NamedTuple):
    """The blocks of one run that somebody has seen.

    Thread: any.
    """

    place: BlockPlace
    run: str
    last: int
    """Those with numbers up to this one, -1: none."""


class SinkCounts(NamedTuple):
    """How many rows are stored now (exact, Strong)."""

    blocks: int
    """Inner ones included."""
    templates: int


class Capabilities(NamedTuple):
    """What a sink does with blocks that not every sink does.

    Thread: any.
    """

    orders_blocks: bool
    """A limited `find_blocks` returns the blocks with the latest `last_ms`; else it returns any."""


class TemplateCapabilities(NamedTuple):
    """What a view does with templates that not every one does.

    Thread: any.
    """

    ranks_words: bool
    """`matching` may be called."""
    scans: bool
    """Every read looks at all templates, so that a page costs about as much as everything."""


class TemplateView(Protocol):
    """The templates of one embedding space. It is open while its sink is; calls raise what the sink's do.

    Thread: any.
    """

    @property
    def capabilities(self) -> TemplateCapabilities:
        """What it can do; known once it is open."""

    def upsert(self, rows: Sequence[TemplateRow]) -> None:
        """Store all rows, or raise; a template may come twice (last wins). Returns only when acknowledged."""

    def vectors(self, templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
        """Return the vectors, float32[dim] and finite, of those of `templates` whose row is stored.

        Bounded consistency: may miss a very new one. A stored vector that is not such a one counts as missing.
        """

    def texts(self, templates: Collection[TemplateId]) -> dict[TemplateId, TemplateText]:
        """Return the texts of those of `templates` whose row is stored (as `vectors`)."""

    def stored(self, templates: Collection[TemplateId]) -> set[TemplateId]:
        """Return those of `templates` whose row is stored (Strong)."""

    def nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        """Return for each of float32[n, dim], of length 1, at most `limit` templates, nearest first."""

    def matching(self, text: str, limit: int) -> list[TemplateHit]:
        """Return at most `limit` templates that share words with `text`, best first (BM25). ValueError unless it `ranks_words`."""

    def all_above(self, last: str, limit: int) -> list[tuple[TemplateId, TemplateText]]:
        """Return id and text of at most `limit` templates with an id above `last`, in the order of their ids."""

    def count(self) -> int:
        """Return how many rows are stored now (exact, Strong)."""


class Sink(Protocol):
    """Templates and blocks behind one border.

    Every call is bounded by the sink's own time-out and raises one of this module's exceptions; nothing is retried inside.
    Reads are as consistent as the sink was told (`milvus.consistency`), unless they are `strong`.

    Thread: any; a sink that can have only one writer holds its own lock.
    """

    @property
    def retention_s(self) -> float | None:
        """After how many seconds a block goes, a template after three times that; None: never.

        It is what really holds; before `open`, what will.
        """

    @property
    def capabilities(self) -> Capabilities:
        """What it can do with blocks; known once it is open."""

    @property
    def templates(self) -> TemplateView:
        """The templates of the embedding space that is asked: the worker's own, until another is preferred.

        The same object before and after `open`.
        """

    def open(self, *, create: bool = True, adopt: bool = False) -> None:
        """Create what is missing, check what is there field by field; called once, before the first poll.

        Without `create` (tools that only read) nothing is created, indexed or altered, and what is missing is a SinkMismatch.
        `adopt` takes an index over from another consumer group. Raises SinkMismatch (one line, names the field or the folder) or
        SinkBusy (try `open` again later).
        """

    def spaces(self) -> IndexSpaces:
        """Return the views that the index has now, as they were last changed by anybody (Strong)."""

    def change_spaces(self, before: IndexSpaces, after: IndexSpaces) -> bool:
        """Remember other views, all at once, unless they are not `before` any more; returns whether they are `after` now."""

    def open_view(self, space: VectorSpace, *, create: bool = False) -> TemplateView:
        """Return the view of a space, always the same object; with `create`, one that is missing is created, empty.

        Nobody is told of it: `change_spaces` does that. Raises SinkMismatch (one line) for one that is missing or of another shape.
        """

    def prefer(self, space: str) -> None:
        """Make `templates` an open view, in this process."""

    def drop_view(self, space: str) -> None:
        """Remove the templates of a space that `templates` is not; one that is not there is no error. SinkMismatch if it is."""

    def ping(self) -> None:
        """Return when it answers a read, or raise SinkBusy or SinkBroken after a few seconds; waits for no write."""

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        """Store all blocks, or raise; `again` says that some of them were sent before, with the same content.

        Returns only when acknowledged. Raises SinkRejected if one of them can never be stored (then none of that call counts as
        acknowledged), SinkBusy if what became of them is unknown, and SinkBroken when the collections were replaced since `open`.
        """

    def delete_blocks(self, ids: Collection[BlockId]) -> None:
        """Remove these blocks; one that is not there is no error. Returns only when acknowledged."""

    def date_ms(self) -> int:
        """Return what a block that is written now bears as `written_ms`: milliseconds since 1970, unless the clock was wrong.

        Where the store does not let blocks expire by itself, no step of a clock makes a block older.
        """

    def drop_expired(self) -> int:
        """Remove the blocks that are older than `retention_s` where the store does not do it by itself; return how many those were.

        Called once a minute. Returns only when acknowledged.
        """

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        """Return the blocks that pass a filter, at most `limit` of them."""

    def unseen_blocks(self, seen: Collection[SeenRun]) -> list[BlockId]:
        """Return the stored blocks that begin behind what was seen of their run: those whose first number is above its `last`.

        Of a partition of which runs are named, the others count as seen, but for those that are later than all that are named. Of a
        partition without one, all blocks come. In no order; inner ones are included.
        """

    def read_columns(
        self, ids: Collection[BlockId], columns: Collection[ColumnName], *, strong: bool = False
    ) -> dict[BlockId, BlockColumns]:
        """Return these columns of those of `ids` that are stored; asked for in bounded pieces."""

    def read_words(self, ids: Collection[BlockId]) -> dict[BlockId, NDArray[np.int32]]:
        """Return the words of those of `ids` that are stored (Strong), where the sink keeps them exactly; else nothing."""

    def counts(self) -> SinkCounts:
        """Count the rows of both collections."""

    def close(self) -> None:
        """Release connections and locks; safe to call twice."""
