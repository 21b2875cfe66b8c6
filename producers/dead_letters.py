"""Records that can never be indexed, kept whole in a topic of their own, with the reason.

The stages hand a `DeadLetter` to the `DeadLetterSender`, which promises that `delivered` is called exactly once and only
after the broker's acknowledgement. A dead letter that cannot be delivered is the world's fault: it is held and sent again
for ever, its receipt stays open, and the trouble is said once.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from producers.envelope import HEAD_BYTES, DeadLetter, Envelope, envelope
from producers.kafka import TOO_LARGE, KafkaProducer, ProducerBroken, QueueFull

__all__ = ["HEAD_BYTES", "PRODUCER_PROPERTIES", "DeadLetter", "DeadLetterSender", "Envelope", "envelope"]

MAX_BYTES: Final = 1_000_000
_HEADS_BYTES: Final = (HEAD_BYTES, 4_096, 256)
"""What is kept of a record that the topic refuses for its size; less and less, until it is taken."""
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


class _Posted:
    """A dead letter that is not acknowledged yet."""

    __slots__ = ("cuts", "delivered", "envelope", "letter")

    def __init__(self, letter: DeadLetter, envelope: Envelope, delivered: Callable[[], None]) -> None:
        self.letter = letter
        self.envelope = envelope
        self.delivered = delivered
        self.cuts = int(envelope.is_cut)
        """How many of `_HEADS_BYTES` were tried."""


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
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        """Take a `producer` built with PRODUCER_PROPERTIES over the user's and used for nothing else."""
        self._producer = producer
        self._topic = topic
        self._version = version
        self._say = say
        self._max_bytes = max_bytes
        self._quiet_s = quiet_s
        self._fail_point = fail_point
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
            self._fail_point("letter_sent")

    def _finish(self, posted: _Posted, reason: str | None) -> None:
        self.in_client -= 1
        if reason is None:
            self._quiet_since_s = self._now_s
            self._failures = 0
            if self._has_complained:
                self._has_complained = False
                self._say(f"dead letters: {self._topic} takes them again")
            self._fail_point("letter_acknowledged")
            posted.delivered()
        elif self._producer.is_closing:
            self._posted.append(posted)
        else:
            self._hold(posted, reason)

    def _hold(self, posted: _Posted, reason: str) -> None:
        self._posted.append(posted)
        if reason == TOO_LARGE and posted.cuts < len(_HEADS_BYTES):
            head_bytes = _HEADS_BYTES[posted.cuts]
            posted.envelope = envelope(posted.letter, version=self._version, max_bytes=0, head_bytes=head_bytes)
            if not posted.cuts:
                self._say(f"dead letters: {self._topic} refused one for its size; sending its head, size and SHA-256 instead")
            posted.cuts += 1
            return
        self._resend_at_s = self._now_s + _BACK_OFF_S[min(self._failures, len(_BACK_OFF_S) - 1)]
        self._failures += 1
        self._complain(reason)

    def _complain(self, reason: str) -> None:
        if not self._has_complained:
            self._has_complained = True
            self._say(f"dead letters: {self._topic} does not take them ({reason}); holding {self.open_letters} and trying again")
