"""What a query may say, checked at the door: a query is untrusted input.

A request is a Kafka record: JSON in its value, the reply topic and a correlation id in its headers (the names that Spring
uses). Everything is bounded and typed; filters never are expressions.
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from consumers.ledger import Receipt
from consumers.record import Header
from sinks.sink import LineFilter

REPLY_TOPIC_HEADER = "kafka_replyTopic"
CORRELATION_HEADER = "kafka_correlationId"
MAX_TEXT_CHARACTERS = 4096
MAX_K = 1000
_LABEL_CHARACTERS = 256
_MOST_MS = 1 << 62
_SHOWN_CHARACTERS = 100

Label = Annotated[str, Field(max_length=_LABEL_CHARACTERS)]
TimeMs = Annotated[int, Field(ge=-_MOST_MS, le=_MOST_MS)]
"""Milliseconds since 1970, far inside 64 bits."""


class BadQuery(Exception):
    """The query's fault."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class Filters(BaseModel):
    """Which lines may be hits; every given field must match.

    Thread: any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    since_ms: TimeMs | None = None
    until_ms: TimeMs | None = None
    service: list[Label] = Field(default=[], max_length=100)
    level: list[Label] = Field(default=[], max_length=100)
    topic: list[Label] = Field(default=[], max_length=100)

    def as_line_filter(self) -> LineFilter:
        """Return what the sink understands."""
        return LineFilter(self.since_ms, self.until_ms, tuple(self.service), tuple(self.level), tuple(self.topic))


class Query(BaseModel):
    """A valid query.

    Thread: any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: str | None = Field(default=None, min_length=1, max_length=MAX_TEXT_CHARACTERS)
    """What to look for; only a listing of templates by frequency has none."""
    form: Literal["lines", "templates"] = Field(default="lines", alias="as")
    """Lines to read, or kinds of lines with their counts."""
    k: int = Field(default=10, ge=1, le=MAX_K)
    mode: Literal["dense"] = "dense"
    filters: Filters = Filters()
    deadline_ms: int | None = Field(default=None, ge=1, le=600_000)
    """Milliseconds after the request's Kafka timestamp at which nobody waits any more."""


class Asked(NamedTuple):
    """A request whose asker is known.

    Thread: any.
    """

    receipt: Receipt
    reply_topic: str
    correlation_id: bytes
    taken_s: float
    """When prepare took it, on `time.monotonic`'s clock."""
    deadline_s: float | None
    """When nobody waits any more, on the same clock."""


def parse_query(value: bytes | None) -> Query:
    """Read a request's value. Raises BadQuery, naming the field."""
    try:
        query = Query.model_validate_json(value or b"")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])[:_SHOWN_CHARACTERS]
        raise BadQuery(field or "query", first["msg"]) from None
    if query.text is None and query.form == "lines":
        raise BadQuery("text", "Field required")
    return query


def deadline_s(query: Query, *, sent_ms: int, now_s: float, wall_ms: float) -> float | None:
    """Return the deadline on the monotonic clock: `deadline_ms` after the request was sent (if its time is known), else after now."""
    if query.deadline_ms is None:
        return None
    age_ms = max(wall_ms - sent_ms, 0.0) if sent_ms > 0 else 0.0
    return now_s + (query.deadline_ms - age_ms) / 1000


def is_late(asked: Asked, now_s: float) -> bool:
    """Whether nobody waits for the answer any more."""
    return asked.deadline_s is not None and asked.deadline_s <= now_s


def header_of(headers: tuple[Header, ...], name: str) -> bytes | None:
    """Return the last header of that name, as Kafka clients do."""
    return next((content for found, content in reversed(headers) if found == name), None)
