"""Lines for the stub world: a small shop's log of the last two hours, the same at every start but for the clock.

Errors of payments begin twelve minutes ago, in a burst; warm-ups of the cache were there until an hour ago and are gone since. So every
view has something to show, and a test knows what.
"""

import json
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from consumers.text.families import family_of
from sinks.line import Line
from tests.world import line
from worker.querying.template_groups import named_family
from worker.settings.template_tables import TemplateTable

PARTITIONS = 2
MINUTE_MS = 60_000
PODS = ("web-1", "web-2", "web-3")
NAMED = (TemplateTable.model_validate({"name": "payment declined", "pattern": "was declined by the bank"}),)
_SEED = 11


class Kind(NamedTuple):
    """Lines of one family; each text is a template, `{n}` in it any number."""

    texts: tuple[str, ...]
    service: str
    level: str
    weight: int = 1
    """How often it comes, against the others."""
    until_min: int = 0
    """The last came this many minutes ago …"""
    since_min: int = 120
    """… and the first this many."""
    name: str = ""
    """What users call it."""

    @property
    def id(self) -> str:
        """Of the family."""
        return named_family(self.name) if self.name else family_of(masked(self.texts[0]))


REQUEST = Kind(("GET /cart/{n} answered 200 in {n} ms", "GET /order/{n} answered 201 in {n} ms"), "web", "INFO", 30)
DISK = Kind(("disk /dev/sdb1 is {n} % full",), "storage", "WARN", 3)
PAYMENT = Kind(("payment {n} was declined by the bank",), "payments", "ERROR", 25, since_min=12, name="payment declined")
KINDS = (
    REQUEST,
    Kind(("user {n} signed in from 10.0.3.{n}",), "auth", "INFO", 12),
    Kind(("query took {n} ms on the replica",), "database", "DEBUG", 10),
    Kind(("cannot reach inventory, try {n} of 5",), "web", "WARN", 5),
    DISK,
    Kind(("connection to db-2.shop refused after {n} ms", "connection to db-3.shop refused after {n} ms"), "database", "ERROR", 4),
    PAYMENT,
    Kind(("cache warmed with {n} entries",), "web", "INFO", 8, until_min=62),
)


def masked(pattern: str) -> str:
    """Return the text of the template."""
    return pattern.replace("{n}", "<num>")


def shop_lines(now_ms: int, count: int = 900) -> list[Line]:
    """Return the lines up to `now_ms`, oldest first; the newest few seconds have some too."""
    random = Random(_SEED)
    lines: list[Line] = []
    for number in range(count):
        age_ms = int(120 * MINUTE_MS * (1 - (number + 1) / count))
        there = [kind for kind in KINDS if kind.until_min * MINUTE_MS <= age_ms <= kind.since_min * MINUTE_MS]
        kind = random.choices(there, [one.weight for one in there])[0]
        lines.append(line_of(kind, number, now_ms - age_ms, random))
    return lines


def line_of(kind: Kind, number: int, time_ms: int, random: Random) -> Line:
    """Return line `number` of the topic, of a template of that kind."""
    pattern = random.choice(kind.texts)
    first, *rest = pattern.split("{n}")
    text = first + "".join(f"{random.randrange(1, 90)}{part}" for part in rest)
    fields: dict[str, Any] = {"k8s.pod.name": random.choice(PODS)}
    if kind.level == "ERROR":
        fields |= {"trace_id": f"{random.getrandbits(128):032x}", "http.response.status_code": random.choice([502, 503])}
    return raw_line(text, masked(pattern), kind, number, time_ms, fields)


def raw_line(text: str, template_text: str, kind: Kind, number: int, time_ms: int, fields: Mapping[str, Any]) -> Line:
    """Return a line with that text."""
    offset, partition = divmod(number, PARTITIONS)
    labels = {"service": kind.service, "level": kind.level, "fields": json.dumps(fields)}
    return line(offset, partition=partition, text=text, template_text=template_text, time=time_ms, kafka_time=time_ms + 40, **labels)
