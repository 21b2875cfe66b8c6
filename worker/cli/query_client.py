"""Asks a running worker over Kafka, as any client would: a request, a reply topic and a correlation id.

`vectail search`, `templates` and `demo` use it. The reply consumer is positioned at the end of the reply topic before the request is
sent, so it cannot miss the reply; replies to other requests are skipped by their correlation id. The client first checks that the
topics exist: sending to a missing topic would wait long and report nothing. Without a reply within a second it asks Kafka whether any
worker reads queries, and gives up if none does.
"""

import json
import re
import time
import uuid
from collections.abc import Mapping
from typing import Any

from consumers.groupless.groupless_reader import RangeUnreadable, TopicUnknown
from consumers.groupless.reply_reader import ReplyReader
from consumers.source import KafkaRefused
from producers.kafka import KafkaProducer, OutgoingRecord, ProducerBroken, QueueFull
from worker.asking.requests import CORRELATION_HEADER, REPLY_TOPIC_HEADER
from worker.cli.absent_server import REACH_S, kafka_away
from worker.runtime.kafka_admin import BrokerAway
from worker.settings.tables import KafkaTable
from worker.watching.group_positions import KafkaPositions

_LOOK_S = 1.0
"""How long a reply may take before the group of the workers is looked at: no question that is answered sooner waits for that look."""
_CONNECTION_ERROR = re.compile(r"Kafka: \S+: (.*); trying again")
"""What the producer reports about a broker; the group leaves its address out."""


class NoReply(Exception):
    """No reply came in time; the message is one line and says what to do."""


class QueryTopicMissing(NoReply):
    """The query topic or the reply topic does not exist, so no reply can come until the user creates it."""


class QueryClient:
    """A client of the query topic; each `ask` returns its own reply or raises NoReply.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable) -> None:
        self._kafka = kafka
        self._connection_errors: list[str] = []
        properties = {**kafka.librdkafka, "linger.ms": "0"}
        self._producer = KafkaProducer(kafka.bootstrap_servers, properties, say=self._connection_errors.append)
        self._replies = ReplyReader(kafka.bootstrap_servers, kafka.reply_topic, kafka.librdkafka)
        self._has_topics = False

    def ask(self, request: Mapping[str, object], *, timeout_s: float) -> dict[str, Any]:
        """Send one request and wait for its reply. Raises NoReply."""
        correlation_id = uuid.uuid4().bytes
        self._seek_reply_topic(timeout_s)
        until_s = time.monotonic() + timeout_s
        errors: list[str] = []
        try:
            self._producer.send(
                self._kafka.query_topic,
                OutgoingRecord(
                    json.dumps(request).encode("utf-8"),
                    headers=[(REPLY_TOPIC_HEADER, self._kafka.reply_topic.encode("utf-8")), (CORRELATION_HEADER, correlation_id)],
                ),
                delivered=lambda reason: errors.append(reason) if reason is not None else None,
                wait_s=timeout_s,
            )
        except (QueueFull, ProducerBroken) as error:
            raise NoReply(f"the query could not be sent: {error}") from error

        def wait(seconds: float) -> bytes | None:
            return self._replies.wait_for(CORRELATION_HEADER, correlation_id, timeout_s=seconds, give_up=lambda: bool(errors))

        value = wait(min(timeout_s, _LOOK_S))
        if value is None and not errors:
            self._check_that_a_worker_reads()
            value = wait(until_s - time.monotonic())
        if errors:
            raise NoReply(f"the query could not be sent: {errors[0]}")
        if value is None:
            raise NoReply(
                f"no worker answered on {self._kafka.query_topic} at {self._kafka.bootstrap_servers} within {timeout_s:g} s;"
                " is `vectail run` running?"
            )
        answer: dict[str, Any] = json.loads(value)
        return answer

    def close(self) -> None:
        """Close both connections."""
        self._replies.close()
        self._producer.close(1.0)

    def _seek_reply_topic(self, timeout_s: float) -> None:
        """Check that both topics exist, then go to the end of the reply topic. Raises NoReply."""
        address = self._kafka.bootstrap_servers
        try:
            for topic in () if self._has_topics else (self._kafka.query_topic, self._kafka.reply_topic):
                self._replies.check_topic(topic, min(timeout_s, REACH_S))
        except TopicUnknown as error:
            raise QueryTopicMissing(f"kafka at {address}: {error}") from error
        except RangeUnreadable as error:
            raise NoReply(self._unreachable(str(error))) from error
        self._has_topics = True
        reason = self._replies.seek_to_end(timeout_s)
        if reason is not None:
            raise NoReply(self._unreachable(reason))

    def _unreachable(self, reason: str) -> str:
        found = _CONNECTION_ERROR.fullmatch(self._connection_errors[-1]) if self._connection_errors else None
        cause = reason if found is None else found[1]  # more exact than the reader's: connection refused, or host unknown
        return str(kafka_away(self._kafka.bootstrap_servers, cause))

    def _check_that_a_worker_reads(self) -> None:
        """Raise NoReply if Kafka says that none does; where it does not say, one may."""
        kafka = self._kafka
        try:
            with KafkaPositions(kafka, answer_s=REACH_S) as positions:
                found = positions.state(kafka.query_group)
        except (BrokerAway, KafkaRefused):
            return
        if not found.members and found.state != "unknown":
            raise NoReply(
                f"no worker is running: group {kafka.query_group} at {kafka.bootstrap_servers} has no members; start one with `vectail run`"
            )
