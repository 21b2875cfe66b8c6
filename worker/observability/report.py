"""Says what was saved, topic by topic, and what Redis did for it: now and then while lines come, and once more at the end."""

from collections.abc import Callable, Mapping

from worker.indexing.savings import Savings
from worker.runtime.logs import inform

EVERY_S = 60.0


class Report:
    """What has no news is not mentioned again.

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
        """`redis` returns counters by name, nothing without one; `say` takes what happened and the figures by name."""
        self._savings = savings
        self._redis = redis
        self._say = say
        self._next_s = now_s + EVERY_S
        self._told: dict[str, int] = {}
        self._redis_told: Mapping[str, int] = {}

    def tick(self, now_s: float) -> None:
        """Say it when it is time."""
        if now_s >= self._next_s:
            self._next_s = now_s + EVERY_S
            self.say()

    def say(self) -> None:
        """Say it now."""
        for topic, savings in sorted(self._savings().items()):
            if self._told.get(topic) != savings.chunks:
                self._told[topic] = savings.chunks
                self._say("work saved", topic=topic, **savings.facts())
        facts = self._redis()
        if facts != self._redis_told:
            self._redis_told = facts
            self._say("redis", **facts)
