"""What travels on the way of a line into the index.

Prepare decodes and masks records as columns; what becomes of a line depends on its template:

    known                    LineBatch → Block                                               prepare → store
    new, its vector cached   NewTemplate → EmbeddedTemplate → TemplateRow, then ...          prepare → store
    new                      NewTemplate → EmbeddedTemplate → TemplateRow, then ...          prepare → embed → store

Until the row of a new template is acknowledged, its lines wait in `worker.indexing.flights`. A record settles when all of its lines are
stored or rejected. A line that an earlier run has stored (`worker.indexing.resume`) is settled in prepare and sent nowhere. On the way
through `embed` a template is a text (`worker.embedding.encoded_text.EncodedText`), and comes back by a call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger
from consumers.rejection import Rejection
from sinks.block import Lines
from sinks.lines import take_lines
from sinks.row import TemplateId, TemplateText, Vector
from sinks.sink import TemplateView
from worker.embedding.cache.vector_levels import VectorSource
from worker.runtime.lane import Outlet


class LineBatch(NamedTuple):
    """n lines of one assignment as columns, and the records that they settle."""

    assignment: PartitionLedger
    arrival: NDArray[np.int64]
    """int64[n]: the arrival number of each line's record; a record with several lines occurs as often."""
    lines: Lines

    @property
    def size(self) -> int:
        """How many lines; `len` counts the columns."""
        return len(self.arrival)

    @property
    def topic(self) -> str:
        """The topic that they came from."""
        return self.assignment.partition.topic

    def take(self, rows: NDArray[np.int64]) -> "LineBatch":
        """Copy the given lines, in this order: what comes back shares no memory with this batch."""
        return LineBatch(self.assignment, self.arrival[rows], take_lines(self.lines, rows))

    def reject(self, rejection: Rejection) -> None:
        """None of these lines can ever be stored."""
        rows = zip(self.arrival.tolist(), self.lines.sub.tolist(), self.lines.chunk.tolist(), strict=True)
        for arrival, sub, chunk in rows:
            self.assignment.reject(arrival, sub, chunk, rejection)


class NewTemplate(NamedTuple):
    """A template whose flight has just begun."""

    template: TemplateId
    text: TemplateText
    topic: str
    """Of the first line that wants it: its share of the engine."""


class EmbeddedTemplate(NamedTuple):
    """A new template with its vector, for the store stage."""

    template: TemplateId
    text: TemplateText
    vector: Vector
    tokens: int
    """Length of the model's input, special tokens included."""
    source: VectorSource
    view: TemplateView
    """Of the space that the vector is of."""


StoreItem = LineBatch | EmbeddedTemplate
"""What the store stage writes: lines of known templates, or a new template with the lines that wait for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOutlet:
    """The store stage, as the stages before it see it. What they ask of it is done at once; it raises Abandoned, LimitReached, SinkBroken.

    Thread: any.
    """

    lane: Outlet[StoreItem]
    hide: Callable[[PartitionLedger, Lines], None]
    """Writes hollow entries, and returns when they are acknowledged."""
    reject: Callable[[LineBatch, Rejection], None]
    """Rejects lines, behind hollow entries."""
    fail_flight: Callable[[TemplateId, Rejection], None]
    """Remembers a template as rejected, with the reason, and rejects the lines that waited for it."""
