"""A process that only answers requests for vectors: `vectail serve`, without Kafka and without an index."""

import threading
import time
from collections.abc import Callable, Iterator

from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.loaded import LoadedModel
from worker.runtime.listening import Listening
from worker.runtime.process import collect_garbage_rarely, vectail_version
from worker.runtime.stage import Crash, Stage
from worker.runtime.surroundings import Surroundings
from worker.runtime.watchdog import EngineHangs, Watchdog, oldest
from worker.service.embedding_service import EmbeddingService
from worker.service.engine_samples import engine_samples
from worker.service.pages import pages_of
from worker.service.status_document import worker_name
from worker.serving.server import HttpServer
from worker.serving.worker_view import WorkerView
from worker.settings.settings import Settings
from worker.watching import metrics as m
from worker.watching.condition_watch import ConditionWatch
from worker.watching.exposition import Exposition
from worker.watching.health import Health
from worker.watching.metrics import Sample

_WATCH_S = 0.2
_LEAVE_S = 1.0


class EmbeddingProcess:
    """Answers from its making until `stop` is set, then finishes what it has begun.

    Thread: main.
    """

    def __init__(
        self,
        settings: Settings,
        model: LoadedModel,
        listening: Listening,
        *,
        connect_redis: Callable[[Crash], RedisCache] | None,
        say: Callable[[str], None],
        stop: threading.Event,
    ) -> None:
        """`model` is the default one. Raises ModelError and SettingsError."""
        self.crash: tuple[str, Exception] | None = None
        """What ended it, if an exception did: the stage, and the exception."""
        self._settings = settings
        self._stop = stop
        self._redis = None if connect_redis is None else connect_redis(self._on_crash)
        self._embeddings = EmbeddingService(
            settings, model.prepared.name, redis=self._redis, surroundings=Surroundings(say=say), on_crash=self._on_crash
        )
        self._model = model
        self._default = self._embeddings.open_default(model)
        self._embeddings.start()
        self._conditions = ConditionWatch(clock=time.monotonic)
        self._conditions.watch(self._samples)
        self._watch = Stage("conditions", self._conditions.body, self._on_crash)
        health = Health(
            pollers={},
            stages=self._default.stages,
            probes=(),
            phase=lambda: "stopping" if stop.is_set() else "running",
            engine_is_up=lambda: self._default.guarded_engine.is_up,
            max_poll_interval_s=settings.kafka.max_poll_interval_s,
            clock=time.monotonic,
        )
        view = WorkerView(
            take_request=lambda _request: False,
            name=worker_name(),
            pages=pages_of(health, Exposition(self._samples)),
            embeddings=self._embeddings.api(self._default.served),
            has_index=False,
        )
        self._http = HttpServer(listening, settings.http, view, say=say, on_crash=self._on_crash)

    def run(self) -> None:
        """Answer until `stop` is set or something crashes, then end within `limits.drain_timeout_s`."""
        collect_garbage_rarely()
        self._http.start()
        self._watch.start()
        watchdog = Watchdog(
            lambda: oldest([self._default.guarded_engine, *self._embeddings.guarded_engines()]), watchdog_s=self._settings.engine.watchdog_s
        )
        while not self._stop.wait(_WATCH_S):
            try:
                watchdog.check(time.monotonic())
            except EngineHangs as error:
                self._on_crash("engine", error)
        until_s = time.monotonic() + self._settings.limits.drain_timeout_s
        self._http.stop_intake()
        self._conditions.stop()
        if self.crash is None:
            self._default.close(until_s)
            self._embeddings.close(max(until_s - time.monotonic(), 0.0))
        self._http.close(max(until_s - time.monotonic(), _LEAVE_S))
        self._watch.join(_LEAVE_S)
        if self._redis is not None:
            self._redis.close(0.0)

    def _samples(self) -> Iterator[Sample]:
        model = self._model
        yield Sample(m.BUILD_INFO, 1.0, (vectail_version(), model.engine.name, model.prepared.name, model.space.id, ""))
        yield from engine_samples(self._default)
        yield from self._embeddings.samples(self._default.served)
        yield from self._conditions.samples()

    def _on_crash(self, stage: str, error: Exception) -> None:
        if self.crash is None:
            self.crash = (stage, error)
        self._stop.set()
