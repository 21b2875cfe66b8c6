"""The service: wires the six nouns together, starts the stages, and ends them in order.

Theory of operation
1. Connections are handed in ready (`worker.connections`); everything else is made in `__init__`, started in `run`, and ended by
   `worker.service.shutdown`. Data flows one way: pollers → prepare → embed → store / answer. The only way back is the ledger, which the
   pollers pull.
2. Drain (SIGTERM): everything admitted is finished, in order and within `limits.drain_timeout_s`.
3. Crash: the first unexpected exception stops everything, and nothing more is committed. Two crashes still commit what is settled: a
   limit that was reached, and a committed offset that has expired.

Not taken: an event loop (every client blocks); a supervisor that restarts stages (a stage that failed unexpectedly cannot be trusted
to have settled correctly); waiting for empty lanes (that looks at the queue and not at the work in hand).
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from consumers.kafka.kafka_source import KafkaSource
from consumers.kafka.subscription import Subscription
from consumers.poller import Poller, PollerSettings
from consumers.source import SourceExpired
from sinks.sink import SinkMismatch
from worker.asking.requests import QueryRequest
from worker.connections import Connections, query_source
from worker.embedding.guarded_engine import GuardedEngine
from worker.inspecting.letters_document import DeadLetterDocument
from worker.inspecting.page_replay import DeadLetterReplay
from worker.inspecting.vector_watch import VectorWatch, WatchedSpace
from worker.reindex.space_model import SpaceModel
from worker.runtime.limits import LimitReached
from worker.runtime.logs import inform
from worker.runtime.process import collect_garbage_rarely
from worker.runtime.sink_opener import SinkOpener
from worker.runtime.stage import Abandoned, Stage
from worker.runtime.surroundings import Surroundings
from worker.runtime.watchdog import EngineHangs, Watchdog, oldest
from worker.service.doctor_document import doctor_document
from worker.service.model_change import ModelChange
from worker.service.pages import pages_of
from worker.service.peers_document import PeersDocument
from worker.service.pipeline import Pipeline, StageGroup
from worker.service.samples import samples
from worker.service.savings_report import SavingsReport
from worker.service.shutdown import Ending, close, drain
from worker.service.status import Status
from worker.service.status_document import status_document, worker_name
from worker.service.suggestions_document import OfferedMasks
from worker.serving.worker_view import WorkerView
from worker.settings.settings import Settings, fail_point_of_tests
from worker.watching.exposition import Exposition
from worker.watching.health import Health
from worker.watching.probe import Probe

if TYPE_CHECKING:
    from worker.service.embedding_service import EmbeddingService
    from worker.serving.embeddings.embedding_api import EmbeddingApi
    from worker.serving.server import HttpServer

_WATCH_S = 0.2
_QUERIES_FETCHED = 500
"""Queries that a poll asks for: those that are held are not among the records in flight."""
_NOTHING_TO_DRAIN_S = 5.0
"""For the end of a service that crashed or never opened the index."""


class Service:
    """Runs once; `run` returns how it ended, and `crash` why.

    Thread: main; `stop` and everything that is only read from any.
    """

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        *,
        say: Callable[[str], None],
        stop: threading.Event | None = None,
        adopt: bool = False,
    ) -> None:
        """`stop` begins the drain; it may be set already, and is the service's own if not given.

        `adopt` takes the index over from another consumer group.
        """
        self.settings = settings
        self.connections = connections
        self.opened = threading.Event()
        """Set once the index is open and polling has begun."""
        self.abandon = threading.Event()
        """Set once what is in hand is given up; it will be read again."""
        self._say = say
        self._stop = stop or threading.Event()
        self._crash: tuple[str, Exception] | None = None
        self._ends_s: float | None = None
        surroundings = Surroundings(say=say, pause=self.abandon.wait, is_abandoned=self.abandon.is_set, fail_point=fail_point_of_tests())
        self.redis = None if connections.connect_redis is None else connections.connect_redis(self.on_crash)
        self.embeddings = self._embedding_service(surroundings)
        self.pipeline = Pipeline(settings, connections, self.redis, surroundings, embeddings=self.embeddings)
        self.groups: Sequence[StageGroup] = self.pipeline.stages(self.on_crash)
        self._side_stages = self.pipeline.side_stages(self.on_crash)
        kafka, logs, queries = settings.kafka, self.pipeline.indexing.ledger, self.pipeline.querying.ledger
        paced = PollerSettings(max_poll_interval_s=kafka.max_poll_interval_s, commit_interval_s=kafka.commit_interval_s)
        new_poller = partial(Poller, say=say)
        self.log_source = KafkaSource(kafka, settings.subscription, say=say) if kafka.index else None
        """None, and no `logs` either: the worker indexes nothing."""
        self.query_source = KafkaSource(query_source(kafka), Subscription(names=(kafka.query_topic,)), say=say)
        put, point = self.pipeline.indexing.prepare_lane.put, surroundings.fail_point
        self.logs = None
        if self.log_source is not None:
            self.logs = new_poller(source=self.log_source, settings=paced, ledger=logs, deliver=put, fail_point=point)
        quick = replace(paced, max_fetch_records=_QUERIES_FETCHED)
        self.queries = new_poller(source=self.query_source, settings=quick, ledger=queries, deliver=self.pipeline.querying.take_polled)
        self.pollers: Sequence[tuple[Poller, Stage]] = [
            (poller, Stage(f"poller-{group}", poller.run, self.on_crash)) for group, poller in self._poller_of_group().items()
        ]
        self.status = Status(
            settings,
            connections,
            self.redis,
            [logs, queries],
            health=self._health,
            take_request=self._take_request,
            reach=self.pipeline.reach,
            vectors=VectorWatch(self._open_watched_space, is_idle=lambda: not len(self.pipeline.embedder), clock=time.monotonic),
        )
        self.model_change = ModelChange(
            settings, connections, self.pipeline, surroundings, owner=worker_name(), is_stopping=self._stop.is_set, on_crash=self.on_crash
        )
        self._reindex_stage = Stage("reindex", self.model_change.reindexer.run, self.on_crash)
        self.http = self._http_server()
        self.opener = SinkOpener(connections.sink, self._stop, say=say, on_crash=self.on_crash, create=kafka.index, adopt=adopt)

    def run(self) -> Ending:
        """Open the sink, start everything, wait for `stop` or a crash, and end. Raises SinkMismatch, and ModelError of a pinned model."""
        collect_garbage_rarely()
        drained = True
        try:
            if self.embeddings is not None:
                self.embeddings.start()
            if self.http is not None:
                self.http.start()
            self.status.start(self.on_crash)
            if self.opener.wait(self._until_s):
                for stage in self._stages():
                    stage.start()
                self._reindex_stage.start()
                self.opened.set()
                redis = dict if self.redis is None else self.redis.tally.facts
                report = SavingsReport(self.pipeline.indexing.flights.savings, redis, now_s=time.monotonic())
                self._watch(report)
                drained = drain(self, self._until_s())
                report.say()
        finally:
            close(self, self._until_s())
        if isinstance(self.crash_error, SinkMismatch):
            raise self.crash_error
        if self._crash is not None:
            return Ending.CRASHED
        return Ending.DRAINED if drained else Ending.UNDRAINED

    def stop(self) -> None:
        """Begin the drain."""
        self._stop.set()

    @property
    def crash(self) -> str | None:
        """What ended the service, in one line; None if nothing did."""
        return None if self._crash is None else f"{self._crash[0]}: {type(self._crash[1]).__name__}: {self._crash[1]}"

    @property
    def crash_error(self) -> Exception | None:
        """The exception that ended the service."""
        return None if self._crash is None else self._crash[1]

    def stage_seconds(self) -> dict[str, float]:
        """Return the processor seconds of each stage's own thread, once it has ended."""
        return {stage.name: stage.cpu_s for stage in self._stages()}

    def view(self) -> WorkerView:
        """Return what the HTTP server sees of the worker. Called once, before the start: the conditions are watched from then on."""
        status, settings = self.status, self.settings
        status.conditions.watch(lambda: samples(self, time.monotonic()))
        replay = DeadLetterReplay(
            settings, self.connections.sink, is_running=lambda: status.health.phase() == "running", pause=self.abandon.wait
        )
        offered = OfferedMasks(settings, self._take_request)
        return WorkerView(
            take_request=self._take_request,
            name=worker_name(),
            pages=pages_of(status.health, Exposition(lambda: samples(self, time.monotonic()))),
            documents={
                "/api/status": status_document(self),
                "/api/lag": lambda _parameters: status.group_lag.document(),
                "/api/dead-letters": DeadLetterDocument(settings).document,
                "/api/doctor": doctor_document(self, self._take_request, partial(offered.document, {})),
                "/api/suggestions": offered.document,
                "/api/reindex": self.model_change.document,
                "/api/workers": PeersDocument(settings.http, own_name=worker_name()).document,
            },
            actions={"/api/dead-letters/replay": replay.replay, "/api/reindex": self.model_change.act},
            embeddings=self._embedding_api(),
            settings=settings,
        )

    @property
    def has_crashed(self) -> bool:
        """Whether an exception has ended the service."""
        return self._crash is not None

    def on_crash(self, stage: str, error: Exception) -> None:
        """Stop because of an exception that a stage did not expect; called on the stage's own thread."""
        if isinstance(error, Abandoned):
            return
        if self._crash is None:
            self._crash = (stage, error)
        if not isinstance(error, LimitReached | SourceExpired):
            for poller, _ in self.pollers:
                poller.commits.forbid()
        self._stop.set()

    def _stages(self) -> list[Stage]:
        """Return every stage, in the order in which they start: the pollers last."""
        of_groups = (stage for group in self.groups for stage in group.stages)
        return [*of_groups, *self._side_stages, *(stage for _, stage in self.pollers)]

    @contextmanager
    def _open_watched_space(self) -> Iterator[WatchedSpace]:
        """Give the model that embeds now, to the thread that compares stored vectors."""
        space = self.pipeline.space
        model = SpaceModel(space.loaded, space.templates.submit, self.abandon.is_set, urgency="bulk", requester="stored-vectors")
        with closing(model):
            yield WatchedSpace(space.view, model)

    def _poller_of_group(self) -> dict[str, Poller]:
        logs = {} if self.logs is None else {"logs": self.logs}
        return {**logs, "queries": self.queries}

    def _http_server(self) -> "HttpServer | None":
        listening = self.connections.http
        if listening is None:
            return None
        from worker.serving.server import HttpServer  # noqa: PLC0415 - takes a third of a second to import

        return HttpServer(listening, self.settings.http, self.view(), say=self._say, on_crash=self.on_crash)

    def _embedding_service(self, surroundings: Surroundings) -> "EmbeddingService | None":
        if not self.settings.serve.enabled or self.connections.http is None:
            return None
        from worker.service.embedding_service import EmbeddingService  # noqa: PLC0415 - as the server

        name = self.connections.model.prepared.name
        return EmbeddingService(self.settings, name, redis=self.redis, surroundings=surroundings, on_crash=self.on_crash)

    def _embedding_api(self) -> "EmbeddingApi | None":
        served = self.pipeline.served
        return None if self.embeddings is None or served is None else self.embeddings.api(served)

    def _health(self, probes: Sequence[Probe]) -> Health:
        return Health(
            pollers=self._poller_of_group(),
            stages=self._stages(),
            probes=probes,
            phase=lambda: "stopping" if self._stop.is_set() else "running" if self.opened.is_set() else "starting",
            engine_is_up=lambda: self.pipeline.guarded_engine.is_up,
            max_poll_interval_s=self.settings.kafka.max_poll_interval_s,
            clock=time.monotonic,
        )

    def _engines(self) -> Iterable[GuardedEngine]:
        """Return all that compute now: one that hangs may hold the device."""
        yield from self.pipeline.guarded_engines
        if self.embeddings is not None:
            yield from self.embeddings.guarded_engines()

    def _take_request(self, request: QueryRequest) -> bool:
        if is_open := self.opened.is_set() and not self._stop.is_set():
            self.pipeline.querying.take_request(request)
        return is_open

    def _watch(self, report: SavingsReport) -> None:
        watchdog = Watchdog(lambda: oldest(self._engines()), watchdog_s=self.settings.engine.watchdog_s)
        while not self._stop.wait(_WATCH_S):
            report.tick(time.monotonic())
            try:
                watchdog.check(time.monotonic())
            except EngineHangs as error:
                self.on_crash("engine", error)
            for producer in (self.connections.dead_letters, self.connections.reply_producer):
                if producer.fatal is not None:
                    self.on_crash("kafka-delivery", RuntimeError(producer.fatal))

    def _until_s(self) -> float:
        """Return when the end must be over, but for `worker.service.shutdown.LEAVE_S`; the first call begins it."""
        if self._ends_s is None:
            drain_s = self.settings.limits.drain_timeout_s
            has_work = self.opened.is_set() and self._crash is None
            if has_work:
                inform("stopping: what was taken in is finished first; a second signal leaves at once", at_most_s=drain_s)
            self._ends_s = time.monotonic() + (drain_s if has_work else min(drain_s, _NOTHING_TO_DRAIN_S))
        return self._ends_s
