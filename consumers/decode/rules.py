"""How the records of a topic are decoded: what the settings say, as the readers take it.

`worker.indexing.pieces` makes one for each `[[topic]]` table; a topic without one has the general rules. Same rules, same bytes, same
Kafka time and headers: same entries.
"""

from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, Literal

Format = Literal["auto", "text", "json", "logfmt", "syslog", "msgpack", "otlp_proto", "otlp_json", "cloudevents", "registry"]
"""`auto` decides for each value: by its headers, then its first bytes, then JSON, then text. It never guesses `otlp_proto` or `logfmt`."""
MAX_RECORD_BYTES = 1_000_000
MAX_OTHER_FIELDS = 16


@dataclass(frozen=True, slots=True)
class Clock:
    """What times mean that leave out part of themselves.

    Thread: any.
    """

    timezone: tzinfo | None = None
    """Zone of those that name none. None: UTC."""
    year: int | None = None
    """Year of those that name none. None: the one that puts them last, but at most a day after Kafka's time."""


UTC_CLOCK: Final = Clock()


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """Names of fields that are looked at before the documented ones, in this order. Dotted names reach into nested objects.

    Thread: any.
    """

    text: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    service: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    """Fields with the template of the text, which the settings trust."""
    keep: tuple[str, ...] = ()
    """Fields that are kept besides the well-known ones, whatever the bound for others is."""
    documented_service: bool = True
    """Whether the documented names of a service count too: in firewalls' records they are what the traffic was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeRules:
    """The rules of one topic.

    Thread: any.
    """

    format: Format = "auto"
    strict: bool = False
    """Whether bytes that are not UTF-8 make a value undecodable; else they are replaced."""
    names: FieldNames = FieldNames()
    source_templates: bool = True
    """Whether a template that a record carries is the template of its line."""
    max_other_fields: int = MAX_OTHER_FIELDS
    """Most fields kept of an entry besides the well-known ones and those in `names.keep`, in the order of the value."""
    clock: Clock = UTC_CLOCK
    max_entries: int = 10_000
    """Most entries of one record."""
    max_record_bytes: int = MAX_RECORD_BYTES
    """Largest value, before and after decompression: JSON takes up to 25 times its size while it is decoded."""
