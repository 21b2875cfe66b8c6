"""Asks a running worker over Kafka, as any client would: request, reply topic, correlation id.

`vectail search` and `demo` use it. The reply consumer stands at the end of the reply topic before the request is sent, so a
reply cannot be missed; replies to others are passed over by their correlation id. That the topics exist is asked first: a client
that sends to one that does not waits long, and then says nothing of it.
"""

import json
import re
import uuid
from collections.abc import Mapping
from typing import Any

from consumers.groupless.reader import RangeUnreadable, TopicUnknown
from consumers.groupless.replies import ReplyReader
from producers.kafka import KafkaProducer, ProducerBroken, QueueFull
from worker.query import CORRELATION_HEADER, REPLY_TOPIC_HEADER
from worker.settings.tables import KafkaTable

_COMPLAINT = re.compile(r"Kafka: \S+: (.*); trying again")
"""What the client says of a broker, the address before it left out."""


class NoReply(Exception):
    """Nobody answered in time; the message is one line and says what to do."""


class CannotAsk(NoReply):
    """Nobody will, before the user has changed something."""


class Asker:
    """A client of the query topic; each `ask` gets its own reply or NoReply.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable) -> None:
        self._kafka = kafka
        self._complaints: list[str] = []
        self._producer = KafkaProducer(kafka.bootstrap_servers, {**kafka.librdkafka, "linger.ms": "0"}, say=self._complaints.append)
        self._replies = ReplyReader(kafka.bootstrap_servers, kafka.reply_topic, kafka.librdkafka)
        self._has_topics = False

    def ask(self, request: Mapping[str, object], *, timeout_s: float) -> dict[str, Any]:
        """Send one request and wait for its reply. Raises NoReply."""
        correlation_id = uuid.uuid4().bytes
        self._stand_by(timeout_s)
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

    def _stand_by(self, timeout_s: float) -> None:
        """Stand where the reply will come, once it is known that the query can be sent. Raises NoReply."""
        address = self._kafka.bootstrap_servers
        try:
            for topic in () if self._has_topics else (self._kafka.query_topic, self._kafka.reply_topic):
                self._replies.look_for(topic, timeout_s)
        except TopicUnknown as error:
            raise CannotAsk(f"kafka at {address}: {error}") from error
        except RangeUnreadable as error:
            raise NoReply(self._away(str(error))) from error
        self._has_topics = True
        reason = self._replies.seek_to_end(timeout_s)
        if reason is not None:
            raise NoReply(self._away(reason))

    def _away(self, reason: str) -> str:
        complaint = _COMPLAINT.fullmatch(self._complaints[-1]) if self._complaints else None
        why = reason if complaint is None else complaint[1]  # which the reader does not tell: that it is refused, or not known
        address = self._kafka.bootstrap_servers
        return f"kafka at {address} is away ({why}); does it run, and is that its address (--bootstrap-servers)?"
