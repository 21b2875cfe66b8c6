"""Records with deterministic content, each with its required outcome; the oracle's own model, without product code.

`content(n)` is always the same record. Of every 200, four cannot be decoded, four are tombstones, four are empty, four hold no
entry, twenty are JSON arrays of three entries with a hole, and one is a long line that makes several chunks.
"""

import json
import random
from typing import Literal, NamedTuple

Fate = Literal["rows", "dead_letter", "dropped"]

BASE_MS = 1_750_000_000_000
LONG_CHARACTERS = 1_400
_SERVICES = ("billing", "checkout", "gateway", "ingest", "mailer", "scheduler")
_LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
_VERBS = ("accepted", "closed", "deferred", "dropped", "opened", "refused", "replayed", "retried", "served", "timed out on")
_NOUNS = ("basket", "connection", "cursor", "invoice", "lease", "message", "order", "session", "shard", "snapshot", "token", "voucher")
_PLACES = ("cache", "database", "disk", "gateway", "index", "kernel", "mirror", "queue", "replica", "socket", "tenant", "warehouse")
_ALPHABET = "abcdefghijklmnopqrstuvwxyzäöü"


class Entry(NamedTuple):
    """A log entry that must be stored."""

    sub: int
    text: str
    service: str = ""
    level: str = ""


class Content(NamedTuple):
    """One record before it is sent, with its required outcome."""

    value: bytes | None
    fate: Fate
    entries: tuple[Entry, ...] = ()
    reason: str = "undecodable: not valid UTF-8"
    """How the reason of its dead letter begins."""


class Sent(NamedTuple):
    """One record that the broker has acknowledged."""

    partition: int
    offset: int
    time_ms: int
    content: Content
    epoch: str = ""
    """The epoch of its topic; a re-created topic has another one."""


def content(number: int) -> Content:
    chance = random.Random(number)
    found = _odd(number)
    if found is not None:
        return found
    if number % 200 == 45:
        return _plain(_long_text(chance, number))
    if number % 10 == 3:
        return _array(chance, number)
    bracket = "{" if number % 200 == 99 else ""
    return _plain(bracket + _sentence(chance, number))


def _odd(number: int) -> Content | None:
    """Return a record that makes no rows, if this number belongs to one."""
    entryless = b"[]" if number % 100 == 37 else b"[{}, {}]"
    return {
        7: Content(None, "dropped"),
        17: Content(b"", "dropped"),
        27: Content(b"\xff\xc0 not text, record %d" % number, "dead_letter"),
        37: Content(entryless, "dropped"),
    }.get(number % 50)


def strange(number: int) -> Content:
    """Return a record with its own template: one word in it occurs nowhere else, so each needs the engine."""
    return _plain(f"the {_word(random.Random(-number), 12)} was here, number {number}")


def _plain(text: str) -> Content:
    line_end = ("", "\n", "\r\n")[len(text) % 3]
    return Content((text + line_end).encode(), "rows", (Entry(0, text),))


def _array(chance: random.Random, number: int) -> Content:
    entries = [
        Entry(sub, f"{_sentence(chance, number)}, part {sub}", chance.choice(_SERVICES), chance.choice(_LEVELS)) for sub in (0, 1, 3)
    ]
    documents: list[dict[str, str]] = [{"message": entry.text, "service": entry.service, "level": entry.level} for entry in entries]
    documents.insert(2, {})
    return Content(json.dumps(documents, ensure_ascii=number % 2 == 0).encode(), "rows", tuple(entries))


def _sentence(chance: random.Random, number: int) -> str:
    verb, noun, place = chance.choice(_VERBS), chance.choice(_NOUNS), chance.choice(_PLACES)
    rare = f" with {_word(chance, 5)}" if number % 20 == 0 else ""
    return f"{place} {verb} {noun} id={number}{rare} after {chance.randrange(1, 5000)} ms"


def _long_text(chance: random.Random, number: int) -> str:
    words = [f"stack of record {number}:"]
    size = 0
    while size < LONG_CHARACTERS:
        words.append(_word(chance, chance.randrange(2, 14)) + chance.choice((" ", " ", ". ", "\n\t", "  ")))
        size += len(words[-1])
    return "".join(words) + "end"


def _word(chance: random.Random, letters: int) -> str:
    return "".join(chance.choices(_ALPHABET, k=letters))
