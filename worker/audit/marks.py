"""Marks: small records in the dead-letter topic, each saying of one letter that it was replayed, and what of it is bad still.

A mark stands in its letter's partition, behind it, so that Kafka never removes it before the letter. It has no value, and no key. What
was marked is acknowledged: whoever stores rows first and marks then may die in between, and the next replay writes the same rows again.
"""

import json
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from consumers.record import Record
from producers import dead_letters
from producers.envelope import mark_headers
from producers.kafka import KafkaProducer, ProducerBroken, QueueFull
from worker.runtime.version import VERSION
from worker.settings.tables import KafkaTable

_CLOSE_S = 1.0
_NOT_MARKED = "; what was replayed is stored, but not marked: it will be replayed again"

Pieces = tuple[tuple[int, int, str], ...]
"""(sub, chunk, reason) of each."""


class NotMarked(Exception):
    """The dead-letter topic did not take a mark; one line."""


class Mark(NamedTuple):
    """What a replay says about a dead letter of its partition.

    Thread: any.
    """

    offset: int
    """Of the letter."""
    pieces: Pieces
    """Those that were bad still."""
    unlisted_pieces: int

    @property
    def is_done(self) -> bool:
        """Whether all of the letter is in the index."""
        return not self.pieces and not self.unlisted_pieces


class Marker:
    """Marks of the letters of one topic. The client is made for the first one.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable, *, limit_s: float, say: Callable[[str], None]) -> None:
        """`limit_s` is how long the topic may take for them."""
        self._kafka = kafka
        self._limit_s = limit_s
        self._say = say
        self._producer: KafkaProducer | None = None

    def mark(self, letters: Sequence[tuple[Record, Pieces]]) -> None:
        """Mark letters, each with what is bad still; returns when all are acknowledged. Raises NotMarked and ProducerMisconfigured."""
        answers: list[str | None] = []
        answered = threading.Semaphore(0)

        def delivered(reason: str | None) -> None:
            answers.append(reason)
            answered.release()

        topic, limit_s = self._kafka.dead_letter_topic, self._limit_s
        for letter, left in letters:
            headers = mark_headers(letter.partition, letter.offset, left, version=VERSION)
            send = partial(self._opened().send, topic, value=None, headers=headers, partition=letter.partition)
            try:
                send(delivered=delivered, wait_s=limit_s)
            except (QueueFull, ProducerBroken) as error:
                raise NotMarked(f"{error}{_NOT_MARKED}") from error
        for _ in letters:
            if not answered.acquire(timeout=limit_s):
                raise NotMarked(f"{topic} took no mark for {limit_s:g} s{_NOT_MARKED}")
        failed = [reason for reason in answers if reason is not None]
        if failed:
            raise NotMarked(f"{topic} does not take marks ({failed[0]}){_NOT_MARKED}")

    def close(self) -> None:
        """Close the client, if there is one."""
        if self._producer is not None:
            self._producer.close(_CLOSE_S)

    def _opened(self) -> KafkaProducer:
        if self._producer is None:
            properties = {**self._kafka.librdkafka, **dead_letters.PRODUCER_PROPERTIES}
            self._producer = KafkaProducer(self._kafka.bootstrap_servers, properties, say=self._say)
        return self._producer


def mark_of(record: Record) -> Mark | None:
    """Read one record of the dead-letter topic; None unless it is a mark of a letter of its own partition."""
    headers = {name: (content or b"").decode("utf-8", "replace") for name, content in record.headers}
    if record.value is not None or "__connect.errors.topic" in headers or "vectail.replayed" not in headers:
        return None
    partition, _, offset = headers["vectail.replayed"].partition("/")
    try:
        mark = Mark(int(offset), listed_pieces(headers.get("vectail.pieces", "{}")), int(headers.get("vectail.pieces.omitted", "0")))
        return mark if int(partition) == record.partition else None
    except (ValueError, TypeError):
        return None


def listed_pieces(text: str) -> Pieces:
    """Read `{"reason": [[sub, chunk], …], …}`. Raises ValueError or TypeError."""
    by_reason = json.loads(text)
    if not isinstance(by_reason, dict):
        raise TypeError(text)
    return tuple((int(sub), int(chunk), reason) for reason, places in by_reason.items() for sub, chunk in places)
