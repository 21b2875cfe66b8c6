"""The Kafka client with which `vectail verify --repair` and `vectail dlq replay` write to the dead-letter topic."""

from collections.abc import Callable

from producers import dead_letters
from producers.kafka import KafkaProducer
from worker.settings.tables import KafkaTable

_CLOSE_S = 1.0


class DeadLetterProducer:
    """Connects at the first use: most runs write nothing.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable, *, say: Callable[[str], None]) -> None:
        self._kafka = kafka
        self._say = say
        self._client: KafkaProducer | None = None
        self.topic = kafka.dead_letter_topic

    def connect(self) -> KafkaProducer:
        """Return the client, connected on the first call. Raises ProducerMisconfigured."""
        if self._client is None:
            properties = {**self._kafka.librdkafka, **dead_letters.PRODUCER_PROPERTIES}
            self._client = KafkaProducer(self._kafka.bootstrap_servers, properties, say=self._say)
        return self._client

    def close(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            self._client.close(_CLOSE_S)
