"""The canary: a line of our own, sent at intervals and searched for until it is found, to measure how long a line takes end to end.

It goes through the log topic like any line, and its query goes through the query lane like any query. All canaries have one template;
their lines stay in the index until retention removes them.
"""

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from producers.kafka import KafkaProducer, OutgoingRecord, ProducerBroken, QueueFull
from worker.asking.lane_question import TakeRequest, ask_lane
from worker.asking.refusals import Refused
from worker.runtime.histogram import LONG_SECONDS, Histogram
from worker.runtime.surroundings import Surroundings

LOST_S: Final = 60.0
"""A line that no search has found after this long counts as lost, also when the lag alone is longer."""
_RETRY_S: Final = 0.25
_ANSWER_S: Final = 5.0
_MOST_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryTally:
    """What became of the canaries.

    Thread: written by the canary's, read from any.
    """

    results: Counter[str] = field(default_factory=Counter)
    """`found` or `lost`."""
    seconds: Histogram = field(default_factory=lambda: Histogram(LONG_SECONDS))
    """Seconds from sending to finding."""


class Canary:
    """At most one line is on its way.

    Thread: `body` its own; `stop` and the tally from any.
    """

    def __init__(
        self,
        producer: KafkaProducer | None,
        topic: str,
        take_request: TakeRequest,
        surroundings: Surroundings,
        *,
        every_s: float | None,
        lost_s: float = LOST_S,
    ) -> None:
        """`take_request` puts a query into the query lane, False if it cannot now. Without a producer or a pace nothing is sent."""
        self._producer = producer
        self._topic = topic
        self._take_request = take_request
        self._every_s = every_s
        self._lost_s = lost_s
        self._clock = surroundings.clock
        self._wall_ms = surroundings.wall_ms
        self._stopped = threading.Event()
        self._numbers = random.SystemRandom()
        self.tally = CanaryTally()

    def body(self) -> None:
        """Send canaries and search for them until `stop`."""
        while self._producer is not None and self._every_s is not None and not self._stopped.wait(self._every_s):
            self.send_and_find(self._producer)

    def stop(self) -> None:
        """Send no more, and give up the current one."""
        self._stopped.set()

    def send_and_find(self, producer: KafkaProducer) -> None:
        """Send one and search for it. One that Kafka does not accept counts as lost."""
        number = f"{self._numbers.randrange(10**8):08d}"
        sent_s, since_ms = self._clock(), int(self._wall_ms()) - 1
        is_sent = threading.Event()

        def delivered(reason: str | None) -> None:
            if reason is None:
                is_sent.set()

        try:
            producer.send(self._topic, OutgoingRecord(f"vectail canary {number}".encode()), delivered=delivered, wait_s=0.0)
        except (QueueFull, ProducerBroken):
            self.tally.results["lost"] += 1
            return
        while self._clock() - sent_s < self._lost_s:
            if self._stopped.wait(_RETRY_S):
                return
            if is_sent.is_set() and self._is_found(number, since_ms):
                self.tally.seconds.add(self._clock() - sent_s)
                self.tally.results["found"] += 1
                return
        self.tally.results["lost"] += 1

    def _is_found(self, number: str, since_ms: int) -> bool:
        """Search once. The filter begins a minute early, because Kafka's clock and this machine's may differ."""
        query = {
            "text": f"vectail canary {number}",
            "mode": "dense",
            "k": _MOST_AT_ONCE,
            "per_template": _MOST_AT_ONCE,
            "filters": {"since_ms": since_ms - 60_000, "topic": [self._topic]},
        }
        try:
            answer = ask_lane(self._take_request, query, limit_s=_ANSWER_S)
        except Refused:
            return False
        return any(number in hit["text"] for hit in answer.get("hits", ()))
