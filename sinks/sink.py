"""What every sink promises, and the four ways in which it may refuse.

Stages hold a `Sink` and never know which one; the blame for a failure is in the exception's type (design: errors).
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sinks.row import LineRow, TemplateRow


class SinkBusy(Exception):
    """The world's fault: away, slow, rate-limited, refused access. Hold the rows and try again later."""


class SinkRejected(Exception):
    """The rows' fault: a batch holds a row that can never be stored. Alone, that row is a dead letter."""


class SinkBroken(Exception):
    """Ours: the store may be damaged if we go on (a local folder after a failed write). Stop, commit nothing more."""


class SinkMismatch(Exception):
    """The user must change something before a start can succeed; the message is one line and names it."""


class TemplateHit(NamedTuple):
    """A template near a query vector."""

    digest: str
    score: float
    """Cosine similarity, -1 … 1."""
    text: str


class LineHit(NamedTuple):
    """A line that shares words with a text."""

    score: float
    """BM25, above 0; the larger the better. Comparable within one answer only."""
    line: LineRow


class LineFilter(NamedTuple):
    """Which lines a search may return; typed fields only, never an expression of the user's."""

    since_ms: int | None = None
    """First millisecond that is wanted."""
    until_ms: int | None = None
    """First millisecond that is not wanted any more."""
    services: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


class TemplateCount(NamedTuple):
    """How often one template occurred."""

    digest: str
    lines: int
    """How many rows: lines, or chunks of long lines."""
    first_ms: int
    last_ms: int
    """Times of its first and of its last line, both counted."""


class TemplateCounts(NamedTuple):
    """Templates by frequency."""

    counts: list[TemplateCount]
    """The most frequent first; of equally frequent ones, by digest."""
    complete: bool
    """False: only the newest lines were counted, older ones were left out; or, when time was short, any of them."""


class StoredLines(NamedTuple):
    """The stored rows of a range of offsets, read at Strong consistency."""

    rows: list[LineRow]
    """In no order; whatever their epochs and ids are."""
    counted: int
    """How many rows the store counts under the same filter. More than `rows` has: an id is stored twice, which queries fold into one."""
    complete: bool = True
    """False: a bound was met or the time was up; some of the rows are left out, and `counted` may be of no use."""


class SinkCounts(NamedTuple):
    """How many rows are stored now (exact, Strong)."""

    lines: int
    templates: int


def never() -> bool:
    """Say that there is time: for who sets no bound."""
    return False


class Sink(Protocol):
    """Two collections behind one border: lines, and the templates they point to.

    Every call is bounded by the sink's own time-out and raises one of this module's exceptions; nothing is retried inside.

    Thread: any; a sink that can have only one writer holds its own lock.
    """

    @property
    def retention_s(self) -> float | None:
        """After how many seconds a line goes, a template after twice that; None: never. What really holds; before `open`, what will."""

    @property
    def has_bm25(self) -> bool:
        """Whether lines can be searched by their words; known once it is open."""

    def open(self, *, create: bool = True) -> None:
        """Create what is missing, check what is there field by field; called once, before the first poll.

        Without `create` (tools that only read) nothing is created, indexed or altered, and what is missing is a SinkMismatch.
        Raises SinkMismatch (one line, names the field or the folder) or SinkBusy (try `open` again later).
        """

    def ping(self) -> None:
        """Return when it answers. Raises SinkBusy, SinkBroken."""

    def upsert_templates(self, rows: Sequence[TemplateRow]) -> None:
        """Store all rows, or raise; a digest may come twice (last wins). Returns only when acknowledged."""

    def upsert_lines(self, rows: Sequence[LineRow]) -> None:
        """Store all rows, or raise; an id may come twice (last wins). Returns only when acknowledged.

        Raises SinkBroken when the templates stored since `open` are not those that these lines will find (collections were replaced).
        """

    def template_vectors(self, digests: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors, float32[dim] and finite, of those of `digests` whose template row is stored.

        Bounded consistency: may miss a very new one. A stored vector that is not such a one counts as missing.
        """

    def template_texts(self, digests: Collection[str]) -> dict[str, str]:
        """Return the texts of those of `digests` whose template row is stored (as `template_vectors`)."""

    def nearest_templates(self, vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        """Return for each of float32[n, dim], of length 1, at most `limit` templates, nearest first."""

    def newest_lines(self, templates: Collection[str], limit: int, only: LineFilter) -> dict[str, list[LineRow]]:
        """Return the newest `limit` lines of each template that pass the filter, newest first; one that has none is left out."""

    def matching_lines(self, text: str, limit: int, only: LineFilter) -> list[LineHit]:
        """Return at most `limit` lines under the filter that share words with `text`, best first (BM25). Only if it `has_bm25`."""

    def count_templates(
        self, only: LineFilter, *, templates: Collection[str] | None, most_rows: int, deadline_passed: Callable[[], bool]
    ) -> TemplateCounts:
        """Count the lines that pass the filter by template, the newest `most_rows` of them at most; `templates` counts only these.

        `deadline_passed` is asked between two reads: when it says yes, returns what was counted so far; nothing only if nothing was read.
        """

    def counts(self) -> SinkCounts:
        """Count the rows of both collections."""

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
        """Return every line of `first_offset` ≤ offset < `end_offset` of one partition (Strong); the caller bounds the range.

        Of more than `most_rows`, so many come: any of them, not those of the first offsets, and a record's entries need not come
        together. `deadline_passed` is asked before each read: when it says yes, what was read so far is returned. Either is not complete.
        """

    def stored_templates(self, digests: Collection[str]) -> set[str]:
        """Return those of `digests` whose template row is stored (Strong)."""

    def delete_lines(self, ids: Collection[str]) -> None:
        """Remove these lines; one that is not there is no error. Returns only when acknowledged."""

    def close(self) -> None:
        """Release connections and locks; safe to call twice."""
