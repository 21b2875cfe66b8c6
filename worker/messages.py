"""What travels between the stages. A stage knows these types and not its neighbours.

Log records on their way into the index. Prepare decodes and masks them as columns; what becomes of a line depends on its template:

    known                    LineBatch → Block                                               prepare → store
    new, its vector cached   NewTemplate → EmbeddedTemplate → TemplateRow, then ...          prepare → store
    new                      NewTemplate → EmbeddedTemplate → TemplateRow, then ...          prepare → embed → store

Until the row of a new template is acknowledged, its lines wait in `worker.indexing.flights`. A record settles when all of its lines are
stored or rejected. A line that an earlier run has stored (`worker.indexing.resume`) is settled in prepare and sent nowhere.

A query on its way from Kafka or HTTP to its reply:

    not cached               QueryRequest → ReadyQuery → QueryReply                prepare-queries → embed → answer
    cached, or no vector     QueryRequest → ReadyQuery → QueryReply                prepare-queries → answer
    an error at any stage    FailedQuery → QueryReply                              answer

On the way through `embed` both are texts (`worker.embedding.embedder.EncodedText`), and come back by a call.

All types are immutable. Records and receipts belong to `consumers`, lines, rows and blocks to `sinks`, requests and replies to
`worker.asking.requests`.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import Claim, PartitionLedger
from consumers.rejection import Rejection
from sinks.block import Lines
from sinks.lines import take_lines
from sinks.row import TemplateId, Vector
from worker.asking.question import Query
from worker.asking.refusals import ErrorCode
from worker.asking.requests import Requester

Source = Literal["engine", "memory", "redis", "index"]
"""Where the vector of a new template came from: computed, or found in a cache level or in the index."""
SOURCES: tuple[Source, ...] = ("engine", "memory", "redis", "index")
"""Every `Source`; the order in which tables and logs show them."""


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
    text: str
    topic: str
    """Of the first line that wants it: its share of the engine."""


class EmbeddedTemplate(NamedTuple):
    """A new template with its vector, for the store stage."""

    template: TemplateId
    text: str
    vector: Vector
    tokens: int
    """Length of the model's input, special tokens included."""
    source: Source


StoreItem = LineBatch | EmbeddedTemplate
"""What the store stage writes: lines of known templates, or a new template with the lines that wait for it."""


class KafkaRequest(NamedTuple):
    """A query as Kafka delivered it; `PrepareQueries` makes a `QueryRequest` of it. HTTP makes its own."""

    claim: Claim
    polled_s: float
    """On the clock of `time.monotonic`."""


class ReadyQuery(NamedTuple):
    """A query that can be searched for."""

    requester: Requester
    query: Query
    vector: Vector | None
    """None where none is needed: a listing by frequency, the neighbours of a line, a search by words only."""
    wait_s: float
    """From its arrival until its vector was found or its batch began."""
    embed_s: float
    """How long its batch took; 0 without one."""
    is_exact: bool = False
    """Whether its text is identifiers and nothing else."""


class FailedQuery(NamedTuple):
    """A query to be answered with an error."""

    requester: Requester
    code: ErrorCode
    field: str
    """The field of the request that is at fault; empty if none is."""
    reason: str


def late_query(requester: Requester, reason: str) -> FailedQuery:
    """Return the error for a query that `is_late`."""
    if requester.is_gone():
        return FailedQuery(requester, "abandoned", "", "nobody waits for the answer")
    return FailedQuery(requester, "expired", "deadline_ms", reason)


Answerable = ReadyQuery | FailedQuery
"""What the answer stage replies to."""
