"""What watches a service: probes, the lag, conditions, the canary, the heartbeat.

`worker.service.service` starts it first and stops it last. The service waits for none of it: each part has its own daemon thread and only
reads what the stages record.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from consumers.ledger import Ledger
from consumers.registry import RegistryAway
from sinks.sink import Sink, SinkBroken, SinkBusy
from worker.asking.lane_question import TakeRequest
from worker.connections import Connections
from worker.embedding.cache.redis_address import RedisFailed
from worker.embedding.cache.redis_cache import RedisCache
from worker.indexing.schema_lookup import Registry
from worker.inspecting.vector_watch import VectorWatch
from worker.runtime.stage import Crash, Stage
from worker.runtime.surroundings import Surroundings, wall_ms
from worker.settings.settings import Settings
from worker.watching.canary import Canary
from worker.watching.condition_watch import ConditionWatch
from worker.watching.group_lag import GroupLag, WatchedGroup
from worker.watching.group_members import Remembered
from worker.watching.group_offsets import consumer_group
from worker.watching.group_positions import KafkaPositions
from worker.watching.health import Health
from worker.watching.index_counts import IndexCounts
from worker.watching.index_reach import IndexReach
from worker.watching.lag_history import LagHistory
from worker.watching.lag_watch import LagWatch
from worker.watching.probe import Probe, ProbeFailed

_ANSWER_S: Final = 2.5
"""For one answer of Kafka; less than a probe's `ANSWER_LIMIT_S`."""
_END_S: Final = 0.5
_MEMBERS_KEPT_S: Final = 15.0
"""How long `/api/lag` may show members that have gone."""


class Status:
    """Reads the service and never changes it.

    Thread: main starts and stops it; the rest from any.
    """

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        redis: RedisCache | None,
        ledgers: Sequence[Ledger],
        *,
        health: Callable[[Sequence[Probe]], Health],
        take_request: TakeRequest,
        reach: IndexReach,
        vectors: VectorWatch,
    ) -> None:
        """`health` is built from the probes; `take_request` puts a canary's query into the query lane; `reach` is told of each look."""
        table, sink, registry = settings.status, connections.sink, connections.registry
        self._file = table.heartbeat_file
        self._every_s = table.refresh_s
        self._stopped = threading.Event()
        self.started_s = time.monotonic()
        """When the worker began, on the monotonic clock."""
        history = LagHistory()
        groups = {"logs": consumer_group(settings, queries=False), "queries": consumer_group(settings, queries=True)}
        describe = Remembered([group.name for group in groups.values()], keep_s=_MEMBERS_KEPT_S, clock=time.monotonic)
        connect = partial(KafkaPositions, settings.kafka, answer_s=_ANSWER_S, describe=describe)
        self.lag = LagWatch(
            connect,
            [*groups.values()],
            owned=lambda: [partition for ledger in ledgers for partition in ledger.owned()],
            clock=time.monotonic,
            wall_ms=wall_ms,
            history=history,
            reach=reach,
            lists_topics=not settings.kafka.index,
        )
        watched = [WatchedGroup("logs", groups["logs"]), WatchedGroup("queries", groups["queries"])]
        self.group_lag = GroupLag(connect, watched, history, clock=time.monotonic, wall_ms=wall_ms)
        self.conditions = ConditionWatch(clock=time.monotonic)
        self.vectors = vectors
        self.index_counts = IndexCounts(sink, clock=time.monotonic)
        self.probes = [self._probe("kafka", self.lag.read), self._probe("index", partial(_check_index, sink))]
        if redis is not None:
            self.probes.append(self._probe("redis", partial(_check_redis, redis)))
        if registry is not None and settings.kafka.index:
            self.probes.append(self._probe("registry", partial(_check_registry, registry)))
        self.health = health(self.probes)
        self.canary = Canary(
            connections.canary_producer, settings.canary_topic() or "", take_request, Surroundings(), every_s=table.canary_interval_s
        )
        self._stages: list[Stage] = []

    def start(self, on_crash: Crash) -> None:
        """Start all threads."""
        bodies = {f"probe-{probe.name}": probe.body for probe in self.probes[1:]}
        bodies |= {"probe-kafka": self._watch_kafka, "heartbeat": self._beat, "canary": self.canary.body}
        bodies |= {"conditions": self._judge, "index-counts": self.index_counts.body, "vectors": self.vectors.body}
        self._stages = [Stage(name, body, on_crash) for name, body in bodies.items()]
        for stage in self._stages:
            stage.start()

    def stop(self) -> None:
        """Stop all threads; one whose check does not return is abandoned."""
        self._stopped.set()
        for probe in self.probes:
            probe.stop()
        self.canary.stop()
        self.conditions.stop()
        self.index_counts.stop()
        self.vectors.stop()
        self.group_lag.close()
        until_s = time.monotonic() + _END_S
        for stage in self._stages:
            if stage.ident is not None:
                stage.join(max(until_s - time.monotonic(), 0.0))

    def _probe(self, name: str, check: Callable[[], None]) -> Probe:
        return Probe(name, check, every_s=self._every_s, clock=time.monotonic)

    def _watch_kafka(self) -> None:
        """Probe Kafka, then close the connection on the thread that owns it."""
        self.probes[0].body()
        self.lag.close()

    def _judge(self) -> None:
        """Judge the conditions, and let go of what no page has asked for lately."""
        self.conditions.body(self.group_lag.rest)

    def _beat(self) -> None:
        """Touch the heartbeat file while the worker is alive."""
        while self._file is not None:
            if self.health.alive().is_good:
                with contextlib.suppress(OSError):  # a full disk must not end the worker; the probe sees the file's age
                    self._file.touch()
                    os.utime(self._file)
            if self._stopped.wait(self._every_s):
                return


def _check_index(sink: Sink) -> None:
    try:
        sink.ping()
    except (SinkBusy, SinkBroken) as error:
        raise ProbeFailed(str(error)) from None


def _check_registry(registry: Registry) -> None:
    try:
        registry.ping()
    except RegistryAway as error:
        raise ProbeFailed(str(error)) from None


def _check_redis(redis: RedisCache) -> None:
    try:
        redis.ping()
    except RedisFailed as error:
        raise ProbeFailed(str(error)) from None
