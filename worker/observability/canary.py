"""A line of our own, now and then, searched for until it is found: how long a line really takes until a search shows it.

It goes the whole way that a user's line goes, from the log topic into the index, and the question goes the way of a user's question.
All canaries have one template; their lines stay in the index until its retention takes them.
"""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from producers.kafka import KafkaProducer, ProducerBroken, QueueFull
from worker.query import QueryRequest, Requester
from worker.runtime.histogram import LONG_SECONDS, Histogram

LOST_S: Final = 60.0
"""A line that no search has found after so long counts as lost; one under a lag that is longer, too."""
_AGAIN_S: Final = 0.25
_ANSWER_S: Final = 5.0
_MOST_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryTally:
    """What became of the canaries.

    Thread: written by the canary's, read by anyone.
    """

    results: Counter[str] = field(default_factory=Counter)
    """`found` or `lost`."""
    seconds: Histogram = field(default_factory=lambda: Histogram(LONG_SECONDS))
    """From sending to finding."""


class Canary:
    """One line at a time.

    Thread: `body` its own; `stop` and the tally from any.
    """

    def __init__(
        self,
        producer: KafkaProducer | None,
        topic: str,
        ask: Callable[[QueryRequest], bool],
        *,
        every_s: float | None,
        lost_s: float = LOST_S,
        clock: Callable[[], float] = time.monotonic,
        wall_ms: Callable[[], float] = lambda: time.time() * 1000,
    ) -> None:
        """`ask` puts a question into the query lane; False when it cannot be taken now. Without a producer, or a pace, nothing is sent."""
        self._producer = producer
        self._topic = topic
        self._ask = ask
        self._every_s = every_s
        self._lost_s = lost_s
        self._clock = clock
        self._wall_ms = wall_ms
        self._stopped = threading.Event()
        self._numbers = random.SystemRandom()
        self.tally = CanaryTally()

    def body(self) -> None:
        """Send and look for canaries until `stop`."""
        while self._producer is not None and self._every_s is not None and not self._stopped.wait(self._every_s):
            self.turn(self._producer)

    def stop(self) -> None:
        """Send no more, and look for the last one no longer."""
        self._stopped.set()

    def turn(self, producer: KafkaProducer) -> None:
        """Send one and look for it; one that Kafka does not take in time is lost, too."""
        number = f"{self._numbers.randrange(10**8):08d}"
        sent_s, since_ms = self._clock(), int(self._wall_ms()) - 1
        is_sent = threading.Event()

        def delivered(reason: str | None) -> None:
            if reason is None:
                is_sent.set()

        try:
            producer.send(self._topic, value=f"vectail canary {number}".encode(), delivered=delivered, wait_s=0.0)
        except (QueueFull, ProducerBroken):
            self.tally.results["lost"] += 1
            return
        while self._clock() - sent_s < self._lost_s:
            if self._stopped.wait(_AGAIN_S):
                return
            if is_sent.is_set() and self._is_found(number, since_ms):
                self.tally.seconds.add(self._clock() - sent_s)
                self.tally.results["found"] += 1
                return
        self.tally.results["lost"] += 1

    def _is_found(self, number: str, since_ms: int) -> bool:
        """Ask once. Clocks of Kafka and of this machine may differ a little: the time that it asks for begins early."""
        query = {
            "text": f"vectail canary {number}",
            "mode": "dense",
            "k": _MOST_AT_ONCE,
            "per_template": _MOST_AT_ONCE,
            "filters": {"since_ms": since_ms - 60_000, "topic": [self._topic]},
            "deadline_ms": int(_ANSWER_S * 1000),
        }
        answers: list[bytes] = []
        has_come = threading.Event()

        def reply(value: bytes, *, deadline_s: float | None) -> None:  # noqa: ARG001 - we wait for as long as we like
            answers.append(value)
            has_come.set()

        if not self._ask(QueryRequest(json.dumps(query).encode(), Requester(reply, self._clock()))) or not has_come.wait(2 * _ANSWER_S):
            return False
        return any(number in hit["text"] for hit in json.loads(answers[0]).get("hits", ()))
