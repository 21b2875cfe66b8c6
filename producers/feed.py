"""Lines into a topic, at a pace that its reader can keep: what `vectail feed` and `vectail demo` do.

Line i goes to partition i modulo their number, so that a topic fed by one `feed` alone holds line i at offset i // partitions.
Returns when every record sent is acknowledged; a record that cannot be delivered ends it with FeedFailed.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from producers.kafka import KafkaProducer, ProducerBroken, QueueFull, TopicMissing
from producers.lines import TooLarge

RECORD_OVERHEAD_BYTES: Final = 128
"""Most that framing adds to a record that is alone in its batch."""
WINDOW_BYTES: Final = 2_500_000
"""Half of what the embedded broker keeps of a partition."""
_WAIT_S: Final = 0.02
_ASK_S: Final = 2.0
_RATE_SLACK_S: Final = 0.01


class FeedFailed(Exception):
    """A record could not be delivered, or the topic is not there; the message is one line."""


class Fed:
    """How far a feed has come; each number only grows.

    Thread: written by the feeding thread (`acknowledged` by the delivery thread), read by any.
    """

    __slots__ = ("acknowledged", "failure", "read", "sent", "too_large")

    def __init__(self) -> None:
        self.read = 0
        """Lines, those too large included."""
        self.sent = 0
        self.acknowledged = 0
        self.too_large = 0
        self.failure: str | None = None

    def note(self, reason: str | None) -> None:
        """Note the outcome of one delivery."""
        if reason is None:
            self.acknowledged += 1
        else:
            self.failure = self.failure or reason


class FeedWindow:
    """What is sent and not yet committed stays under a number of bytes in each partition; one record is always admitted.

    The embedded broker drops the oldest records of a partition above 5 MB, so a feed must not run further ahead than that.

    Thread: the feeding thread.
    """

    def __init__(self, committed: Callable[[], Mapping[int, int]], *, limit_bytes: int = WINDOW_BYTES) -> None:
        """Take a callable that returns, by partition, how many of the records sent through this window are committed."""
        self._committed = committed
        self._limit_bytes = limit_bytes
        self._open: dict[int, deque[int]] = {}
        self._open_bytes: dict[int, int] = {}
        self._done: dict[int, int] = {}

    def admits(self, partition: int, size_bytes: int) -> bool:
        """Is there room for one more record of this size? Counts it as sent if there is."""
        size_bytes += RECORD_OVERHEAD_BYTES
        sizes = self._open.setdefault(partition, deque())
        if sizes and self._open_bytes[partition] + size_bytes > self._limit_bytes:
            self._release()
            if sizes and self._open_bytes[partition] + size_bytes > self._limit_bytes:
                return False
        sizes.append(size_bytes)
        self._open_bytes[partition] = self._open_bytes.get(partition, 0) + size_bytes
        return True

    def _release(self) -> None:
        for partition, count in self._committed().items():
            sizes = self._open.get(partition, deque())
            for _ in range(min(count - self._done.get(partition, 0), len(sizes))):
                self._open_bytes[partition] -= sizes.popleft()
                self._done[partition] = self._done.get(partition, 0) + 1


def feed(
    lines: Iterable[bytes | TooLarge],
    producer: KafkaProducer,
    topic: str,
    *,
    fed: Fed,
    pause: Callable[[float], bool],
    refuse: Callable[[TooLarge], None],
    rate: float | None = None,
    window: FeedWindow | None = None,
) -> None:
    """Send every line as a record without a key and count into `fed`; returns once all are acknowledged, or when told to stop.

    `pause(seconds)` waits that long and returns True when the feed shall stop (`threading.Event().wait` does just that).
    `refuse` gets each line that is too large. `rate` is lines per second. Raises FeedFailed.
    """
    partitions = _partitions(producer, topic, pause)
    if partitions == 0:
        return
    started_s = time.monotonic()
    for line in lines:
        if fed.failure is not None:
            break
        fed.read += 1
        if isinstance(line, TooLarge):
            fed.too_large += 1
            refuse(line)
            continue
        ahead_s = 0.0 if rate is None else fed.read / rate - (time.monotonic() - started_s)
        if ahead_s > _RATE_SLACK_S and pause(ahead_s):
            return
        partition = fed.sent % partitions
        while window is not None and not window.admits(partition, len(line)):
            if pause(_WAIT_S):
                return
        try:
            producer.send(topic, value=line, partition=partition, delivered=fed.note)
        except QueueFull:  # only once the producer was told to stop
            return
        except ProducerBroken as broken:
            raise FeedFailed(f"topic {topic}: {broken}") from None
        fed.sent += 1
    _await_delivery(producer, topic, fed, pause)


def _partitions(producer: KafkaProducer, topic: str, pause: Callable[[float], bool]) -> int:
    """Ask until a broker answers; 0 when told to stop first."""
    while True:
        try:
            count = producer.partition_count(topic, timeout_s=_ASK_S)
        except TopicMissing as missing:
            raise FeedFailed(str(missing)) from None
        if count is not None:
            return count
        if pause(_WAIT_S):
            return 0


def _await_delivery(producer: KafkaProducer, topic: str, fed: Fed, pause: Callable[[float], bool]) -> None:
    while fed.failure is None and producer.flush(_ASK_S):
        if producer.fatal is not None or pause(0.0):
            break
    failure = fed.failure or producer.fatal
    if failure is not None:
        raise FeedFailed(f"topic {topic}: {failure} ({fed.acknowledged} of {fed.sent} records were delivered)")
