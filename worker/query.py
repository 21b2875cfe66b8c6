"""A query from outside: what a request may say, who waits for the reply, and what the reply is.

A request is JSON: the value of a Kafka record, whose headers name the reply topic and a correlation id (Spring's header names), or the
body of an HTTP request. It is untrusted input: every field is typed and bounded, and filters are values, never expressions. A reply
is JSON over both, and is sent once.
"""

import json
from typing import Annotated, Literal, NamedTuple, Protocol, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from consumers.record import Header
from sinks.reading.filters import LineFilter

REPLY_TOPIC_HEADER = "kafka_replyTopic"
CORRELATION_HEADER = "kafka_correlationId"
MAX_TEXT_CHARACTERS = 4096
MAX_K = 1000
MAX_AROUND = 500
"""Most records before a line, and as many after it."""
MAX_BUCKETS = 1000
MAX_DEADLINE_MS = 60_000
"""A query that may wait longer is refused: others wait behind it."""
TRACE_FIELD = "trace_id"
"""The field that the filter `trace_id` asks for."""
_LABEL_CHARACTERS = 256
_MOST_MS = 1 << 62
_SHOWN_CHARACTERS = 100

Label = Annotated[str, Field(max_length=_LABEL_CHARACTERS)]
TemplateId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
TimeMs = Annotated[int, Field(ge=-_MOST_MS, le=_MOST_MS)]
"""Milliseconds since 1970, far inside 64 bits."""


class BadQuery(Exception):
    """The request is not a valid query: `field` of it is at fault, because of `reason`."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class Filters(BaseModel):
    """Which lines may be hits: a line must match every filter that is set."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    since_ms: TimeMs | None = None
    until_ms: TimeMs | None = None
    service: list[Label] = Field(default=[], max_length=100)
    level: list[Label] = Field(default=[], max_length=100)
    topic: list[Label] = Field(default=[], max_length=100)
    template: list[TemplateId] = Field(default=[], max_length=1000)
    """Ids of templates: lines of one of them."""
    fields: dict[Label, Annotated[list[Label], Field(min_length=1, max_length=100)]] = Field(default={}, max_length=16)
    """Names of kept fields, each with the values of which a line must have one."""
    trace_id: Label | None = None
    """The value of the field of that name."""

    def as_line_filter(self) -> LineFilter:
        """Return the same as the reader takes it, but for the templates, which it gets apart."""
        fields = [(name, value) for name, values in self.fields.items() for value in values]
        if self.trace_id is not None:
            fields.append((TRACE_FIELD, self.trace_id))
        return LineFilter(self.since_ms, self.until_ms, tuple(self.service), tuple(self.level), tuple(self.topic), tuple(fields))


Mode = Literal["dense", "words", "hybrid"]
"""Rank by meaning, by words, or by both."""
Form = Literal["lines", "templates", "counts"]
"""What an answer holds: lines, templates with their counts, or counts alone."""
Grouping = Literal["time", "template", "service", "level", "topic"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)


class Around(BaseModel):
    """Asks for the lines around one place in a partition."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    topic: Annotated[str, Field(min_length=1, max_length=_LABEL_CHARACTERS)]
    partition: int = Field(ge=0, lt=1 << 31)
    offset: int = Field(ge=0, lt=_MOST_MS)
    before: int = Field(default=5, ge=0, le=MAX_AROUND)
    """Kafka records before `offset`; a record may hold several lines."""
    after: int = Field(default=5, ge=0, le=MAX_AROUND)


class Query(BaseModel):
    """A valid query: what resembles a text, the most frequent templates, counts, or the lines around a place."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: str | None = Field(default=None, min_length=1, max_length=MAX_TEXT_CHARACTERS)
    """What to look for. A listing by frequency has none, nor has `around`; with a filter on templates it may be missing."""
    form: Form = Field(default="lines", alias="as")
    k: int = Field(default=10, ge=1, le=MAX_K)
    """Most hits."""
    per_template: int | None = Field(default=None, ge=1, le=100)
    """Most lines of one template. Not set: 1, and no bound for a text of identifiers only."""
    mode: Mode | None = None
    """Not set: `hybrid`, and `words` for a text of identifiers only."""
    filters: Filters = Filters()
    around: Around | None = None
    by: list[Grouping] | None = Field(default=None, min_length=1, max_length=2)
    """What counts are grouped by. Not set: `time` if there are `buckets`, else `template`."""
    buckets: int | None = Field(default=None, ge=2, le=MAX_BUCKETS)
    """At most how many buckets of time."""
    top: int | None = Field(default=None, ge=1, le=MAX_K)
    """Counts of how many groups, those with the most lines; buckets of time are no groups."""
    deadline_ms: int | None = Field(default=None, ge=1, le=MAX_DEADLINE_MS)
    """How long the sender waits: milliseconds after the record's Kafka timestamp, or after the arrival of an HTTP request."""


ErrorCode = Literal["bad_query", "expired", "unavailable"]
"""Why a query gets no hits: it is not valid, its deadline has passed, or the worker cannot answer now."""
ReplyCode = Literal["answered"] | ErrorCode


class QueryReply(NamedTuple):
    """The reply to a query: Kafka sends the bytes, HTTP also a status by the code."""

    value: bytes
    """JSON; with any code but `answered`, an error document."""
    code: ReplyCode


def error_document(code: str, reason: str, *, field: str = "") -> bytes:
    """Return an error as JSON, the same over Kafka and HTTP; `field` is the part of the request at fault, empty if none is."""
    return json.dumps({"error": {"code": code, "field": field, "reason": reason}}, ensure_ascii=False).encode("utf-8")


def error_reply(code: ErrorCode, reason: str, *, field: str = "") -> QueryReply:
    """Return the reply to a query that fails."""
    return QueryReply(error_document(code, reason, field=field), code)


class SendReply(Protocol):
    """Sends a reply to the requester; called once, never blocks."""

    def __call__(self, reply: QueryReply, *, deadline_s: float | None) -> None:
        """After `deadline_s` (monotonic) the requester no longer waits; None if the query has no deadline."""


class Requester(NamedTuple):
    """Whoever waits for the reply to one query."""

    reply: SendReply
    taken_s: float
    """When the request arrived, on the clock of `time.monotonic`."""
    deadline_s: float | None = None
    """Until when the requester waits, on the same clock; None: it did not say."""


class QueryRequest(NamedTuple):
    """A request that is not parsed yet."""

    value: bytes | None
    requester: Requester
    sent_ms: int = 0
    """When it was sent, in milliseconds since 1970; 0 if unknown."""
    form: Form | None = None
    """What its answer must hold, if that follows from where it was sent."""


def parse_query(value: bytes | None, form: Form | None = None) -> Query:
    """Parse a request's value; `form` is what `as` is then, whether it is given or not. Raises BadQuery."""
    try:
        query = Query.model_validate_json(value or b"")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])[:_SHOWN_CHARACTERS]
        raise BadQuery(field or "query", first["msg"]) from None
    if form is not None:
        if "form" in query.model_fields_set and query.form != form:
            raise BadQuery("as", f"is {form} here")
        query = query.model_copy(update={"form": form})
    _check_combination(query)
    return query


def _check_combination(query: Query) -> None:
    """Refuse parts that contradict each other. Raises BadQuery."""
    if query.form == "counts":
        _check_counts(query)
    else:
        _refuse_set("is for counts only", by=query.by, buckets=query.buckets, top=query.top)
    if query.around is not None:
        other_form = None if query.form == "lines" else query.form
        _refuse_set("cannot be combined with around", text=query.text, mode=query.mode, **{"as": other_form})
    elif query.text is None:
        _refuse_set("needs a text", mode=query.mode)
        if query.form == "lines" and not query.filters.template:
            raise BadQuery("text", "Field required")


def _check_counts(query: Query) -> None:
    if query.by is not None and len(set(query.by)) < len(query.by):
        raise BadQuery("by", "names the same twice")
    if query.by is not None and "time" not in query.by:
        _refuse_set("needs time among by", buckets=query.buckets)


def _refuse_set(reason: str, **fields: object) -> None:
    """Refuse the first of these fields that is set."""
    for field, value in fields.items():
        if value is not None:
            raise BadQuery(field, reason)


def monotonic_deadline_s(query: Query, *, sent_ms: int, now_s: float, wall_ms: float) -> float | None:
    """Return the deadline on the monotonic clock: `deadline_ms` after the request was sent, after now if that time is unknown.

    `now_s` and `wall_ms` are the same moment on the two clocks; a sender whose clock is ahead gains nothing.
    """
    if query.deadline_ms is None:
        return None
    age_ms = max(wall_ms - sent_ms, 0.0) if sent_ms > 0 else 0.0
    return now_s + (query.deadline_ms - age_ms) / 1000


def is_late(requester: Requester, now_s: float) -> bool:
    """Whether the deadline has passed."""
    return requester.deadline_s is not None and requester.deadline_s <= now_s


def header_of(headers: tuple[Header, ...], name: str) -> bytes | None:
    """Return the value of the last header of that name, as Kafka clients do."""
    return next((content for key, content in reversed(headers) if key == name), None)
