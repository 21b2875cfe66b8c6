"""Writes the dead letters that `vectail verify --repair` finds missing, and waits until they are delivered."""

import threading
from collections.abc import Callable, Sequence
from functools import partial

from producers.dead_letters import DeadLetterSender
from worker.audit.dead_letter_index import DeadLetterIndex, key_of
from worker.audit.dead_letter_producer import DeadLetterProducer
from worker.audit.expected import Expected
from worker.indexing.dead_letter_reasons import letter_of
from worker.runtime.process import vectail_version


class DeadLetterUndelivered(Exception):
    """The dead-letter topic did not take a dead letter in time; one line."""


class DeadLetterWriter:
    """Every dead letter that it wrote is acknowledged and in the index of dead letters.

    Thread: one.
    """

    def __init__(self, producer: DeadLetterProducer, index: DeadLetterIndex, *, limit_s: float, say: Callable[[str], None]) -> None:
        """`limit_s` is how long the topic may take for each letter."""
        self._producer = producer
        self._index = index
        self._limit_s = limit_s
        self._say = say
        self._sender: DeadLetterSender | None = None

    def write_dead_letters(self, expected: Sequence[Expected]) -> None:
        """Write one dead letter per record that has a `rejection`. Raises DeadLetterUndelivered and ProducerMisconfigured."""
        acknowledged = threading.Semaphore(0)
        rejected = [(one, one.rejection) for one in expected if one.rejection is not None]
        for one, rejection in rejected:
            self._open_sender().send(letter_of(one.record, rejection, one.rejects), delivered=partial(acknowledged.release, 1))
        for _ in rejected:
            if not acknowledged.acquire(timeout=self._limit_s):
                raise DeadLetterUndelivered(f"{self._producer.topic} took no dead letter for {self._limit_s:g} s")
        for one, _ in rejected:
            pieces = None if one.refusal is not None else frozenset((sub, chunk) for sub, chunk, _ in one.rejects)
            self._index.excuse_pieces(one.record.topic, key_of(one.record), pieces)

    def _open_sender(self) -> DeadLetterSender:
        if self._sender is None:
            self._sender = DeadLetterSender(self._producer.connect(), self._producer.topic, version=vectail_version(), say=self._say)
        return self._sender
