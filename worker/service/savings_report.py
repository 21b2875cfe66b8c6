"""Logs how much work was saved in each topic, and what Redis contributed: once a minute while lines arrive, and once at the end."""

from collections.abc import Callable, Mapping

from worker.indexing.savings import Savings
from worker.runtime.logs import inform

EVERY_S = 60.0


class SavingsReport:
    """A topic is logged only when its numbers have changed.

    Thread: main.
    """

    def __init__(
        self,
        savings: Callable[[], Mapping[str, Savings]],
        redis: Callable[[], Mapping[str, int]] = dict,
        *,
        now_s: float,
        say: Callable[..., None] = inform,
    ) -> None:
        """`redis` returns counters by name, none without Redis; `say` takes an event and its numbers by name."""
        self._savings = savings
        self._redis = redis
        self._say = say
        self._next_s = now_s + EVERY_S
        self._logged_chunks: dict[str, int] = {}
        self._logged_redis: Mapping[str, int] = {}

    def tick(self, now_s: float) -> None:
        """Log it if it is time."""
        if now_s >= self._next_s:
            self._next_s = now_s + EVERY_S
            self.say()

    def say(self) -> None:
        """Log it now."""
        for topic, savings in sorted(self._savings().items()):
            if self._logged_chunks.get(topic) != savings.chunks:
                self._logged_chunks[topic] = savings.chunks
                self._say("work saved", topic=topic, **savings.facts())
        facts = self._redis()
        if facts != self._logged_redis:
            self._logged_redis = facts
            self._say("redis", **facts)
