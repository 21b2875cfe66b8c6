"""The Kafka record of a dead letter: the original record, then vectail's headers, within the size that the topic takes.

Header names: `__connect.errors.*` as Kafka Connect's DeadLetterQueueReporter writes them (all values are UTF-8 text), so tools for its
dead-letter queues work; `vectail.*` for what Connect has no name for. The original headers come first. A replayed letter stays where it is;
a small record after it, without a value, marks it.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from producers.file_lines import LineTooLarge
from producers.kafka import Header

HEAD_BYTES: Final = 65_536
PIECES_BYTES: Final = 2 * HEAD_BYTES
"""Most bytes of the header `vectail.pieces`."""
_REASON_CHARACTERS: Final = 1_000
_OVERHEAD_BYTES: Final = 100


class ListedPiece(NamedTuple):
    """A rejected piece, as a dead letter lists it."""

    sub: int
    chunk: int
    reason: str


class DeadLetter(NamedTuple):
    """One record that will not be indexed, unchanged."""

    topic: str
    """The record's topic; for a line that never became a record, the topic that it was meant for."""
    partition: int | None
    offset: int | None
    epoch: str
    """Of the topic, as in the row ids; needed to replay the record in place."""
    time_ms: int
    """The record's own Kafka timestamp; the dead letter's timestamp says when it became one."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    stage: str
    """The stage that rejected it."""
    reason: str
    """One line."""
    pieces: Sequence[ListedPiece] = ()
    """Rejected pieces; empty if the whole record is rejected."""
    cut: LineTooLarge | None = None
    """Set if `value` is only the head of a line that was too large to keep."""
    trace: Sequence[Header] = ()
    """Carry its trace on; they come last."""

    @classmethod
    def too_large(cls, line: LineTooLarge, *, topic: str, time_ms: int) -> "DeadLetter":
        """Make the dead letter of a line that never became a record: its head, size and SHA-256, and no coordinates."""
        reason = f"too_large: line {line.number} of {line.file} has {line.size_bytes} bytes"
        return cls(topic, None, None, "", time_ms, None, line.head, (), "feed", reason, (), line)


class Envelope(NamedTuple):
    """The Kafka record of a dead letter."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]
    is_cut: bool


def envelope(letter: DeadLetter, *, version: str, max_bytes: int, head_bytes: int = HEAD_BYTES) -> Envelope:
    """Return the whole dead letter if key, value and headers stay within `max_bytes`, else a cut copy of bounded size.

    A cut copy keeps the first `head_bytes` of the value, and key, original headers and pieces only if they are about as small.
    """
    ours = _own_headers(letter, version, pieces_bytes=2 * head_bytes)
    headers = list(letter.headers)
    size = _size_bytes(letter.key, letter.value, headers + ours)
    if size <= max_bytes:
        return Envelope(letter.key, letter.value, headers + ours, is_cut=letter.cut is not None)
    if _size_bytes(None, None, headers) > head_bytes:
        ours.append(("vectail.headers.omitted", _text(len(headers))))
        headers = []
    if letter.cut is None:
        ours.append(("vectail.truncated", b"true"))
    key = None if letter.key is None else letter.key[:head_bytes]
    value = None if letter.value is None else letter.value[:head_bytes]
    return Envelope(key, value, headers + ours, is_cut=True)


def mark_headers(partition: int, offset: int, failing: Sequence[ListedPiece], *, version: str) -> list[Header]:
    """Return the headers of a replay mark for the letter at these coordinates; `failing` are the pieces that still fail."""
    return [
        ("vectail.replayed", _text(f"{partition}/{offset}")),
        ("vectail.version", _text(version)),
        *_piece_headers(failing, PIECES_BYTES),
    ]


def _own_headers(letter: DeadLetter, version: str, *, pieces_bytes: int) -> list[Header]:
    value = letter.value or b""
    reason = letter.reason[:_REASON_CHARACTERS]
    named: dict[str, object] = {
        "__connect.errors.topic": letter.topic,
        "__connect.errors.partition": letter.partition,
        "__connect.errors.offset": letter.offset,
        "__connect.errors.connector.name": "vectail",
        "__connect.errors.stage": letter.stage,
        "__connect.errors.exception.message": reason,
        "vectail.reason": reason,
        "vectail.version": version,
        "vectail.epoch": letter.epoch,
        "vectail.time": letter.time_ms,
        "vectail.size": len(value) if letter.cut is None else letter.cut.size_bytes,
        "vectail.sha256": hashlib.sha256(value).hexdigest() if letter.cut is None else letter.cut.sha256,
    }
    ours = [(name, _text(content)) for name, content in named.items() if content is not None]
    if letter.cut is not None:
        ours.append(("vectail.truncated", b"true"))
    return [*ours, *_piece_headers(letter.pieces, pieces_bytes), *letter.trace]


def _piece_headers(pieces: Sequence[ListedPiece], most_bytes: int) -> list[Header]:
    """List pieces as `{"reason": [[sub, chunk], …], …}`, because thousands of them share a few reasons; too many are only counted."""
    if not pieces:
        return []
    by_reason: dict[str, list[tuple[int, int]]] = {}
    for sub, chunk, reason in pieces:
        by_reason.setdefault(reason[:_REASON_CHARACTERS], []).append((sub, chunk))
    listed = json.dumps(by_reason, separators=(",", ":")).encode()
    return [("vectail.pieces", listed) if len(listed) <= most_bytes else ("vectail.pieces.omitted", _text(len(pieces)))]


def _size_bytes(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    size = len(key or b"") + len(value or b"") + _OVERHEAD_BYTES
    return size + sum(len(name.encode()) + len(content or b"") + 10 for name, content in headers)


def _text(content: object) -> bytes:
    return str(content).encode(errors="backslashreplace")
