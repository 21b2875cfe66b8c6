"""The arguments of the MCP tools: typed and bounded, with the descriptions that a client shows to its model.

`worker.serving.mcp_tools` reads calls with them. Times are ISO 8601 or spans before now; a query has them as milliseconds since 1970.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from worker.asking.filters import EXCLUDES, FILTERS, LABEL_CHARACTERS, Of
from worker.asking.moments import moment_ms, shown_time, since_ms
from worker.asking.places import RecordPlace
from worker.asking.question import MAX_BUCKETS, MAX_K, Grouping, Neighbourhood

MOST_CHARACTERS: Final = 100_000
_TIME: Final = "A span before now (15m, 7d) or ISO 8601."

# A model reads every word of a schema: it does not say how long a time or a list may be.
Moment = Annotated[str, Field(min_length=1, max_length=40), WithJsonSchema({"type": "string"})]
Names = Annotated[
    list[Annotated[str, Field(max_length=256)]], Field(max_length=100), WithJsonSchema({"type": "array", "items": {"type": "string"}})
]
Values = Annotated[dict[str, str | list[str]], Field(max_length=16), WithJsonSchema({"type": "object"})]
Question = Annotated[str, Field(min_length=1, max_length=4_096)]


class BadArgument(Exception):
    """An argument cannot be used; the message names it and says what to give."""


class WindowArguments(NamedTuple):
    """A span of time in milliseconds since 1970; None: open. The end is exclusive."""

    since_ms: int | None
    until_ms: int | None

    def filters(self) -> dict[str, int]:
        """Return the ends that are set, as filters of a query."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Sized(BaseModel):
    """The argument that every tool has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_characters: int = Field(
        default=8_000,
        ge=1_000,
        le=MOST_CHARACTERS,
        description="The answer is never longer than this; left_out says what was left out to fit.",
    )


class Windowed(Sized):
    """The arguments of tools that look at a span of time."""

    since: Moment | None = Field(default=None, description=f"Only lines from then on. {_TIME} `all`: from the first line on.")
    until: Moment | None = Field(default=None, description=f"Only lines before then. {_TIME} Default: now.")

    def window(self, now_ms: int) -> WindowArguments:
        """Return the span of time. Raises BadArgument."""
        return window_of(self.since, self.until, now_ms)

    def filters(self, now_ms: int) -> dict[str, object]:
        """Return the filters of a query. Raises BadArgument."""
        return {**self.window(now_ms).filters(), **{name: value for name in FILTERS if (value := getattr(self, name, None))}}


def _filter_argument(name: str, of: Of) -> tuple[Any, Any]:
    wanted = not name.startswith(EXCLUDES)
    example = f" ({of.example})" if wanted and of.example else ""
    lines = f"{'Only' if wanted else 'No'} lines {'with' if of.kind == 'pairs' else 'of'} these {of.many}{example}."
    if of.field:
        return str, Field(default="", max_length=LABEL_CHARACTERS, description=f"Only lines of this {of.one}.")
    return (Values, Field(default={}, description=lines)) if of.kind == "pairs" else (Names, Field(default=[], description=lines))


if TYPE_CHECKING:
    Filtered = Windowed
    FilteredByTemplates = Windowed
else:
    _ARGUMENTS = {name: _filter_argument(name, of) for name, of in FILTERS.items()}
    Filtered = create_model(
        "Filtered",
        __base__=Windowed,
        __doc__="The arguments of tools that look at some of the lines.",
        **{name: argument for name, argument in _ARGUMENTS.items() if not FILTERS[name].is_of_search},
    )
    FilteredByTemplates = create_model(
        "FilteredByTemplates",
        __base__=Filtered,
        __doc__="The same, with those that only a search needs.",
        **{name: argument for name, argument in _ARGUMENTS.items() if FILTERS[name].is_of_search},
    )


class OverviewArguments(Filtered):
    """Of `overview`."""

    since: Moment | None = Field(default="1h", description=f"Only lines from then on. {_TIME} `all`: from the first line on.")


class SearchArguments(FilteredByTemplates):
    """Of `search`."""

    query: Question | None = Field(
        default=None,
        description="What to look for, in your own words; or an id (a request, an address), which is looked for in all lines."
        ' Lines must have "exact words", must not have -words; OR joins words of which one is enough; level:ERROR is a filter.'
        " Without it, and with family or template: their newest lines.",
    )
    mode: Literal["dense", "words", "hybrid"] | None = Field(
        default=None, description="Rank by meaning (dense), by words, or by meaning first (hybrid). Default: hybrid; words for ids."
    )
    k: int = Field(default=10, ge=1, le=1_000, description="How many hits; each is of another family unless per_family says otherwise.")
    per_family: int | None = Field(default=None, ge=1, le=100, description="How many lines of one family. Default: 1.")


class TemplatesArguments(Filtered):
    """Of `templates`."""

    since: Moment | None = Field(default="1h", description=f"Only lines from then on. {_TIME} `all`: from the first line on.")
    query: Question | None = Field(default=None, description="Templates nearest in meaning to this. Default: the most frequent.")
    expand: bool = Field(default=False, description="List templates one by one, not as families.")
    k: int = Field(default=20, ge=1, le=1_000, description="How many families, or templates.")


class CountsArguments(Filtered):
    """Of `counts`."""

    since: Moment | None = Field(default="1h", description=f"Only lines from then on. {_TIME} `all`: from the first line on.")
    query: Question | None = Field(default=None, description="Count the lines of the families that fit this. Default: all lines.")
    by: Annotated[list[Grouping], WithJsonSchema({"type": "array", "items": {"type": "string"}})] = Field(
        default=["service"],
        min_length=1,
        max_length=2,
        description="One or two of time, template, family, service, level, topic, field:NAME; or field alone: which fields there are.",
    )
    buckets: int | None = Field(default=None, ge=2, le=MAX_BUCKETS, description="By time: at most this many buckets. Default: 60.")
    top: int = Field(default=20, ge=1, le=MAX_K, description="How many groups, those with the most lines.")


class CompareArguments(Filtered):
    """Of `compare`."""

    since: Moment | None = Field(default="1h", description=f"Where the window that you ask about begins. {_TIME}")
    until: Moment | None = Field(default=None, description=f"Where it ends. {_TIME} Default: now.")
    before_since: Moment | None = Field(
        default=None, description=f"Where the window to compare with begins. {_TIME} Default: it is as long as the other."
    )
    before_until: Moment | None = Field(default=None, description=f"Where that ends. {_TIME} Default: where the other begins.")
    query: Question | None = Field(default=None, description="Compare only the templates that fit this. Default: all.")
    expand: bool = Field(default=False, description="Compare templates one by one, not as families.")
    k: int = Field(default=10, ge=1, le=1_000, description="How many of each change.")

    def windows(self, now_ms: int) -> tuple[WindowArguments, WindowArguments]:
        """Return the window that is asked about and the one that it is compared with; both have two ends. Raises BadArgument."""
        now = window_of(self.since, self.until, now_ms)
        until_ms = now_ms if now.until_ms is None else now.until_ms
        if now.since_ms is None:
            raise BadArgument("since: compare needs a beginning, such as 1h")
        before_until = now.since_ms if self.before_until is None else _moment_ms("before_until", self.before_until, now_ms)
        length = until_ms - now.since_ms
        before_since = before_until - length if self.before_since is None else _moment_ms("before_since", self.before_since, now_ms)
        _check_order("before_since", "before_until", before_since, before_until)
        _check_order("since", "until", now.since_ms, until_ms)
        return WindowArguments(now.since_ms, until_ms), WindowArguments(before_since, before_until)


class AroundArguments(Sized):
    """Of `around`."""

    where: Annotated[str, Field(max_length=300)] = Field(description="The place of a line, as hits show it under `where`: logs/0@123.")
    before: int = Field(default=5, ge=0, le=500, description="How many Kafka records before it.")
    after: int = Field(default=5, ge=0, le=500, description="How many after it.")
    by: Neighbourhood | None = Field(
        default=None,
        description="Instead of the records of its partition: the lines of the same service, host or trace, of all partitions, by time.",
    )

    def query(self) -> dict[str, object]:
        """Return the part of a query. Raises BadArgument."""
        try:
            place = RecordPlace.read(self.where)._asdict()
        except ValueError as error:
            raise BadArgument(f"where: {error}") from None
        return {**place, "before": self.before, "after": self.after, **({} if self.by is None else {"by": self.by})}


class LookupArguments(Sized):
    """Of `lookup`."""

    line: Annotated[str, Field(min_length=1, max_length=60_000)] = Field(description="A log line as it was written, from anywhere.")
    topic: Annotated[str, Field(max_length=256)] | None = Field(
        default=None, description="The Kafka topic that it would come from: its settings decide how it is masked. Default: try all."
    )
    new_since: Moment = Field(default="24h", description=f"It is new if its kind was first seen after this. {_TIME}")

    def new_since_ms(self, now_ms: int) -> int:
        """Return from when on a template is new. Raises BadArgument."""
        return _moment_ms("new_since", self.new_since, now_ms)


def window_of(since: str | None, until: str | None, now_ms: int) -> WindowArguments:
    """Read both ends of a span of time. Raises BadArgument."""
    try:
        begin_ms = None if since is None else since_ms(since, now_ms)
    except ValueError as error:
        raise BadArgument(f"since: {error}") from None
    until_ms = None if until is None else _moment_ms("until", until, now_ms)
    if begin_ms is not None and until_ms is not None:
        _check_order("since", "until", begin_ms, until_ms)
    return WindowArguments(begin_ms, until_ms)


def _moment_ms(name: str, text: str, now_ms: int) -> int:
    try:
        return moment_ms(text, now_ms)
    except ValueError as error:
        raise BadArgument(f"{name}: {error}") from None


def _check_order(first: str, last: str, since_ms: int, until_ms: int) -> None:
    if since_ms >= until_ms:
        raise BadArgument(f"{first}: {shown_time(since_ms)} is not before {last}, {shown_time(until_ms)}")
