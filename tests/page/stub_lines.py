"""Lines for the stub world: a small shop's log of the last two hours, the same at every start but for the clock.

Errors of payments begin twelve minutes ago, in a burst; warm-ups of the cache were there until an hour ago and are gone since. So every
view has something to show, and a test knows what.
"""

import hashlib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

TOPIC = "logs"
PARTITIONS = 2
EPOCH = "0a0b0c0d"
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
PODS = ("web-1", "web-2", "web-3")
_SEED = 11

Line = dict[str, Any]
"""As a reply shows it, with its `family`, and its `name` if users have named that."""


class Kind(NamedTuple):
    """Lines of one family; each text is a template, `{n}` in it any number."""

    family: str
    texts: tuple[str, ...]
    service: str
    level: str
    weight: int
    """How often it comes, against the others."""
    until_min: int = 0
    """The last came this many minutes ago …"""
    since_min: int = 120
    """… and the first this many."""
    name: str = ""

    @property
    def id(self) -> str:
        """Of the family."""
        return _digest(self.family, 16)


KINDS = (
    Kind("request", ("GET /cart/{n} answered 200 in {n} ms", "POST /cart/{n} answered 201 in {n} ms"), "web", "INFO", 30),
    Kind("login", ("user {n} signed in from 10.0.3.{n}",), "auth", "INFO", 12),
    Kind("query", ("query took {n} ms on the replica",), "database", "DEBUG", 10),
    Kind("retry", ("cannot reach inventory, try {n} of 5",), "web", "WARN", 5),
    Kind("disk", ("disk /dev/sdb1 is {n} % full",), "storage", "WARN", 3),
    Kind("refused", ("connection to database-2 refused after {n} ms", "connection to database-2 reset by peer"), "database", "ERROR", 4),
    Kind("payment", ("payment {n} was declined by the bank",), "payments", "ERROR", 25, since_min=12, name="payment declined"),
    Kind("warm", ("cache warmed with {n} entries",), "web", "INFO", 8, until_min=62),
)
PAYMENT = next(kind for kind in KINDS if kind.family == "payment")
DISK = next(kind for kind in KINDS if kind.family == "disk")
REQUEST = next(kind for kind in KINDS if kind.family == "request")


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
    text = "".join(part if part != "{n}" else str(random.randrange(1, 90)) for part in _parts(pattern))
    fields: dict[str, Any] = {"k8s.pod.name": random.choice(PODS)}
    if kind.level == "ERROR":
        fields |= {"trace_id": f"{random.getrandbits(128):032x}", "http.response.status_code": random.choice([502, 503])}
    return raw_line(text, pattern, kind, number, time_ms, fields)


def raw_line(text: str, pattern: str, kind: Kind, number: int, time_ms: int, fields: Mapping[str, Any] | None = None) -> Line:
    """Return a line with that text as a reply shows it."""
    partition, offset = number % PARTITIONS, number // PARTITIONS
    shown: Line = {
        "text": text,
        "template": _digest(pattern, 32),
        "template_text": pattern.replace("{n}", "<num>"),
        "id": f"{TOPIC}@{EPOCH}/{partition}/{offset}",
        "topic": TOPIC,
        "partition": partition,
        "offset": offset,
        "sub": 0,
        "chunk": 0,
        "chunks": 1,
        "time": time_ms,
        "kafka_time": time_ms + 40,
        "service": kind.service,
        "level": kind.level,
        "family": kind.id,
    }
    if kind.name:
        shown["name"] = kind.name
    if fields:
        shown["fields"] = dict(fields)
    return shown


def newest_first(lines: Sequence[Line]) -> list[Line]:
    """Return them newest first."""
    return sorted(lines, key=lambda line: (-line["time"], -line["offset"], line["partition"]))


def _parts(pattern: str) -> list[str]:
    head, *rest = pattern.split("{n}")
    return [head, *(part for one in rest for part in ("{n}", one))]


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
