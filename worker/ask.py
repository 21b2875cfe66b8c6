"""Asks a running worker over Kafka, as any client would: request, reply topic, correlation id.

`vectail search` and `demo` use it. The reply consumer stands at the end of the reply topic before the request is sent, so a
reply cannot be missed; replies to others are passed over by their correlation id.
"""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from consumers.loose.replies import ReplyReader
from producers.kafka import KafkaProducer, ProducerBroken, QueueFull
from worker.query import CORRELATION_HEADER, REPLY_TOPIC_HEADER
from worker.tables import KafkaTable


class NoReply(Exception):
    """Nobody answered in time; the message is one line."""


class Asker:
    """A client of the query topic; each `ask` gets its own reply or NoReply.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable) -> None:
        self._kafka = kafka
        self._complaints: list[str] = []
        self._producer = KafkaProducer(kafka.bootstrap_servers, {**kafka.librdkafka, "linger.ms": "0"}, say=self._complaints.append)
        self._replies = ReplyReader(kafka.bootstrap_servers, kafka.reply_topic, kafka.librdkafka)

    def ask(self, request: Mapping[str, object], *, timeout_s: float) -> dict[str, Any]:
        """Send one request and wait for its reply. Raises NoReply."""
        correlation_id = uuid.uuid4().bytes
        reason = self._replies.seek_to_end(timeout_s)
        if reason is not None:
            raise NoReply(f"kafka at {self._kafka.bootstrap_servers}: {reason}")
        failures: list[str] = []
        try:
            self._producer.send(
                self._kafka.query_topic,
                value=json.dumps(request).encode("utf-8"),
                headers=[(REPLY_TOPIC_HEADER, self._kafka.reply_topic.encode("utf-8")), (CORRELATION_HEADER, correlation_id)],
                delivered=lambda reason: failures.append(reason) if reason is not None else None,
                wait_s=timeout_s,
            )
        except (QueueFull, ProducerBroken) as error:
            raise NoReply(f"the query could not be sent: {error}") from error
        value = self._replies.wait_for(CORRELATION_HEADER, correlation_id, timeout_s=timeout_s, give_up=lambda: bool(failures))
        if failures:
            raise NoReply(f"the query could not be sent: {failures[0]}")
        if value is None:
            raise NoReply(f"no worker answered on {self._kafka.query_topic} within {timeout_s:g} s; is `vectail run` running?")
        answer: dict[str, Any] = json.loads(value)
        return answer

    def close(self) -> None:
        """Leave."""
        self._replies.close()
        self._producer.close(1.0)
