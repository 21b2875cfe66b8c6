"""Sends lines to a topic, at a pace that its reader can keep: `vectail feed` and `vectail demo`.

Line i goes to partition i modulo the number of partitions, so a topic with a single feeder holds line i at offset i // partitions.
The feed ends when every record is acknowledged, or with FeedFailed when one cannot be delivered.
"""

import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from producers.file_lines import LineTooLarge
from producers.kafka import KafkaProducer, ProducerBroken, TopicMissing

RECORD_OVERHEAD_BYTES: Final = 128
"""Upper bound of the framing of a record that is alone in its batch."""
WINDOW_BYTES: Final = 2_500_000
"""Half of what the embedded broker keeps per partition."""
MOST_LINES: Final = 512
"""Lines that are sent together, at most: those of each partition in one call of the client."""
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
        """By partition: for each record that is not committed, the bytes of all records up to it."""
        self._committed_bytes: Counter[int] = Counter()
        self._done: Counter[int] = Counter()

    def admit(self, partition: int, lines: Sequence[bytes]) -> int:
        """Return how many of the first of these n ≥ 1 records there is room for, and count them as sent."""
        room = self._room(partition, lines)
        if room < len(lines):
            self._release()
            room = self._room(partition, lines)
        self._open[partition].extend(self._ends(partition, lines[:room]))
        return room

    def _room(self, partition: int, lines: Sequence[bytes]) -> int:
        most_bytes = self._committed_bytes[partition] + self._limit_bytes
        is_empty = not self._open.setdefault(partition, deque())
        return max(bisect_right(self._ends(partition, lines), most_bytes), int(is_empty))

    def _ends(self, partition: int, lines: Sequence[bytes]) -> list[int]:
        """Return for each record the bytes of all records of its partition up to it."""
        ends = self._open[partition]
        before = ends[-1] if ends else self._committed_bytes[partition]
        return list(accumulate((len(line) + RECORD_OVERHEAD_BYTES for line in lines), initial=before))[1:]

    def _release(self) -> None:
        for partition, count in self._committed().items():
            ends = self._open.get(partition, deque())
            for _ in range(min(count - self._done[partition], len(ends))):
                self._committed_bytes[partition] = ends.popleft()
                self._done[partition] += 1


class Feeder:
    """Sends lines to one topic.

    Thread: the feeding thread.
    """

    def __init__(
        self,
        producer: KafkaProducer,
        topic: str,
        *,
        progress: FeedProgress,
        pause: Callable[[float], bool],
        rate: float | None = None,
        window: FeedWindow | None = None,
    ) -> None:
        """`pause(seconds)` waits that long and returns True if the feed must stop, like `threading.Event().wait`.

        `rate` is in lines per second.
        """
        self._producer = producer
        self._topic = topic
        self._progress = progress
        self._pause = pause
        self._rate = rate
        self._window = window

    def feed(self, lists: Iterable[Sequence[bytes | LineTooLarge]], *, refuse: Callable[[LineTooLarge], None]) -> None:
        """Send every line of each list as a record without a key; return when all are acknowledged or it must stop.

        `refuse` gets each line that is too large. Of the last `MOST_LINES` lines before a stop, those of some partitions may be sent and
        earlier ones of others not. Raises FeedFailed.
        """
        partitions = self._count_partitions()
        if partitions == 0:
            return
        progress, rate = self._progress, self._rate
        started_s = time.monotonic()
        for run in _runs(lists, MOST_LINES if rate is None else 1):
            if progress.failure is not None:
                break
            if isinstance(run, LineTooLarge):
                progress.read += 1
                progress.too_large += 1
                refuse(run)
                continue
            progress.read += len(run)
            ahead_s = 0.0 if rate is None else progress.read / rate - (time.monotonic() - started_s)
            if ahead_s > _RATE_SLACK_S and self._pause(ahead_s):
                return
            try:
                if not self._send(run, partitions):
                    return
            except ProducerBroken as broken:
                raise FeedFailed(f"topic {self._topic}: {broken}") from None
        self._await_delivery()

    def _send(self, lines: Sequence[bytes], partitions: int) -> bool:
        """Send lines, those of each partition together; False: it was told to stop, and some are not sent. Raises ProducerBroken."""
        sent = self._progress.sent
        left = [((sent + i) % partitions, lines[i::partitions]) for i in range(min(partitions, len(lines)))]
        while left:
            waiting: list[tuple[int, Sequence[bytes]]] = []
            for partition, own in left:
                room = len(own) if self._window is None else self._window.admit(partition, own)
                if room and not self._send_all(partition, own[:room]):
                    return False
                if room < len(own):
                    waiting.append((partition, own[room:]))
            left = waiting
            if left and self._pause(_WAIT_S):
                return False
        return True

    def _send_all(self, partition: int, lines: Sequence[bytes]) -> bool:
        taken = self._producer.send_values(self._topic, lines, partition=partition, delivered=self._progress.note_delivery)
        self._progress.sent += taken
        return taken == len(lines)  # fewer only once the producer was told to stop

    def _count_partitions(self) -> int:
        """Return the number of partitions, waiting for a broker; 0 when told to stop first."""
        while True:
            try:
                count = self._producer.partition_count(self._topic, timeout_s=_ASK_S)
            except TopicMissing as missing:
                raise FeedFailed(str(missing)) from None
            if count is not None:
                return count
            if self._pause(_WAIT_S):
                return 0

    def _await_delivery(self) -> None:
        producer, progress = self._producer, self._progress
        while progress.failure is None and producer.flush(_ASK_S):
            if producer.fatal is not None or self._pause(0.0):
                break
        failure = progress.failure or producer.fatal
        if failure is not None:
            raise FeedFailed(f"topic {self._topic}: {failure} ({progress.acknowledged} of {progress.sent} records were delivered)")


def _runs(lists: Iterable[Sequence[bytes | LineTooLarge]], most: int) -> Iterator[list[bytes] | LineTooLarge]:
    """Yield lines as they come, up to `most` neighbours together, and lines that are too large by themselves."""
    for lines in lists:
        run: list[bytes] = []
        for line in lines:
            if run and (len(run) == most or isinstance(line, LineTooLarge)):
                yield run
                run = []
            if isinstance(line, LineTooLarge):
                yield line
            else:
                run.append(line)
        if run:
            yield run
