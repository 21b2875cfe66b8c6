"""What a query may say, checked at the door: a query is untrusted input.

A request is JSON: the value of a Kafka record, with the reply topic and a correlation id in its headers (the names that Spring
uses), or the body of an HTTP request. Everything is bounded and typed; filters never are expressions.
"""

from typing import Annotated, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from consumers.record import Header
from sinks.sink import LineFilter

REPLY_TOPIC_HEADER = "kafka_replyTopic"
CORRELATION_HEADER = "kafka_correlationId"
MAX_TEXT_CHARACTERS = 4096
MAX_K = 1000
MAX_AROUND = 500
"""Most neighbours of a line, before it and after it."""
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


Mode = Literal["dense", "bm25", "hybrid"]
"""By meaning, by words, or by both."""


class Around(BaseModel):
    """One line's place; its neighbours in the same partition are wanted.

    Thread: any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    topic: Annotated[str, Field(min_length=1, max_length=_LABEL_CHARACTERS)]
    partition: int = Field(ge=0, lt=1 << 31)
    offset: int = Field(ge=0, lt=_MOST_MS)
    before: int = Field(default=5, ge=0, le=MAX_AROUND)
    after: int = Field(default=5, ge=0, le=MAX_AROUND)
    """Kafka records, not lines: a record may hold several."""


class Query(BaseModel):
    """A valid query: what resembles a text, the most frequent kinds of lines, or what stands around a line.

    Thread: any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: str | None = Field(default=None, min_length=1, max_length=MAX_TEXT_CHARACTERS)
    """What to look for; a listing of templates by frequency has none, nor has `around`."""
    form: Literal["lines", "templates"] = Field(default="lines", alias="as")
    """Lines to read, or kinds of lines with their counts."""
    k: int = Field(default=10, ge=1, le=MAX_K)
    per_template: int | None = Field(default=None, ge=1, le=100)
    """At most so many lines of one kind; not set: 1, and no bound for a text of nothing but identifiers."""
    mode: Mode | None = None
    """Not set: `hybrid` where the index has a column for full-text search, else `dense`."""
    filters: Filters = Filters()
    around: Around | None = None
    deadline_ms: int | None = Field(default=None, ge=1, le=600_000)
    """Milliseconds after the request's Kafka timestamp (over HTTP: after its arrival) at which nobody waits any more."""


class Requester(NamedTuple):
    """A request whose asker is known; `reply` is called once.

    Thread: any.
    """

    reply: "SendReply"
    taken_s: float
    """When it arrived, on `time.monotonic`'s clock."""
    deadline_s: float | None = None
    """When nobody waits any more, on the same clock."""


class SendReply(Protocol):
    """Sends a reply to whoever asked; never blocks.

    Thread: any.
    """

    def __call__(self, value: bytes, *, deadline_s: float | None) -> None:
        """`value` is JSON; after `deadline_s` (monotonic) nobody waits for it, None if the query has no deadline."""


class QueryRequest(NamedTuple):
    """A request as it came, nothing of it read yet.

    Thread: any.
    """

    value: bytes | None
    asked: Requester
    sent_ms: int = 0
    """When it was sent, in milliseconds since 1970; 0 if nobody knows."""


def parse_query(value: bytes | None) -> Query:
    """Read a request's value. Raises BadQuery, naming the field."""
    try:
        query = Query.model_validate_json(value or b"")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])[:_SHOWN_CHARACTERS]
        raise BadQuery(field or "query", first["msg"]) from None
    _check_asks_one_thing(query)
    return query


def _check_asks_one_thing(query: Query) -> None:
    if query.around is None:
        if query.text is None and query.form == "lines":
            raise BadQuery("text", "Field required")
        return
    for field, is_set in (("text", query.text is not None), ("mode", query.mode is not None), ("as", query.form != "lines")):
        if is_set:
            raise BadQuery(field, "what stands around a line is asked for alone, without it")


def deadline_s(query: Query, *, sent_ms: int, now_s: float, wall_ms: float) -> float | None:
    """Return the deadline on the monotonic clock: `deadline_ms` after the request was sent (if its time is known), else after now."""
    if query.deadline_ms is None:
        return None
    age_ms = max(wall_ms - sent_ms, 0.0) if sent_ms > 0 else 0.0
    return now_s + (query.deadline_ms - age_ms) / 1000


def is_late(asked: Requester, now_s: float) -> bool:
    """Whether nobody waits for the answer any more."""
    return asked.deadline_s is not None and asked.deadline_s <= now_s


def header_of(headers: tuple[Header, ...], name: str) -> bytes | None:
    """Return the last header of that name, as Kafka clients do."""
    return next((content for found, content in reversed(headers) if found == name), None)
