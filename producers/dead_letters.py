"""Keeps records that can never be indexed, whole and with the reason: a `LetterBox`, which is a Kafka topic of their own.

The stages pass a `DeadLetter` to the box, which calls `delivered` exactly once, when the letter is kept for good. A dead letter that
cannot be delivered is held and sent again without limit: its receipt stays open, and one line reports the fault.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from producers.envelope import HEAD_BYTES, DeadLetter, Envelope, ListedPiece, envelope, mark_headers
from producers.kafka import TOO_LARGE, KafkaProducer, OutgoingRecord, ProducerBroken, QueueFull

__all__ = ["HEAD_BYTES", "PRODUCER_PROPERTIES", "DeadLetter", "Envelope", "LetterBox", "LetterUndelivered", "TopicLetterBox", "envelope"]

MAX_BYTES: Final = 1_000_000
_HEADS_BYTES: Final = (HEAD_BYTES, 4_096, 256)
"""Sizes of the head that is kept of a record that the topic refuses for its size, tried in this order."""
QUIET_S: Final = 10.0
"""Silence is reported after this long without an acknowledgement."""
_BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)

PRODUCER_PROPERTIES: Final[Mapping[str, str]] = {
    "message.timeout.ms": "0",
    "linger.ms": "0",
    "batch.num.messages": "1",  # a broker refuses whole batches, so one large letter would fail its neighbours
    "topic.metadata.propagation.max.ms": "5000",  # report a missing topic soon
}
"""Properties that the producer of a TopicLetterBox needs."""


class LetterUndelivered(Exception):
    """The box did not take something; one line."""


class LetterBox(Protocol):
    """Where dead letters are kept.

    Thread: any.
    """

    @property
    def name(self) -> str:
        """What a message calls it."""

    @property
    def fatal(self) -> str | None:
        """Why nothing can be delivered any more, in one line, or None."""

    @property
    def open_letters(self) -> int:
        """Letters that are not acknowledged yet."""

    def send(self, letter: DeadLetter, *, delivered: Callable[[], None]) -> None:
        """Take one dead letter; never blocks, never fails. `delivered` is called on a thread of the box."""

    def mark(
        self, place: tuple[int, int], failing: Sequence[ListedPiece], *, delivered: Callable[[str | None], None], wait_s: float
    ) -> None:
        """Mark the letter at a place as replayed, but for the pieces that still fail; sent once.

        `delivered` gets None, or why it was not kept. Raises LetterUndelivered if the box has no room for `wait_s`, or is broken.
        """

    def close(self, timeout_s: float) -> int:
        """Deliver what is open; return how many were not. Safe to call twice."""


class _OpenLetter:
    """A dead letter that is not acknowledged yet."""

    __slots__ = ("cuts", "delivered", "envelope", "letter")

    def __init__(self, letter: DeadLetter, envelope: Envelope, delivered: Callable[[], None]) -> None:
        self.letter = letter
        self.envelope = envelope
        self.delivered = delivered
        self.cuts = int(envelope.is_cut)
        """How many of `_HEADS_BYTES` have been tried."""


class TopicLetterBox:
    """A topic of dead letters. It never drops one; the ledger bounds how many are open, because each holds its receipt.

    Thread: any may call `send`; everything else runs on the producer's delivery thread, so there is no lock.
    """

    def __init__(
        self,
        producer: KafkaProducer,
        topic: str,
        *,
        version: str,
        say: Callable[[str], None],
        quiet_s: float = QUIET_S,
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        """`producer` has PRODUCER_PROPERTIES over the user's, is used for nothing else, and is closed with the box."""
        self._producer = producer
        self._topic = topic
        self._version = version
        self._say = say
        self._quiet_s = quiet_s
        self._fail_point = fail_point
        self._unsent: deque[_OpenLetter] = deque()
        self._failures = 0
        self._resend_at_s = 0.0
        self._now_s = 0.0
        self._quiet_since_s = 0.0
        self._has_reported_fault = False
        self.in_client = 0
        """Letters that are sent and not acknowledged."""
        producer.each_tick(self.tick)

    @property
    def name(self) -> str:
        """The topic's."""
        return self._topic

    @property
    def fatal(self) -> str | None:
        """The producer's fatal error, or None."""
        return self._producer.fatal

    @property
    def open_letters(self) -> int:
        """Letters that are not acknowledged yet."""
        return len(self._unsent) + self.in_client

    def send(self, letter: DeadLetter, *, delivered: Callable[[], None]) -> None:
        """Take one dead letter; never blocks, never fails. `delivered` is called on the delivery thread."""
        self._unsent.append(_OpenLetter(letter, envelope(letter, version=self._version, max_bytes=MAX_BYTES), delivered))

    def mark(
        self, place: tuple[int, int], failing: Sequence[ListedPiece], *, delivered: Callable[[str | None], None], wait_s: float
    ) -> None:
        """Mark the letter at a partition and offset, in that partition: Kafka never removes the mark before the letter."""
        headers = mark_headers(*place, failing, version=self._version)
        try:
            self._producer.send(self._topic, OutgoingRecord(None, headers=headers, partition=place[0]), delivered=delivered, wait_s=wait_s)
        except (QueueFull, ProducerBroken) as error:
            raise LetterUndelivered(str(error)) from error

    def close(self, timeout_s: float) -> int:
        """Flush and close the producer."""
        return self._producer.close(timeout_s)

    def tick(self, now: float) -> None:
        """Send what is due, and report once when nothing has been acknowledged for a while."""
        self._now_s = now
        if self.in_client == 0:
            self._quiet_since_s = now
        elif now - self._quiet_since_s >= self._quiet_s:
            self._report_fault_once(f"no acknowledgement for {self._quiet_s:g} s")
        for _ in range(len(self._unsent) if now >= self._resend_at_s else 0):
            open_letter = self._unsent.popleft()
            shaped = open_letter.envelope
            try:
                self._producer.send(
                    self._topic,
                    OutgoingRecord(shaped.value, key=shaped.key, headers=shaped.headers),
                    delivered=partial(self._finish, open_letter),
                    wait_s=0.0,
                )
            except (QueueFull, ProducerBroken):  # the service notices a broken producer; hold the letter until then
                self._unsent.appendleft(open_letter)
                return
            self.in_client += 1
            self._fail_point("letter_sent")

    def _finish(self, open_letter: _OpenLetter, reason: str | None) -> None:
        self.in_client -= 1
        if reason is None:
            self._quiet_since_s = self._now_s
            self._failures = 0
            if self._has_reported_fault:
                self._has_reported_fault = False
                self._say(f"dead letters: {self._topic} takes them again")
            self._fail_point("letter_acknowledged")
            open_letter.delivered()
        elif self._producer.is_closing:
            self._unsent.append(open_letter)
        else:
            self._hold(open_letter, reason)

    def _hold(self, open_letter: _OpenLetter, reason: str) -> None:
        self._unsent.append(open_letter)
        if reason == TOO_LARGE and open_letter.cuts < len(_HEADS_BYTES):
            head_bytes = _HEADS_BYTES[open_letter.cuts]
            open_letter.envelope = envelope(open_letter.letter, version=self._version, max_bytes=0, head_bytes=head_bytes)
            if not open_letter.cuts:
                self._say(f"dead letters: {self._topic} refused one for its size; sending its head, size and SHA-256 instead")
            open_letter.cuts += 1
            return
        self._resend_at_s = self._now_s + _BACK_OFF_S[min(self._failures, len(_BACK_OFF_S) - 1)]
        self._failures += 1
        self._report_fault_once(reason)

    def _report_fault_once(self, reason: str) -> None:
        if not self._has_reported_fault:
            self._has_reported_fault = True
            self._say(f"dead letters: {self._topic} does not take them ({reason}); holding {self.open_letters} and trying again")
