"""What travels on the way of a query from Kafka or HTTP to its reply.

    not cached               QueryRequest → ReadyQuery → QueryReply                prepare-queries → embed → answer
    cached, or no vector     QueryRequest → ReadyQuery → QueryReply                prepare-queries → answer
    an error at any stage    FailedQuery → QueryReply                              answer

Requests and replies are in `worker.asking.requests`.
"""

from typing import NamedTuple

from consumers.assignment import Claim
from sinks.row import Vector
from worker.asking.question import Query
from worker.asking.refusals import ErrorCode
from worker.asking.requests import Requester
from worker.querying.ranking import Meaning


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
    meaning: Meaning | None = None
    """What its vector may be compared with; None: the sink's templates."""


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
