"""Sends replies to queries, to the topic that the query names.

The answer stage passes a `Reply` to the `ReplySender`, which calls `settled` exactly once: with True after the broker's acknowledgement,
with False if there was none in time. A reply that cannot be delivered is counted, reported and dropped; no query waits without end.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from producers.kafka import Header, KafkaProducer, OutgoingRecord, QueueFull

CORRELATION_HEADER: Final = "kafka_correlationId"
"""The name that Spring's request-reply uses."""

PATIENCE_S: Final = 30.0
"""How long a reply without a deadline may take to deliver."""

GRACE_S: Final = 1.0
"""How long any reply may take at least, even one that only says that its query has expired."""

PRODUCER_PROPERTIES: Final[Mapping[str, str]] = {
    "enable.idempotence": "false",  # a duplicate reply is harmless, and waiting for a producer id delays the first one
    "message.timeout.ms": str(int(PATIENCE_S * 1000)),  # dropped replies leave the client's queue too
    "linger.ms": "0",
}
"""Properties that the producer of a ReplySender needs."""


class Reply(NamedTuple):
    """The answer to one query."""

    topic: str
    correlation_id: bytes
    """From the request; it tells the requester which query this answers."""
    value: bytes
    """JSON."""
    headers: tuple[Header, ...] = ()
    """Further ones."""


class _OpenReply:
    """A reply that is on its way; only the first `finish` counts.

    Thread: the delivery thread.
    """

    __slots__ = ("_settled", "give_up_s", "is_done", "topic")

    def __init__(self, topic: str, settled: Callable[[bool], None], give_up_s: float) -> None:
        self._settled = settled
        self.topic = topic
        self.give_up_s = give_up_s
        self.is_done = False

    def finish(self, *, delivered: bool) -> bool:
        if self.is_done:
            return False
        self.is_done = True
        self._settled(delivered)
        return True


class ReplySender:
    """Settles every reply once, in time.

    Thread: any may call `send`; the producer's delivery thread settles.
    """

    def __init__(self, producer: KafkaProducer, *, say: Callable[[str], None] = lambda _line: None) -> None:
        """`producer` has PRODUCER_PROPERTIES over the user's, and is used for nothing else; `say` gets a line about a fault."""
        self._producer = producer
        self._say = say
        self._sent: deque[_OpenReply] = deque()
        self._open: list[_OpenReply] = []
        self.undelivered = 0
        """Replies that were dropped because the broker did not take them in time."""
        producer.each_tick(self.tick)

    def send(self, reply: Reply, *, deadline_s: float | None, settled: Callable[[bool], None]) -> None:
        """Send a reply; never blocks. `deadline_s` is the query's deadline on `time.monotonic`'s clock, None if it has none.

        `settled` is called on the delivery thread, or before this returns if the client's queue is full. Raises ProducerBroken.
        """
        now = time.monotonic()
        open_reply = _OpenReply(reply.topic, settled, now + PATIENCE_S if deadline_s is None else max(deadline_s, now + GRACE_S))

        def delivered(reason: str | None) -> None:
            self._finish(open_reply, reason)

        headers = ((CORRELATION_HEADER, reply.correlation_id), *reply.headers)
        try:
            self._producer.send(reply.topic, OutgoingRecord(reply.value, headers=headers), delivered=delivered, wait_s=0.0)
        except QueueFull:
            self._finish(open_reply, "the client's queue is full")
            return
        self._sent.append(open_reply)

    def tick(self, now: float) -> None:
        """Drop every reply whose time is up."""
        while self._sent:
            self._open.append(self._sent.popleft())
        for late in [one for one in self._open if one.give_up_s <= now]:
            self._finish(late, "no acknowledgement in time")
        self._open = [one for one in self._open if not one.is_done]

    def _finish(self, open_reply: _OpenReply, reason: str | None) -> None:
        """Finish a reply; `reason` is None if it was delivered."""
        if open_reply.finish(delivered=reason is None) and reason is not None:
            self.undelivered += 1
            if not self._producer.is_closing:
                self._say(
                    f"replies: {open_reply.topic} does not take them ({reason}); each is dropped once its query's deadline has passed"
                )
