"""The topics of `benchmarks.growth`: what lies in them before a worker starts.

Lines are synthetic, copied with other digits (`benchmarks.copies`). Long ones are several after each other, short ones the last bytes of
one. A new template is a known line behind two words that no other line has.
"""

import uuid
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from benchmarks.copies import copies, texts_of_files
from benchmarks.send import send
from consumers.text.mask import Masker
from worker.runtime.kafka_admin import KafkaAdmin

_TEXTS, _LONG_TEXTS = 8_000, 400
"""Lines of which all others are copies."""
_LONG_BYTES = 1_000
_TO_PARTITION = 500
"""Lines in a row that go to one partition, as a producer with a sticky partitioner sends them."""
_MASKED_AT_ONCE = 4_000
_SEED = 7
_SYLLABLES = tuple(first + second for first in "bdfgklmnprstvz" for second in "aeiou")


class Point(NamedTuple):
    """One place on an axis: what a worker is given there."""

    axis: str
    at: float
    """Where on the axis, in its unit."""
    records: int
    partitions: int = 4
    workers: int = 1
    line_bytes: int | None = None
    """None: as synthetic lines are."""
    new_share: float = 0.0
    """Of the lines: how many have a template of their own."""
    trickle_s: float = 0.0
    """How long lines arrive one by one afterwards."""


class FilledTopic(NamedTuple):
    """A topic that waits for its reader."""

    topic: str
    warm_topic: str
    warm_records: int
    records: int
    value_bytes: int
    """Of all records."""
    known: Sequence[str]
    """Lines whose templates are in the warm topic."""


def lines_of(records: int, line_bytes: int | None) -> list[str]:
    """Return that many lines, all of that many bytes or as they are."""
    texts = [text.replace("\n", " ") for text in texts_of_files([])[:_TEXTS]]
    if line_bytes is not None:
        texts = [_of_length(texts, number, line_bytes) for number in range(_TEXTS if line_bytes < _LONG_BYTES else _LONG_TEXTS)]
    return [text for copy in copies(texts, records) for text in copy]


def _of_length(texts: Sequence[str], number: int, line_bytes: int) -> str:
    joined = ""
    while len(joined) <= line_bytes:
        joined += texts[number % len(texts)].encode("ascii", "ignore").decode() + " "
        number += 1
    return joined[-line_bytes - 1 : -1]


def new_line(number: int, text: str) -> str:
    """Return a line as long as a known one (or as its own two words) with a template that no other number has."""
    size, words = len(_SYLLABLES), list[str]()
    for _ in range(2):
        number, first = divmod(number, size)
        number, second = divmod(number, size)
        words.append(f"{_SYLLABLES[first]}{_SYLLABLES[second]}q")
    front = " ".join(words)
    return f"{front} {text}"[: max(len(text), len(front))]


class TopicFiller:
    """Creates and fills topics; those with the same known lines share a warm topic.

    Thread: one.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._admin = KafkaAdmin(bootstrap_servers, {})

    def fill(self, points: Sequence[Point]) -> dict[Point, FilledTopic]:
        """Fill a topic for each point; points with lines of one length together."""
        filled: dict[Point, FilledTopic] = {}
        for line_bytes in dict.fromkeys(point.line_bytes for point in points):
            some = [point for point in points if point.line_bytes == line_bytes]
            lines = lines_of(max(point.records for point in some), line_bytes)
            # The chunks of a long line are masked one by one, and other digits may give other templates.
            warm = lines if (line_bytes or 0) >= _LONG_BYTES else _one_of_each_template(lines)
            name = f"warm-{uuid.uuid4().hex[:8]}"
            self._send(name, 1, warm)
            for point in some:
                topic = f"{point.axis}-{uuid.uuid4().hex[:8]}"
                values = _with_new(lines[: point.records], point.new_share)
                value_bytes = self._send(topic, point.partitions, values)
                filled[point] = FilledTopic(topic, name, len(warm), len(values), value_bytes, lines[:2_000])
        return filled

    def _send(self, topic: str, partitions: int, texts: Sequence[str]) -> int:
        self._admin.create_topic(topic, partitions=partitions, replication_factor=1)
        values = [text.encode() for text in texts]
        in_a_row = max(min(_TO_PARTITION, len(values) // partitions), 1)
        send(self._bootstrap_servers, topic, values, partitions=partitions, in_a_row=in_a_row)
        return sum(map(len, values))


def _one_of_each_template(lines: Sequence[str]) -> list[str]:
    by_template: dict[str, str] = {}
    for part in range(0, len(lines), _MASKED_AT_ONCE):
        some = lines[part : part + _MASKED_AT_ONCE]
        by_template.update(zip(Masker().mask(some), some, strict=True))
    return list(by_template.values())


def _with_new(lines: list[str], share: float) -> list[str]:
    chosen = set(Random(_SEED).sample(range(len(lines)), round(share * len(lines))))
    return [new_line(number, line) if number in chosen else line for number, line in enumerate(lines)] if chosen else lines
