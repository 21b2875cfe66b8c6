"""What watches a service and tells others: probes, the lag, the canary, the heartbeat. `worker.service` starts it first and ends it last.

Nothing of the service waits for any of it: each part has a thread of its own, a daemon, and only reads what the stages note.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from consumers.ledger import Ledger
from producers.kafka import KafkaProducer
from sinks.sink import Sink, SinkBroken, SinkBusy
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.cache.redis_client import RedisFailed
from worker.groups.kafka import KafkaPositions
from worker.groups.offsets import group_topics
from worker.observability.canary import Canary
from worker.observability.health import Health
from worker.observability.lag_watch import LagWatch
from worker.observability.probe import Probe, ProbeFailed
from worker.query import QueryRequest
from worker.runtime.stage import Crash, Stage
from worker.settings.settings import Settings

_ANSWER_S: Final = 2.5
"""For one answer of Kafka's: less than the patience of a probe."""
_END_S: Final = 0.5


class Status:
    """Reads the service, and changes nothing of it.

    Thread: main starts and stops it; what it shows is for any.
    """

    def __init__(
        self,
        settings: Settings,
        sink: Sink,
        redis: RedisCache | None,
        ledgers: Sequence[Ledger],
        health: Callable[[Sequence[Probe]], Health],
        *,
        canary: KafkaProducer | None,
        take_question: Callable[[QueryRequest], bool],
        on_crash: Crash,
    ) -> None:
        """`health` is told of the probes; `canary` sends lines of our own, None if none shall be sent."""
        table = settings.status
        self._settings = settings
        self._file = table.heartbeat_file
        self._every_s = table.refresh_s
        self._stopped = threading.Event()
        self.lag = LagWatch(
            lambda: KafkaPositions(settings.kafka, answer_s=_ANSWER_S),
            [group_topics(settings.kafka, queries=False), group_topics(settings.kafka, queries=True)],
            owned=lambda: [partition for ledger in ledgers for partition in ledger.owned()],
            clock=time.monotonic,
            wall_ms=lambda: time.time() * 1000,
        )
        self.probes = [self._probe("kafka", self.lag.ask), self._probe("index", partial(_ask_index, sink))]
        if redis is not None:
            self.probes.append(self._probe("redis", partial(_ask_redis, redis)))
        self.health = health(self.probes)
        self.canary = Canary(canary, settings.kafka.topics[0], take_question, every_s=table.canary_interval_s)
        bodies = {f"probe-{probe.name}": probe.body for probe in self.probes[1:]}
        bodies |= {"probe-kafka": self._watch_kafka, "heartbeat": self._beat, "canary": self.canary.body}
        self._stages = [Stage(name, body, on_crash) for name, body in bodies.items()]

    def start(self) -> None:
        """Begin to watch."""
        for stage in self._stages:
            stage.start()

    def stop(self) -> None:
        """Watch no more; who is in the middle of a question is left behind."""
        self._stopped.set()
        for probe in self.probes:
            probe.stop()
        self.canary.stop()
        until_s = time.monotonic() + _END_S
        for stage in self._stages:
            if stage.ident is not None:
                stage.join(max(until_s - time.monotonic(), 0.0))

    def _probe(self, name: str, ask: Callable[[], None]) -> Probe:
        return Probe(name, ask, every_s=self._every_s, clock=time.monotonic)

    def _watch_kafka(self) -> None:
        """The probe's thread, which owns the connection, also ends it."""
        self.probes[0].body()
        self.lag.close()

    def _beat(self) -> None:
        """Touch the heartbeat's file while the worker is alive."""
        while self._file is not None:
            if self.health.alive().is_good:
                with contextlib.suppress(OSError):  # a disk that is full must not end the worker; the file's age says it
                    self._file.touch()
                    os.utime(self._file)
            if self._stopped.wait(self._every_s):
                return


def _ask_index(sink: Sink) -> None:
    try:
        sink.ping()
    except (SinkBusy, SinkBroken) as error:
        raise ProbeFailed(str(error)) from None


def _ask_redis(redis: RedisCache) -> None:
    try:
        redis.ping()
    except RedisFailed as error:
        raise ProbeFailed(str(error)) from None
