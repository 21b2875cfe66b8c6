"""Writes the dead letters that `vectail verify --repair` finds missing, and waits until they are there."""

import threading
from collections.abc import Sequence
from functools import partial

from producers import dead_letters
from producers.dead_letters import DeadLetterSender
from producers.kafka import KafkaProducer
from worker.audit.dead_letter_index import DeadLetterIndex
from worker.audit.expected import Expected
from worker.audit.repair import BusyRetry
from worker.indexing.dead_letter_reasons import letter_of
from worker.runtime.version import VERSION
from worker.settings.tables import KafkaTable

_CLOSE_S = 1.0


class DeadLetterUndelivered(Exception):
    """The dead-letter topic did not take a dead letter in time; one line."""


class DeadLetterWriter:
    """What it has buried is acknowledged, and noted in the graveyard. The client is made for the first dead letter.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable, graveyard: DeadLetterIndex, patience: BusyRetry) -> None:
        self._kafka = kafka
        self._graveyard = graveyard
        self._patience = patience
        self._producer: KafkaProducer | None = None
        self._sender: DeadLetterSender | None = None

    def write_dead_letters(self, debts: Sequence[Expected]) -> None:
        """Write one dead letter a record, for its `refusal` or its `rejects`. Raises DeadLetterUndelivered and ProducerMisconfigured."""
        open_letters = threading.Semaphore(0)
        for debt in debts:
            reason = debt.refusal or debt.rejects[0][2]
            self._opened().send(letter_of(debt.record, reason, debt.rejects), delivered=partial(open_letters.release, 1))
        for _ in debts:
            if not open_letters.acquire(timeout=self._patience.limit_s):
                raise DeadLetterUndelivered(f"{self._kafka.dead_letter_topic} took no dead letter for {self._patience.limit_s:g} s")
        for debt in debts:
            pieces = None if debt.refusal else frozenset((sub, chunk) for sub, chunk, _ in debt.rejects)
            self._graveyard.excuse(debt.record.topic, debt.record.partition, debt.record.offset, pieces)

    def close(self) -> None:
        """Close the client, if there is one."""
        if self._producer is not None:
            self._producer.close(_CLOSE_S)

    def _opened(self) -> DeadLetterSender:
        if self._sender is None:
            properties = {**self._kafka.librdkafka, **dead_letters.PRODUCER_PROPERTIES}
            self._producer = KafkaProducer(self._kafka.bootstrap_servers, properties, say=self._patience.say)
            self._sender = DeadLetterSender(
                self._producer, self._kafka.dead_letter_topic, version=VERSION, say=self._patience.say
            )  # fmt: skip
        return self._sender
