"""Records that can never be indexed, kept whole in a topic of their own, with the reason.

The stages hand a `DeadLetter` to the `DeadLetterSender`, which promises that `delivered` is called exactly once and only
after the broker's acknowledgement. A dead letter that cannot be delivered is the world's fault: it is held and sent again
for ever, its receipt stays open, and the trouble is said once.

Header names: `__connect.errors.*` as Kafka Connect's DeadLetterQueueReporter writes them (all values are UTF-8 text), so
that tools for its dead-letter queues work; `vectail.*` for what it has no name for. The original's headers come first.
"""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from producers.kafka import TOO_LARGE, Header, KafkaProducer, ProducerBroken, QueueFull
from producers.lines import TooLarge

MAX_BYTES: Final = 1_000_000
HEAD_BYTES: Final = 65_536
_PIECES_BYTES: Final = 131_072
_OVERHEAD_BYTES: Final = 100
QUIET_S: Final = 10.0
"""How long no acknowledgement is no news."""
_BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)

PRODUCER_PROPERTIES: Final[Mapping[str, str]] = {
    "message.timeout.ms": "0",
    "linger.ms": "0",
    "batch.num.messages": "1",  # a broker refuses whole batches: one that is too large must not take its neighbours along
    "topic.metadata.propagation.max.ms": "5000",  # say soon that the topic is missing
}
"""What the producer of a DeadLetterSender needs."""


class DeadLetter(NamedTuple):
    """One record that will not be indexed, as it came.

    Thread: any.
    """

    topic: str
    """Where it came from; for a line that never became a record, where it would have gone."""
    partition: int | None
    offset: int | None
    epoch: str
    """Of the topic, as in the row ids; needed to work the record again in place."""
    time_ms: int
    """The record's own Kafka timestamp; when it became a dead letter is the timestamp of the dead letter."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    stage: str
    """Which stage gave it up."""
    reason: str
    """One line."""
    pieces: Sequence[tuple[int, int, str]] = ()
    """(sub, chunk, reason) of each rejected piece; none when the whole record is bad."""
    cut: TooLarge | None = None
    """Set when `value` is only the head of a line that was too large to keep."""

    @classmethod
    def too_large(cls, line: TooLarge, *, topic: str, time_ms: int) -> "DeadLetter":
        """Make the dead letter of a line that never became a record: its head, size and SHA-256, and no coordinates."""
        reason = f"too_large: line {line.number} of {line.file} has {line.size_bytes} bytes"
        return cls(topic, None, None, "", time_ms, None, line.head, (), "feed", reason, (), line)


class Envelope(NamedTuple):
    """A dead letter as Kafka gets it."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]
    is_cut: bool


class _Posted:
    """A dead letter that is not acknowledged yet."""

    __slots__ = ("delivered", "envelope", "letter")

    def __init__(self, letter: DeadLetter, envelope: Envelope, delivered: Callable[[], None]) -> None:
        self.letter = letter
        self.envelope = envelope
        self.delivered = delivered


class DeadLetterSender:
    """Sends dead letters and never gives one up; how many are open is bounded by the ledger, as each holds its receipt.

    Thread: any may call `send`; everything else happens on the producer's delivery thread, so there is no lock.
    """

    def __init__(
        self,
        producer: KafkaProducer,
        topic: str,
        *,
        version: str,
        say: Callable[[str], None],
        max_bytes: int = MAX_BYTES,
        quiet_s: float = QUIET_S,
    ) -> None:
        """Take a `producer` built with PRODUCER_PROPERTIES over the user's and used for nothing else."""
        self._producer = producer
        self._topic = topic
        self._version = version
        self._say = say
        self._max_bytes = max_bytes
        self._quiet_s = quiet_s
        self._posted: deque[_Posted] = deque()
        self._failures = 0
        self._resend_at_s = 0.0
        self._now_s = 0.0
        self._quiet_since_s = 0.0
        self._has_complained = False
        self.in_client = 0
        """How many the client holds, sent and not acknowledged."""
        producer.each_tick(self.tick)

    @property
    def open_letters(self) -> int:
        """How many are not acknowledged yet."""
        return len(self._posted) + self.in_client

    def send(self, letter: DeadLetter, *, delivered: Callable[[], None]) -> None:
        """Take one dead letter; never blocks, never fails. `delivered` is called on the delivery thread."""
        self._posted.append(_Posted(letter, envelope(letter, version=self._version, max_bytes=self._max_bytes), delivered))

    def tick(self, now: float) -> None:
        """Send what is due, and say once when nothing has been acknowledged for a while."""
        self._now_s = now
        if self.in_client == 0:
            self._quiet_since_s = now
        elif now - self._quiet_since_s >= self._quiet_s:
            self._complain(f"no acknowledgement for {self._quiet_s:g} s")
        for _ in range(len(self._posted) if now >= self._resend_at_s else 0):
            posted = self._posted.popleft()
            shaped = posted.envelope
            try:
                self._producer.send(
                    self._topic,
                    key=shaped.key,
                    value=shaped.value,
                    headers=shaped.headers,
                    delivered=partial(self._finish, posted),
                    wait_s=0.0,
                )
            except (QueueFull, ProducerBroken):  # a broken producer is the service's to notice; until then this is held
                self._posted.appendleft(posted)
                return
            self.in_client += 1

    def _finish(self, posted: _Posted, reason: str | None) -> None:
        self.in_client -= 1
        if reason is None:
            self._quiet_since_s = self._now_s
            self._failures = 0
            if self._has_complained:
                self._has_complained = False
                self._say(f"dead letters: {self._topic} takes them again")
            posted.delivered()
        elif self._producer.is_closing:
            self._posted.append(posted)
        else:
            self._hold(posted, reason)

    def _hold(self, posted: _Posted, reason: str) -> None:
        self._posted.append(posted)
        if reason == TOO_LARGE and not posted.envelope.is_cut:
            posted.envelope = envelope(posted.letter, version=self._version, max_bytes=0)
            self._say(f"dead letters: {self._topic} refused one for its size; sending its head, size and SHA-256 instead")
            return
        self._resend_at_s = self._now_s + _BACK_OFF_S[min(self._failures, len(_BACK_OFF_S) - 1)]
        self._failures += 1
        self._complain(reason)

    def _complain(self, reason: str) -> None:
        if not self._has_complained:
            self._has_complained = True
            self._say(f"dead letters: {self._topic} does not take them ({reason}); holding {self.open_letters} and trying again")


def envelope(letter: DeadLetter, *, version: str, max_bytes: int) -> Envelope:
    """Shape a dead letter: all of it if key, value and headers stay within `max_bytes`, else a cut copy of a bounded size.

    A cut copy keeps the first HEAD_BYTES of the value, and key and original headers only as far as they are as small.
    """
    ours = _own_headers(letter, version)
    headers = list(letter.headers)
    size = _size_bytes(letter.key, letter.value, headers + ours)
    if size <= max_bytes:
        return Envelope(letter.key, letter.value, headers + ours, is_cut=letter.cut is not None)
    if _size_bytes(None, None, headers) > HEAD_BYTES:
        ours.append(("vectail.headers.omitted", _text(len(headers))))
        headers = []
    if letter.cut is None:
        ours.append(("vectail.truncated", b"true"))
    key = None if letter.key is None else letter.key[:HEAD_BYTES]
    value = None if letter.value is None else letter.value[:HEAD_BYTES]
    return Envelope(key, value, headers + ours, is_cut=True)


def _own_headers(letter: DeadLetter, version: str) -> list[Header]:
    value = letter.value or b""
    named: dict[str, object] = {
        "__connect.errors.topic": letter.topic,
        "__connect.errors.partition": letter.partition,
        "__connect.errors.offset": letter.offset,
        "__connect.errors.connector.name": "vectail",
        "__connect.errors.stage": letter.stage,
        "__connect.errors.exception.message": letter.reason,
        "vectail.reason": letter.reason,
        "vectail.version": version,
        "vectail.epoch": letter.epoch,
        "vectail.time": letter.time_ms,
        "vectail.size": len(value) if letter.cut is None else letter.cut.size_bytes,
        "vectail.sha256": hashlib.sha256(value).hexdigest() if letter.cut is None else letter.cut.sha256,
    }
    ours = [(name, _text(content)) for name, content in named.items() if content is not None]
    if letter.cut is not None:
        ours.append(("vectail.truncated", b"true"))
    if letter.pieces:
        pieces = _pieces(letter.pieces)
        fits = len(pieces) <= _PIECES_BYTES
        ours.append(("vectail.pieces", pieces) if fits else ("vectail.pieces.omitted", _text(len(letter.pieces))))
    return list[Header](ours)


def _pieces(pieces: Sequence[tuple[int, int, str]]) -> bytes:
    """Render as `{"reason": [[sub, chunk], …], …}`: thousands of pieces mostly share a few reasons."""
    by_reason: dict[str, list[tuple[int, int]]] = {}
    for sub, chunk, reason in pieces:
        by_reason.setdefault(reason, []).append((sub, chunk))
    return json.dumps(by_reason, separators=(",", ":")).encode()


def _size_bytes(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    size = len(key or b"") + len(value or b"") + _OVERHEAD_BYTES
    return size + sum(len(name.encode()) + len(content or b"") + 10 for name, content in headers)


def _text(content: object) -> bytes:
    return str(content).encode(errors="backslashreplace")
