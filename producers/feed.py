"""Sends lines to a topic, at a pace that its reader can keep: `vectail feed` and `vectail demo`.

Line i goes to partition i modulo the number of partitions, so a topic with a single feeder holds line i at offset i // partitions.
The feed ends when every record is acknowledged, or with FeedFailed when one cannot be delivered.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from producers.kafka import KafkaProducer, ProducerBroken, QueueFull, TopicMissing
from producers.lines import TooLarge

RECORD_OVERHEAD_BYTES: Final = 128
"""Upper bound of the framing of a record that is alone in its batch."""
WINDOW_BYTES: Final = 2_500_000
"""Half of what the embedded broker keeps per partition."""
_WAIT_S: Final = 0.02
_ASK_S: Final = 2.0
_RATE_SLACK_S: Final = 0.01


class FeedFailed(Exception):
    """A record could not be delivered, or the topic does not exist; the message is one line."""


class FeedProgress:
    """Counts of one feed; each only grows.

    Thread: written by the feeding thread (`acknowledged` by the delivery thread), read by any.
    """

    __slots__ = ("acknowledged", "failure", "read", "sent", "too_large")

    def __init__(self) -> None:
        self.read = 0
        """Lines, including those that are too large."""
        self.sent = 0
        self.acknowledged = 0
        self.too_large = 0
        self.failure: str | None = None

    def note_delivery(self, reason: str | None) -> None:
        """Note the outcome of one delivery."""
        if reason is None:
            self.acknowledged += 1
        else:
            self.failure = self.failure or reason


class FeedWindow:
    """Bounds the bytes per partition that are sent and not yet committed; one record is always admitted.

    The embedded broker drops the oldest records of a partition above 5 MB, so a feed must not get further ahead of its reader than that.

    Thread: the feeding thread.
    """

    def __init__(self, committed: Callable[[], Mapping[int, int]], *, limit_bytes: int = WINDOW_BYTES) -> None:
        """`committed` returns, by partition, how many of the records sent through this window are committed."""
        self._committed = committed
        self._limit_bytes = limit_bytes
        self._open: dict[int, deque[int]] = {}
        self._open_bytes: dict[int, int] = {}
        self._done: dict[int, int] = {}

    def admits(self, partition: int, size_bytes: int) -> bool:
        """Whether there is room for one more record of this size; counts it as sent if so."""
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
    progress: FeedProgress,
    pause: Callable[[float], bool],
    refuse: Callable[[TooLarge], None],
    rate: float | None = None,
    window: FeedWindow | None = None,
) -> None:
    """Send every line as a record without a key, and count in `progress`; return once all are acknowledged, or when told to stop.

    `pause(seconds)` waits that long and returns True if the feed must stop, like `threading.Event().wait`. `refuse` gets each line that is
    too large. `rate` is in lines per second. Raises FeedFailed.
    """
    partitions = _partitions(producer, topic, pause)
    if partitions == 0:
        return
    started_s = time.monotonic()
    for line in lines:
        if progress.failure is not None:
            break
        progress.read += 1
        if isinstance(line, TooLarge):
            progress.too_large += 1
            refuse(line)
            continue
        ahead_s = 0.0 if rate is None else progress.read / rate - (time.monotonic() - started_s)
        if ahead_s > _RATE_SLACK_S and pause(ahead_s):
            return
        partition = progress.sent % partitions
        while window is not None and not window.admits(partition, len(line)):
            if pause(_WAIT_S):
                return
        try:
            producer.send(topic, value=line, partition=partition, delivered=progress.note_delivery)
        except QueueFull:  # only once the producer was told to stop
            return
        except ProducerBroken as broken:
            raise FeedFailed(f"topic {topic}: {broken}") from None
        progress.sent += 1
    _await_delivery(producer, topic, progress, pause)


def _partitions(producer: KafkaProducer, topic: str, pause: Callable[[float], bool]) -> int:
    """Return the number of partitions, waiting for a broker; 0 when told to stop first."""
    while True:
        try:
            count = producer.partition_count(topic, timeout_s=_ASK_S)
        except TopicMissing as missing:
            raise FeedFailed(str(missing)) from None
        if count is not None:
            return count
        if pause(_WAIT_S):
            return 0


def _await_delivery(producer: KafkaProducer, topic: str, progress: FeedProgress, pause: Callable[[float], bool]) -> None:
    while progress.failure is None and producer.flush(_ASK_S):
        if producer.fatal is not None or pause(0.0):
            break
    failure = progress.failure or producer.fatal
    if failure is not None:
        raise FeedFailed(f"topic {topic}: {failure} ({progress.acknowledged} of {progress.sent} records were delivered)")
