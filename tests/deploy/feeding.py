"""A thread that keeps a worker busy with good lines, bad lines, secrets, mail to be dropped or sampled, and queries of every mode."""

import itertools
import threading
import time
from typing import Self

from confluent_kafka import Producer

from tests.faults.records import content
from tests.faults.topics import Topics

_PIECE_RECORDS = 20
_PAUSE_S = 0.2
_WAIT_S = 30.0
_QUERIES = (
    b'{"text": "socket refused voucher", "k": 5}',
    b'{"text": "invoice declined", "k": 3}',
    b'{"text": "socket", "k": 0}',
    b"",
)
"""The third is refused; the last one is unanswerable."""


class Feeding:
    """Feeds until the block ends.

    Thread: one of its own.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(_WAIT_S)

    def _feed(self) -> None:
        topics = self._topics
        producer = Producer({"bootstrap.servers": topics.bootstrap, "log_level": 0, "linger.ms": 5})
        questions = itertools.cycle(_QUERIES)
        for start in itertools.count(0, _PIECE_RECORDS):
            for number in range(start, start + _PIECE_RECORDS):
                producer.produce(topics.logs, content(number).value, partition=number % topics.partitions)
            for way in (b"from", b"from", b"to"):
                producer.produce(topics.logs, b"mail %b ada.lovelace@example.org took %d ms" % (way, start), partition=0)
            producer.flush(_WAIT_S)
            # a question that came too late is answered as one
            late = start % (10 * _PIECE_RECORDS) == 0
            topics.ask(next(questions), sent_ms=int((time.time() - 3_600 * late) * 1000))
            if self._over.wait(_PAUSE_S):
                return
