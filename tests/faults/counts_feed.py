"""Sends lines of known content to several topics while a test runs, and knows which of them are committed."""

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from tests.faults.counted_lines import CountedLine, Place, line_of
from tests.faults.group_offsets import WAIT_S

_BURST = 8
_PAUSE_S = 0.02
"""Between two bursts of 1 to `_BURST` lines."""
_MOST_OPEN = 800
"""Lines that are not known to be committed; with so many it waits, so that little is unknown of what may be counted."""


class CountsFeed:
    """Every line is in `sent` before the broker has it, and its offset is known soon after the broker has acknowledged it.

    Thread: one of its own sends while it runs; `sent`, `committed` and `below` any.
    """

    def __init__(self, bootstrap: str, group: str, places: Sequence[Place]) -> None:
        """`group`: the workers', whose committed offsets are asked for."""
        self.sent: list[CountedLine] = []
        self.places = places
        self._offsets: dict[int, int] = {}
        """By number of line."""
        self._committed_lines = 0
        """At least so many are."""
        client = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._producer = Producer(client | {"acks": "all", "linger.ms": 5})
        self._consumer = Consumer(client | {"group.id": group})
        self._asking = threading.Lock()
        self._numbers = itertools.count()
        self._failed: list[object] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send until the block ends; then the broker has everything."""
        over = threading.Event()
        thread = threading.Thread(target=self._send_until, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            left = self._producer.flush(WAIT_S)
        assert (left, self._failed) == (0, [])
        assert len(self._offsets) == len(self.sent)

    def committed(self) -> dict[Place, int]:
        """Return the committed next offsets; none where the group has no coordinator yet."""
        with self._asking:
            try:
                places = self._consumer.committed([TopicPartition(*place) for place in self.places], timeout=WAIT_S)
            except KafkaException:
                return {}
        self._committed_lines = sum(max(one.offset, 0) for one in places)
        return {Place(one.topic, one.partition): one.offset for one in places}

    def below(self, committed: Mapping[Place, int]) -> list[CountedLine]:
        """Return the lines below these next offsets."""
        offsets = self._offsets
        return [line for line in list(self.sent) if offsets.get(line.number, 1 << 62) < committed.get(line.place, 0)]

    def close(self) -> None:
        self._consumer.close()

    def _send_until(self, over: threading.Event) -> None:
        chance = Random(len(self.sent))
        while not over.wait(_PAUSE_S):
            self._producer.poll(0)
            if len(self.sent) - self._committed_lines >= _MOST_OPEN:
                continue
            for number in itertools.islice(self._numbers, chance.randint(1, _BURST)):
                line = line_of(number, self.places)
                self.sent.append(line)
                self._producer.produce(
                    line.place.topic, line.value, partition=line.place.partition, on_delivery=partial(self._note, number)
                )
            self._producer.poll(0)

    def _note(self, number: int, error: object, message: Message) -> None:
        if error is not None:
            self._failed.append(error)
        self._offsets[number] = message.offset() or 0
