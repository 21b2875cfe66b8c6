"""A question from outside: JSON, the value of a Kafka record or the body of an HTTP request.

It is untrusted input: every field is typed and bounded.
"""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from sinks.reading.group_names import FIELD, FIELD_NAMES
from worker.asking.filters import LABEL_CHARACTERS, Filters, TimeMs
from worker.asking.moments import MOST_MS
from worker.asking.refusals import BadQuery

MAX_TEXT_CHARACTERS = 4096
MAX_K = 1000
MAX_AROUND = 500
"""Most records before a line, and as many after it."""
MAX_BUCKETS = 1000
MAX_GROUPINGS = 32
"""Counts in one answer."""
MAX_AFTER_CHARACTERS = 400
MAX_DEADLINE_MS = 60_000
"""A query that may wait longer is refused: others wait behind it."""
DeadlineMs = Annotated[int, Field(ge=1, le=MAX_DEADLINE_MS)]
Mode = Literal["dense", "words", "hybrid"]
"""Rank by meaning, by words, or by meaning with words between equals."""
Neighbourhood = Literal["service", "host", "trace"]
"""What lines around one have in common with it."""
GROUPINGS: Final = ("time", "template", "family", "service", "level", "topic", FIELD_NAMES)


def _check_grouping(name: str) -> str:
    if name in GROUPINGS or (name.startswith(FIELD) and name != FIELD):
        return name
    raise ValueError(f"give {', '.join(GROUPINGS)} or {FIELD}NAME")


Grouping = Annotated[str, Field(max_length=LABEL_CHARACTERS + len(FIELD)), AfterValidator(_check_grouping)]
"""One of `GROUPINGS`, or `field:` with the name of a kept field; `field` counts the names of kept fields, by itself."""

_Groups = Annotated[list[Grouping], Field(min_length=1, max_length=2)]
ONE, SEVERAL = "(one)", "(several)"
"""How pydantic names the two in the place of an error, which is no part of the request."""
Groupings = Annotated[
    Annotated[_Groups, Tag(ONE)] | Annotated[list[_Groups], Field(min_length=1, max_length=MAX_GROUPINGS), Tag(SEVERAL)],
    Discriminator(lambda by: SEVERAL if isinstance(by, list) and by and isinstance(by[0], list) else ONE),
]


class Window(BaseModel):
    """`since_ms` ≤ time < `until_ms`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    since_ms: TimeMs
    until_ms: TimeMs


class Around(BaseModel):
    """Asks for the lines around one place in a partition."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    topic: Annotated[str, Field(min_length=1, max_length=LABEL_CHARACTERS)]
    partition: int = Field(ge=0, lt=1 << 31)
    offset: int = Field(ge=0, lt=MOST_MS)
    before: int = Field(default=5, ge=0, le=MAX_AROUND)
    """Kafka records before `offset`, which may hold several lines each; lines where `by` is set."""
    after: int = Field(default=5, ge=0, le=MAX_AROUND)
    by: Neighbourhood | None = None
    """Not set: the records before and after in the partition. Else lines with the same value, of all partitions, in the order of time."""
    sub: int | None = Field(default=None, ge=0, lt=1 << 31)
    """Which line of the record has the value. Not set: the first one that has any."""


class Query(BaseModel):
    """A valid query: what resembles a text, or what one of the other forms says, or the lines around a place."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: str | None = Field(default=None, min_length=1, max_length=MAX_TEXT_CHARACTERS)
    """What to look for. A listing by frequency has none, nor has `around`; with a filter on templates or families it may be missing."""
    operators: bool | None = None
    """`false`: all of the text is text, as of a line that is looked up; else `worker.asking.operators` says what in it is none."""
    rank: bool | None = None
    """`false`: the text only filters, with its operators and with the identifiers that must match; what is left of it is not looked for."""
    form: str = Field(default="lines", alias="as", max_length=32)
    """What the answer holds: the name of one of `worker.querying.forms`."""
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
    by: Groupings | None = None
    """What counts are grouped by; several groupings make several counts. Not set: `time` if there are `buckets`, else `template`. Of a
    comparison one label or field, of which all values are compared; not set: families."""
    facets: bool | None = None
    """Whether counts by one label or field leave out the filters on that label or field."""
    buckets: int | None = Field(default=None, ge=2, le=MAX_BUCKETS)
    """At most how many buckets of time."""
    top: int | None = Field(default=None, ge=1, le=MAX_K)
    """Counts of how many groups, those with the most lines; buckets of time are no groups."""
    widen: bool | None = None
    """Whether to search all time where no line is in the window, or where the text is identifiers only."""
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

    @property
    def groupings(self) -> list[list[Grouping]]:
        """What each of the counts is grouped by."""
        by = self.by or (["template"] if self.buckets is None else ["time"])
        return [groups for groups in by if isinstance(groups, list)] or [[name for name in by if isinstance(name, str)]]

    @property
    def is_several(self) -> bool:
        """Whether the answer has several counts."""
        return self.by is not None and isinstance(self.by[0], list)

    def most_lines(self, default: int) -> int:
        """Return `k`, or `default` if the query does not say."""
        return self.k if "k" in self.model_fields_set else default
