"""The client process: one producer, one consumer, and a correlation id for every question.

`benchmarks.query_latency` starts one for each service. It uses no worker code, only the query topic, as any program could. It asks at given
times regardless of the answers (open loop), or as a number of users who each ask again as soon as an answer arrives (closed loop). Times
are on `time.monotonic`, one clock for all processes of a machine.
"""

import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from benchmarks.rivals.own_process import Opened
from worker.asking.question import MAX_DEADLINE_MS

DEADLINE_MS = MAX_DEADLINE_MS
"""The longest that a query may have. A question behind a flood that waits longer counts with this time, a lower bound."""
K = 10
_POLL_S = 0.05
_READY_S = 60.0


class Topics(NamedTuple):
    """The broker and the topics to use."""

    bootstrap_servers: str
    queries: str
    replies: str


class OpenLoop(NamedTuple):
    """Ask at these times; after the last, wait this long for missing answers."""

    due_s: Sequence[float]
    texts: Sequence[str]
    patience_s: float


class ClosedLoop(NamedTuple):
    """A number of users until `end_s`; then wait for open questions. The texts repeat if there are too few."""

    users: int
    texts: Sequence[str]
    end_s: float
    patience_s: float


class Answered(NamedTuple):
    """The outcome of one question."""

    due_s: float
    """When it was due."""
    total_s: float
    """Until its answer arrived, or until the client stopped waiting."""
    outcome: str
    """`hits`, `open` (no answer), or the code of an error."""
    seconds: Mapping[str, float]
    """The worker's own durations: `wait`, `embed`, `search`; empty if it reports none."""


class Asking:
    """Asks, and collects answers as they arrive; `done` holds each question once.

    Thread: one.
    """

    def __init__(self, topics: Topics) -> None:
        """Start at the end of the reply topic."""
        self._topics = topics
        self._producer = Producer({"bootstrap.servers": topics.bootstrap_servers, "linger.ms": 0})
        self._consumer = Consumer(
            {
                "bootstrap.servers": topics.bootstrap_servers,
                "group.id": "query-latency",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 10,  # as in `own_service.broker_tables`
            }
        )
        found = self._consumer.list_topics(topics.replies, timeout=_READY_S).topics[topics.replies].partitions
        places = [TopicPartition(topics.replies, partition) for partition in found]
        for place in places:
            _, place.offset = self._consumer.get_watermark_offsets(place, timeout=_READY_S)
        self._consumer.assign(places)
        self._ids = itertools.count(1)
        self._due_s: dict[bytes, float] = {}
        self.done: list[Answered] = []

    def ask(self, text: str, due_s: float) -> None:
        """Send one question."""
        correlation_id = next(self._ids).to_bytes(8)
        self._due_s[correlation_id] = due_s
        value = json.dumps({"text": text, "k": K, "deadline_ms": DEADLINE_MS}).encode()
        headers: list[tuple[str, str | bytes | None]] = [
            ("kafka_replyTopic", self._topics.replies.encode()),
            ("kafka_correlationId", correlation_id),
        ]
        self._producer.produce(self._topics.queries, value, headers=headers)
        self._producer.poll(0)

    def take(self, until_s: float) -> int:
        """Wait for an answer, at most until then, and collect all that arrived; return how many."""
        first = self._consumer.poll(min(max(until_s - time.monotonic(), 0.0), _POLL_S))
        messages = [] if first is None else [first, *self._consumer.consume(1_000, timeout=0)]
        now_s = time.monotonic()
        return sum(self._note(message, now_s) for message in messages if message.error() is None)

    def end(self, patience_s: float) -> None:
        """Wait for missing answers; a question that stays open counts with its waiting time."""
        until_s = time.monotonic() + patience_s
        while self._due_s and time.monotonic() < until_s:
            self.take(until_s)
        now_s = time.monotonic()
        self.done += [Answered(due_s, now_s - due_s, "open", {}) for due_s in self._due_s.values()]
        self._due_s.clear()

    def _note(self, message: Message, now_s: float) -> bool:
        found = dict(message.headers() or ()).get("kafka_correlationId")
        due_s = self._due_s.pop(found, None) if isinstance(found, bytes) else None
        if due_s is None:  # from an earlier run that stopped waiting
            return False
        reply: dict[str, Any] = json.loads(message.value() or b"{}")
        outcome = "hits" if "hits" in reply else str(reply.get("error", {}).get("code", "nothing"))
        self.done.append(Answered(due_s, now_s - due_s, outcome, reply.get("seconds", {})))
        return True


def ask_open(asking: Asking, loop: OpenLoop) -> list[Answered]:
    """Ask at the given times; return the outcome of each question."""
    for due_s, text in zip(loop.due_s, loop.texts, strict=True):
        while time.monotonic() < due_s:
            asking.take(due_s)
        asking.ask(text, due_s)
    asking.end(loop.patience_s)
    return asking.done


def ask_closed(asking: Asking, loop: ClosedLoop) -> list[Answered]:
    """Let users ask one question after another; return the outcome of each."""
    texts: Iterator[str] = itertools.cycle(loop.texts)
    for _ in range(loop.users):
        asking.ask(next(texts), time.monotonic())
    while time.monotonic() < loop.end_s:
        for _ in range(asking.take(loop.end_s)):
            asking.ask(next(texts), time.monotonic())
    asking.end(loop.patience_s)
    return asking.done


def open_client(topics: Topics) -> Opened:
    """Open in a process of its own; it runs one loop at a time and answers with the outcome of each question."""
    asking = Asking(topics)

    def run(loop: OpenLoop | ClosedLoop) -> list[Answered]:
        asking.done = []
        return ask_open(asking, loop) if isinstance(loop, OpenLoop) else ask_closed(asking, loop)

    return Opened({}, run)
