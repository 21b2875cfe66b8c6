"""The tables of the settings file that say what is read and how, topic by topic: `[[topic]]` and `[[drop]]`.

The first `[[topic]]` table whose name or pattern fits a topic holds for it. Patterns are RE2 and must fit whole names or texts.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, model_validator

from consumers.decode.rules import Clock, DecodeRules, FieldNames, Format
from consumers.kafka.source_settings import TopicName
from consumers.kafka.subscription import Subscription, TopicPattern
from worker.settings.tables import DecodeTable, MaskTable, Table


def _check_pattern(pattern: str) -> str:
    from consumers.columns import string_column  # noqa: PLC0415 - commands whose settings have no pattern need not load Arrow
    from consumers.text.regex import find_matching  # noqa: PLC0415 - as above

    try:
        for tried in (pattern, rf"\A(?:{pattern})\z"):
            find_matching(string_column(["x"]), tried)
    except ValueError as error:
        raise ValueError(f"{pattern!r} is no RE2 pattern: {str(error).partition(': ')[2] or error}") from None
    return pattern


def _check_timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is no time zone; zones have names such as Europe/Berlin") from None
    return name


Pattern = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_check_pattern)]


class FieldsTable(Table):
    """Names of fields of structured records, before the usual ones and in this order. A dotted name reaches into nested objects."""

    text: tuple[str, ...] = ()
    """The message."""
    time: tuple[str, ...] = ()
    """When it was logged."""
    level: tuple[str, ...] = ()
    """The level: a word or a number."""
    service: tuple[str, ...] = ()
    """The service that logged it."""
    keep: tuple[str, ...] = ()
    """Fields to keep, besides the well-known ones."""


class MultilineTable(Table):
    """Joins records that are lines of one event: consecutive ones of a partition with the same key."""

    start: Literal["java", "python", "go", "node", "dotnet", "ruby", "php", "rust"] | None = None
    """The traces of this language follow the line before them."""
    pattern: Pattern | None = None
    """A record in whose text this is found begins an event; every other one continues it."""
    max_lines: int = Field(default=500, ge=2, le=10_000)
    """Most records of an event."""
    max_s: float = Field(default=5.0, gt=0, le=3600)
    """Most seconds between the Kafka times of an event's first and last record."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.start is None) == (self.pattern is None):
            raise ValueError("topic.multiline needs either start or pattern")
        return self


class TopicTable(Table):
    """Topics to read, and how their records become lines."""

    name: TopicName | None = None
    """Name of a topic, taken literally. It is waited for if it does not exist yet."""
    pattern: Pattern | None = None
    """Every topic whose whole name fits this (RE2), those created later too. It never fits topics of queries, replies and dead letters, nor
    names that begin with `__`. Either this or `name`."""
    exclude: tuple[Pattern, ...] = ()
    """Patterns of topics that this table is not about, although `pattern` fits them."""
    format: Format = "auto"
    """Format of the records. `auto` decides for each by its headers, its first bytes, JSON, syslog, then text; it never guesses
    `otlp_proto`, `msgpack` or `logfmt`."""
    fields: FieldsTable = FieldsTable()
    """Where structured records have their message, time, level and service, and what else to keep."""
    mask: MaskTable | None = None
    """Masks of these topics in place of `[mask]`."""
    weight: float = Field(default=1.0, ge=0.01, le=100)
    """Share of decoding and of the engine while lines of several topics wait there, in proportion to the other weights. A topic that waits
    alone gets all of it."""
    timezone: Annotated[str, AfterValidator(_check_timezone)] | None = None
    """Zone of times in lines that name none. Not set: UTC."""
    year: int | None = Field(default=None, ge=1970, le=9999)
    """Year of times in lines that name none. Not set: the one that puts a line last before Kafka's time."""
    multiline: MultilineTable | None = None
    """How records that are lines of one event are joined. Not set: each record is an event of its own."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.name is None) == (self.pattern is None):
            raise ValueError("topic needs either name or pattern")
        if self.exclude and self.pattern is None:
            raise ValueError("topic.exclude needs a pattern")
        return self

    @property
    def topic_pattern(self) -> TopicPattern | None:
        """Which topics it is about, if it names none."""
        return None if self.pattern is None else TopicPattern(include=self.pattern, exclude=self.exclude)

    def fits(self, topic: str) -> bool:
        """Whether it is about this topic."""
        pattern = self.topic_pattern
        return topic == self.name if pattern is None else bool(pattern.matching([topic]))

    def rules(self, decode: DecodeTable) -> DecodeRules:
        """Return how records of these topics are decoded."""
        fields = self.fields
        return DecodeRules(
            format=self.format,
            strict=decode.errors == "strict",
            names=FieldNames(
                text=fields.text,
                time=fields.time,
                level=fields.level,
                service=fields.service,
                template=decode.template_fields,
                keep=fields.keep,
            ),
            source_templates=decode.source_templates,
            clock=Clock(None if self.timezone is None else ZoneInfo(self.timezone), self.year),
            max_record_bytes=decode.max_record_bytes,
        )


def subscription_of(tables: Sequence[TopicTable], never: Iterable[str]) -> Subscription:
    """Return which topics these tables read."""
    patterns = tuple(pattern for table in tables if (pattern := table.topic_pattern) is not None)
    return Subscription(names=tuple(table.name for table in tables if table.name is not None), patterns=patterns, never=frozenset(never))
