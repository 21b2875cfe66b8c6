"""A query from outside: what a request may say, who waits for the reply, and what the reply is.

A request is JSON: the value of a Kafka record, whose headers name the reply topic and a correlation id (Spring's header names), or the
body of an HTTP request. It is untrusted input: every field is typed and bounded, and filters are values, never expressions. A reply
is JSON over both, and is sent once.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, Literal, NamedTuple, Protocol

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from consumers.record import Header
from sinks.field_pairs import field_text
from sinks.reading.filters import LineFilter
from sinks.reading.places import PLACE_PATTERN
from sinks.reading.tally import FIELD, FIELD_NAMES

REPLY_TOPIC_HEADER = "kafka_replyTopic"
CORRELATION_HEADER = "kafka_correlationId"
MAX_TEXT_CHARACTERS = 4096
MAX_K = 1000
MAX_AROUND = 500
"""Most records before a line, and as many after it."""
MAX_BUCKETS = 1000
MAX_AFTER_CHARACTERS = 400
MAX_DEADLINE_MS = 60_000
"""A query that may wait longer is refused: others wait behind it."""
TRACE_FIELD = "trace_id"
"""The field that the filter `trace_id` asks for."""
_LABEL_CHARACTERS = 256
MOST_MS = 1 << 62
"""No filter on time names one that is further from 1970."""
_SHOWN_CHARACTERS = 100
_TAIL_CURSOR = re.compile(r"[0-9a-f]{8}\.[0-9]{1,15}")

Label = Annotated[str, Field(max_length=_LABEL_CHARACTERS)]
TemplateId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
FamilyId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
TimeMs = Annotated[int, Field(ge=-MOST_MS, le=MOST_MS)]
"""Milliseconds since 1970, far inside 64 bits."""
DeadlineMs = Annotated[int, Field(ge=1, le=MAX_DEADLINE_MS)]


def _as_texts(value: object) -> object:
    """Return the values of a filter as a list of texts: a single one, a number and a boolean may be given as they are."""
    values = value if isinstance(value, list) else [value]
    return [str(one) if type(one) is int else field_text(one) if isinstance(one, float | bool) else one for one in values]


FieldTexts = Annotated[list[Label], BeforeValidator(_as_texts), Field(min_length=1, max_length=100)]
"""Values of a field; a number or a boolean is the text that JSON writes for it."""


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
    family: list[FamilyId] = Field(default=[], max_length=100)
    """Ids of families: lines of a template of one of them."""
    fields: dict[Label, FieldTexts] = Field(default={}, max_length=16)
    """Names of kept fields, each with the value, or a list of values of which a line must have one."""
    trace_id: Label | None = None
    """The value of the field of that name, which is not among `fields` then."""
    not_service: list[Label] = Field(default=[], max_length=100)
    not_level: list[Label] = Field(default=[], max_length=100)
    not_topic: list[Label] = Field(default=[], max_length=100)
    not_template: list[TemplateId] = Field(default=[], max_length=1000)
    not_family: list[FamilyId] = Field(default=[], max_length=100)
    not_fields: dict[Label, FieldTexts] = Field(default={}, max_length=16)
    """As their counterparts: a line that has one of these is no hit, whatever else it matches."""

    def as_line_filter(self) -> LineFilter:
        """Return the same as the reader takes it, but for templates and families, which it gets apart."""
        fields = _pairs(self.fields) if self.trace_id is None else (*_pairs(self.fields), (TRACE_FIELD, self.trace_id))
        return LineFilter(
            self.since_ms,
            self.until_ms,
            tuple(self.service),
            tuple(self.level),
            tuple(self.topic),
            fields,
            not_services=tuple(self.not_service),
            not_levels=tuple(self.not_level),
            not_topics=tuple(self.not_topic),
            not_fields=_pairs(self.not_fields),
        )

    @property
    def names_templates(self) -> bool:
        """Whether templates or families are wanted, or excluded."""
        return bool(self.template or self.family or self.not_template or self.not_family)


def _pairs(fields: Mapping[str, Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, values in fields.items() for value in values)


Mode = Literal["dense", "words", "hybrid"]
"""Rank by meaning, by words, or by both."""
Form = Literal["lines", "templates", "counts", "compare", "export", "tail"]
"""What an answer holds: lines, templates (as families, or one by one) with their counts, counts alone, what differs between two windows,
a stretch of all lines in the order of time, or the lines that are new in the index."""
GROUPINGS: Final = ("time", "template", "family", "service", "level", "topic", FIELD_NAMES)


def _check_grouping(name: str) -> str:
    if name in GROUPINGS or (name.startswith(FIELD) and name != FIELD):
        return name
    raise ValueError(f"give {', '.join(GROUPINGS)} or {FIELD}NAME")


Grouping = Annotated[str, Field(max_length=_LABEL_CHARACTERS + len(FIELD)), AfterValidator(_check_grouping)]
"""One of `GROUPINGS`, or `field:` with the name of a kept field; `field` counts the names of kept fields, by itself."""


class Window(BaseModel):
    """`since_ms` ≤ time < `until_ms`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    since_ms: TimeMs
    until_ms: TimeMs


class Around(BaseModel):
    """Asks for the lines around one place in a partition."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    topic: Annotated[str, Field(min_length=1, max_length=_LABEL_CHARACTERS)]
    partition: int = Field(ge=0, lt=1 << 31)
    offset: int = Field(ge=0, lt=MOST_MS)
    before: int = Field(default=5, ge=0, le=MAX_AROUND)
    """Kafka records before `offset`; a record may hold several lines."""
    after: int = Field(default=5, ge=0, le=MAX_AROUND)


class Query(BaseModel):
    """A valid query: what resembles a text, or what one of the other forms says, or the lines around a place."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: str | None = Field(default=None, min_length=1, max_length=MAX_TEXT_CHARACTERS)
    """What to look for. A listing by frequency has none, nor has `around`; with a filter on templates or families it may be missing."""
    form: Form = Field(default="lines", alias="as")
    k: int = Field(default=10, ge=1, le=MAX_K)
    """Most hits; see `most_lines`."""
    per_template: int | None = Field(default=None, ge=1, le=100)
    """Most lines of one template. Not set: 1, and no bound for a text of identifiers only."""
    per_family: int | None = Field(default=None, ge=1, le=100)
    """Most lines of one family. Not set: as many as of one template, and no bound under a filter on templates or families, nor for a text
    of identifiers only."""
    expand: bool | None = None
    """Of templates and of what differs: list templates one by one, not families."""
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
    compare: Window | None = None
    """What the window of the filters is compared with."""
    after: str | None = Field(default=None, min_length=1, max_length=MAX_AFTER_CHARACTERS)
    """Where an export or a tail goes on: as its last answer said."""
    deadline_ms: DeadlineMs | None = None
    """How long the sender waits: milliseconds after the record's Kafka timestamp, or after the arrival of an HTTP request."""

    @property
    def windows(self) -> tuple[Window, Window]:
        """The two windows of a comparison: now, and what it is compared with. Raises BadQuery unless both ends of both are given."""
        if self.compare is None:
            raise BadQuery("compare", "Field required")
        since_ms, until_ms = self.filters.since_ms, self.filters.until_ms
        if since_ms is None or until_ms is None:
            raise BadQuery(f"filters.{'since_ms' if since_ms is None else 'until_ms'}", "compare needs both ends of both windows")
        windows = Window(since_ms=since_ms, until_ms=until_ms), self.compare
        for field, window in zip(("filters", "compare"), windows, strict=True):
            if window.since_ms >= window.until_ms:
                raise BadQuery(f"{field}.until_ms", "is not after since_ms")
        return windows

    def most_lines(self, default: int) -> int:
        """Return `k`, or `default` if the query does not say."""
        return self.k if "k" in self.model_fields_set else default


ErrorCode = Literal["bad_query", "expired", "abandoned", "unavailable"]
"""Why a query gets no hits: it is not valid, its deadline has passed, nobody waits for it, or the worker cannot answer now."""
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
    is_gone: Callable[[], bool] = lambda: False
    """Whether the requester has stopped waiting; asked by any thread."""


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
    if query.form not in ("templates", "compare"):
        _refuse_set("is for templates and compare only", expand=query.expand)
    if query.form == "compare":
        _ = query.windows
    else:
        _refuse_set("is for compare only", compare=query.compare)
    _check_after(query)
    if query.filters.trace_id is not None and TRACE_FIELD in query.filters.fields:
        raise BadQuery("filters.trace_id", "is among fields as well: give one of both")
    if query.around is not None:
        other_form = None if query.form == "lines" else query.form
        _refuse_set("cannot be combined with around", text=query.text, mode=query.mode, **{"as": other_form})
    elif query.text is None:
        _refuse_set("needs a text", mode=query.mode)
        if query.form == "lines" and not (query.filters.template or query.filters.family):
            raise BadQuery("text", "Field required")


def _check_counts(query: Query) -> None:
    if query.by is not None and len(set(query.by)) < len(query.by):
        raise BadQuery("by", "names the same twice")
    if query.by is not None and FIELD_NAMES in query.by and len(query.by) > 1:
        raise BadQuery("by", f"{FIELD_NAMES} stands alone: it counts names of fields; give {FIELD}NAME to count by values")
    if query.by is not None and "time" not in query.by:
        _refuse_set("needs time among by", buckets=query.buckets)


def _check_after(query: Query) -> None:
    if query.form not in ("export", "tail"):
        _refuse_set("is for export and tail only", after=query.after)
    elif query.after is not None:
        pattern = _TAIL_CURSOR if query.form == "tail" else PLACE_PATTERN
        if not pattern.fullmatch(query.after):
            raise BadQuery("after", "give what the last answer said")
        if query.form == "export" and query.filters.since_ms is None:
            raise BadQuery("filters.since_ms", "is needed beside after: give what the last answer said")


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
