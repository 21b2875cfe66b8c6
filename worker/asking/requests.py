"""A request for an answer: who waits for it, until when, and how the reply reaches them.

Over Kafka, headers name the reply topic and a correlation id (Spring's header names). A reply is JSON, and is sent once.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from consumers.record import Header
from worker.asking.question import DeadlineMs, Query
from worker.asking.refusals import QueryReply

REPLY_TOPIC_HEADER = "kafka_replyTopic"
CORRELATION_HEADER = "kafka_correlationId"


class SendReply(Protocol):
    """Sends a reply to the requester; called once, never blocks."""

    def __call__(self, reply: QueryReply, *, deadline_s: float | None) -> None:
        """After `deadline_s` (monotonic) the requester no longer waits; None if the query has no deadline."""


class Requester(NamedTuple):
    """The client that waits for the reply to one query."""

    reply: SendReply
    taken_s: float
    """When the request arrived, on the clock of `time.monotonic`."""
    deadline_s: float | None = None
    """Until when the requester waits, on the same clock; None: it did not say."""
    is_gone: Callable[[], bool] = lambda: False
    """Whether the requester has stopped waiting; asked by any thread."""
    is_own: bool = False
    """Whether the worker asks itself, as with its canary: that tells nothing of what people find."""


class QueryRequest(NamedTuple):
    """A request that is not parsed yet."""

    value: bytes | None
    requester: Requester
    sent_ms: int = 0
    """When it was sent, in milliseconds since 1970; 0 if unknown."""
    form: str | None = None
    """What its answer must hold, if that follows from where it was sent."""


def monotonic_deadline_s(query: Query, *, sent_ms: int, now_s: float, wall_ms: float) -> float | None:
    """Return the deadline on the monotonic clock: `deadline_ms` after the request was sent, after now if that time is unknown.

    `now_s` and `wall_ms` are the same moment on the two clocks; a sender whose clock is ahead gains nothing.
    """
    if query.deadline_ms is None:
        return None
    age_ms = max(wall_ms - sent_ms, 0.0) if sent_ms > 0 else 0.0
    return now_s + (query.deadline_ms - age_ms) / 1000


class _Deadline(BaseModel):
    """What a query says of its deadline, whatever else it says."""

    model_config = ConfigDict(frozen=True, strict=True)

    deadline_ms: DeadlineMs | None = None


def patience_s(value: bytes) -> float:
    """Return for how many seconds the sender of a request waits; infinity if it does not say, or is no valid query."""
    try:
        deadline_ms = _Deadline.model_validate_json(value).deadline_ms
    except ValidationError:
        return math.inf
    return math.inf if deadline_ms is None else deadline_ms / 1000


def is_late(requester: Requester, now_s: float) -> bool:
    """Whether the deadline has passed, or the requester has gone."""
    return (requester.deadline_s is not None and requester.deadline_s <= now_s) or requester.is_gone()


def header_of(headers: tuple[Header, ...], name: str) -> bytes | None:
    """Return the value of the last header of that name, as Kafka clients do."""
    return next((content for key, content in reversed(headers) if key == name), None)
