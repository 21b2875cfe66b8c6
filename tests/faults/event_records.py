"""Records of which several are one entry, or which hold several: what each is, and which lines it must leave.

Four kinds: lines of Java's traces, pieces of a container's lines (CRI), batches of OTLP, JSON arrays. Every line occurs once. Which records
become one entry depends on the settings and on where reading begins; which lines a record leaves depends on its format alone. No product
code.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Literal, NamedTuple

from tests.faults.records import BASE_MS

Kind = Literal["traces", "containers", "otlp", "arrays"]
Format = Literal["auto", "text"]
"""As `topic.format`."""

EVENT_MS = 100
"""Between the first records of two events."""
_MOST_FRAMES = 16
_MOST_PIECES = 16
_MOST_ENTRIES = 5
_RARE = 20
"""One event in so many has a template of its own."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class EventRecord(NamedTuple):
    """One record before it is sent."""

    time_ms: int
    """Kafka's; later than that of every record of an earlier event."""
    value: bytes
    lines: tuple[str, ...]
    """What `auto` reads: one line of a joined event, or the entries of a batch."""
    is_first: bool = True
    """It begins an event."""

    def lines_as(self, form: Format) -> tuple[str, ...]:
        """Return its lines when it was read in this format."""
        return (self.value.decode(),) if form == "text" and _is_batch(self.value) else self.lines


def event(kind: Kind, number: int) -> list[EventRecord]:
    """Return the records of event `number` of all kinds, always the same."""
    chance, begin_ms = Random(number), BASE_MS + number * EVENT_MS
    if kind == "traces":
        texts = _trace(chance, number)
        return [EventRecord(begin_ms + at, text.encode(), (text,), at == 0) for at, text in enumerate(texts)]
    if kind == "containers":
        pieces = [f"<{_rare(chance, number)}piece {at} of line {number}>" for at in range(chance.randint(1, _MOST_PIECES))]
        tags = ["P"] * (len(pieces) - 1) + ["F"]
        values = [f"{_iso(begin_ms + at)} stdout {tag} {piece}" for at, (tag, piece) in enumerate(zip(tags, pieces, strict=True))]
        return [EventRecord(begin_ms + at, values[at].encode(), (piece,), at == 0) for at, piece in enumerate(pieces)]
    lines = tuple(f"{_rare(chance, number)}{kind} {number} sold part {at}" for at in range(chance.randint(1, _MOST_ENTRIES)))
    return [EventRecord(begin_ms, json.dumps(_otlp(lines) if kind == "otlp" else [{"message": one} for one in lines]).encode(), lines)]


def is_joined(kind: Kind) -> bool:
    """Return whether several records may be one entry."""
    return kind in ("traces", "containers")


def lines_in(kind: Kind, text: str) -> list[str]:
    """Return the lines that an entry with this text is joined of."""
    if kind == "traces":
        return text.split("\n")
    if kind == "containers":
        return [f"{piece}>" for piece in text.removesuffix(">").split(">")]
    return [text]


def joined(kind: Kind, lines: Sequence[str]) -> str:
    """Return the text of an entry that is joined of these lines."""
    return ("\n" if kind == "traces" else "").join(lines)


def _trace(chance: Random, number: int) -> list[str]:
    if chance.random() < 0.4:
        return [f"INFO {_rare(chance, number)}order {number} is paid"]
    frames = [f"\tat shop.Order.step{at}(Order.java:{number})" for at in range(chance.randint(1, _MOST_FRAMES))]
    if len(frames) > 2:
        frames.insert(2, f"Caused by: java.io.IOException: order {number} has gone")
    return [f"ERROR {_rare(chance, number)}order {number} failed", f"java.lang.IllegalStateException: order {number} is broken", *frames]


def _rare(chance: Random, number: int) -> str:
    return "".join(chance.choices(_LETTERS, k=12)) + " " if number % _RARE == 0 else ""


def _otlp(lines: Sequence[str]) -> dict[str, object]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": line}} for line in lines]}]}]}


def _is_batch(value: bytes) -> bool:
    return value[:1] in (b"[", b"{")


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "000000Z")
