"""Lines of known content, questions about how many there are, and the answers by brute force; no code of the product.

`line_of(n)` is always the same line but for its topic and partition. Its kind is the first word of its text, which no other template
begins with, so an answer's template is known by its text. Event times run along two years at once and go a little to and fro, so that
most windows cut blocks. Every 40th line has a template of its own.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

BASES_MS = (1_750_000_000_000, 1_650_000_000_000)
GAP_MS = 10
"""Between the times of a line and of the next."""
RARE = "rare"
"""The service of lines with a template of their own."""
KINDS: Mapping[str, str] = {
    "Kernel": "Kernel reports a failed read of sector {n} on the first disk",
    "Payment": "Payment {n} was declined by the bank",
    "Login": "Login of customer {n} succeeded after one attempt",
    "Replica": "Replica fell {n} ms behind its leader and catches up",
    "Cache": "Cache evicted {n} entries to make room",
    "Shipment": "Shipment {n} left the warehouse without a label",
}
"""By its first word, the text of a kind."""
_SERVICES = ("billing", "checkout", "mailer")
_LEVELS = ("INFO", "INFO", "WARN", "ERROR")
_LETTERS = "ghijklmnopqrstuvwxyz"
TO_AND_FRO_MS = 25 * GAP_MS
SHORT_MS = 300 * GAP_MS
_EVERYTHING = 1_000
"""Most groups that an answer may have."""

BY: tuple[tuple[str, ...], ...] = (
    *(("template",), ("family",), ("service",), ("level",), ("topic",), ("time",)),
    *(("time", "template"), ("time", "level"), ("template", "level"), ("service", "topic"), ("field:n",)),
)
"""What questions group by."""
Key = tuple[str | int, ...]


class Place(NamedTuple):
    topic: str
    partition: int


class CountedLine(NamedTuple):
    number: int
    place: Place
    kind: str
    service: str
    level: str
    time_ms: int

    @property
    def value(self) -> bytes:
        """The value of its record."""
        text = KINDS.get(self.kind, f"{self.kind} was seen in line {{n}}").format(n=self.number)
        document = {"message": text, "service": self.service, "level": self.level, "time": self.time_ms, "n": self.number}
        return json.dumps(document).encode()


class Question(NamedTuple):
    """Which lines are counted, and by what."""

    by: tuple[str, ...]
    filters: Mapping[str, Any] = {}
    """As `POST /api/counts` takes them."""
    kinds: frozenset[str] = frozenset()
    """Only lines of these; none: of any."""
    not_kinds: frozenset[str] = frozenset()
    buckets: int | None = None

    def document(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """Return the body of a request; `ids`: of the templates, by kind."""
        named = {"template": self.kinds, "not_template": self.not_kinds}
        filters = {**self.filters, **{name: sorted(ids[kind] for kind in kinds) for name, kinds in named.items() if kinds}}
        buckets = {} if self.buckets is None else {"buckets": self.buckets}
        return {"by": list(self.by), "top": _EVERYTHING, "filters": filters, **buckets}

    def admits(self, line: CountedLine) -> bool:
        filters = self.filters
        if not filters.get("since_ms", 0) <= line.time_ms < filters.get("until_ms", 1 << 62):
            return False
        if (self.kinds and line.kind not in self.kinds) or line.kind in self.not_kinds:
            return False
        of_line = {"service": line.service, "level": line.level, "topic": line.place.topic}
        wanted = all(value in filters.get(name, (value,)) for name, value in of_line.items())
        return wanted and not any(value in filters.get(f"not_{name}", ()) for name, value in of_line.items())


class Group(NamedTuple):
    """How many lines have one key, and the times of the first and the last."""

    lines: int
    first_ms: int
    last_ms: int


def line_of(number: int, places: Sequence[Place]) -> CountedLine:
    """Return line `number`, of one of these partitions; the last one has a single service and level."""
    chance = Random(number)
    place = chance.choice(places)
    time_ms = BASES_MS[_year(number)] + number * GAP_MS + chance.randrange(-TO_AND_FRO_MS, TO_AND_FRO_MS)
    if number % 40 == 0:
        return CountedLine(number, place, "".join(chance.choices(_LETTERS, k=12)), RARE, "WARN", time_ms)
    service, level = ("mailer", "INFO") if place == places[-1] else (chance.choice(_SERVICES), chance.choice(_LEVELS))
    return CountedLine(number, place, chance.choice(tuple(KINDS)), service, level, time_ms)


def _year(number: int) -> int:
    return int(number % 5 == 0)


def draw(chance: Random, lines: Sequence[CountedLine], known: Collection[str], *, in_a_year: bool = False) -> Question:
    """Draw a question about some of these lines; `known`: kinds whose templates' ids are known.

    `in_a_year`: its window has both ends, in one year, so that no line counts that is newer than these.
    """
    by = chance.choice(BY)
    filters: dict[str, Any] = {}
    if by == ("field:n",):  # a group a line: the window must not hold more than an answer does
        since_ms = chance.choice(lines).time_ms
        filters |= {"since_ms": since_ms, "until_ms": since_ms + SHORT_MS}
    elif in_a_year or chance.random() < 0.6:
        one = chance.choice(lines)
        other = chance.choice([line for line in lines if not in_a_year or _year(line.number) == _year(one.number)])
        ends = dict(zip(("since_ms", "until_ms"), sorted((one.time_ms, other.time_ms)), strict=True))
        left_out = "" if in_a_year else chance.choice(("", "", "since_ms", "until_ms"))
        filters |= {name: time_ms for name, time_ms in ends.items() if name != left_out}
    for name, values in (("service", _SERVICES), ("level", sorted(set(_LEVELS))), ("topic", sorted({one.place.topic for one in lines}))):
        if chance.random() < 0.25:
            filters[chance.choice(("", "not_")) + name] = chance.sample(values, chance.randint(1, len(values) - 1))
    kinds, not_kinds = (frozenset(chance.sample(sorted(known), 2) if len(known) > 1 and chance.random() < 0.15 else ()) for _ in range(2))
    if by == ("family",):  # lines with a template of their own resemble each other
        filters["not_service"] = [*filters.get("not_service", ()), RARE]
    return Question(by, filters, kinds, not_kinds, chance.choice((2, 7, 60, 500)) if "time" in by else None)


def brute_force(lines: Iterable[CountedLine], question: Question, bucket_ms: int) -> dict[Key, Group]:
    found: dict[Key, Group] = {}
    for line in lines:
        if question.admits(line):
            key = tuple(_part(name, line, bucket_ms) for name in question.by)
            group = found.get(key, Group(0, line.time_ms, line.time_ms))
            found[key] = Group(group.lines + 1, min(group.first_ms, line.time_ms), max(group.last_ms, line.time_ms))
    return found


def _part(name: str, line: CountedLine, bucket_ms: int) -> str | int:
    if name == "time":
        return line.time_ms // bucket_ms * bucket_ms
    if name in ("template", "family"):
        return line.kind
    return {"service": line.service, "level": line.level, "topic": line.place.topic, "field:n": str(line.number)}[name]


def answered(question: Question, answer: Mapping[str, Any]) -> dict[Key, Group]:
    """Return the groups of an answer, templates and families by their kinds; each comes once."""
    found: dict[Key, Group] = {}
    for row in answer["counts"]:
        key = tuple(row["text"].split()[0] if name in ("template", "family") else row[name] for name in question.by)
        assert key not in found, f"{key} comes twice"
        found[key] = Group(row["lines"], row["first"], row["last"])
    return found


def wrong_groups(counted: Mapping[Key, Group], least: Mapping[Key, Group], most: Mapping[Key, Group]) -> dict[Key, tuple[int, int, int]]:
    """Return the groups that have fewer lines than `least` or more than `most`: what is counted, between both bounds.

    Where both bounds agree, the times must be right as well.
    """
    none = Group(0, 0, 0)
    wrong: dict[Key, tuple[int, int, int]] = {}
    for key in counted.keys() | most.keys():
        low, ours, high = (groups.get(key, none) for groups in (least, counted, most))
        if not low.lines <= ours.lines <= high.lines or (low == high != ours):
            wrong[key] = low.lines, ours.lines, high.lines
    return wrong
