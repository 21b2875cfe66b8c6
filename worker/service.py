"""The service: wires the six nouns together, starts the stages, and ends them in order.

Theory of operation
1. Everything outside is handed in ready (`Connections`); everything inside is made here. Data goes one way: pollers → prepare →
   embed → store / answer. The only way back is the ledger, pulled by the poller.
2. Drain (SIGTERM): what was taken in is finished, in order and within `limits.drain_timeout_s` (`worker.shutdown`).
3. Crash: the first unexpected exception stops everything, and nothing more is committed. A limit that was reached is a crash
   that commits what is settled, and so is a committed offset that is not there any more.

Not taken: an event loop (every client blocks), a supervisor that restarts stages (a stage that failed unexpectedly cannot
be trusted to have settled rightly), waiting for lanes to be empty (looks at the queue and not at the work in hand).
"""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from consumers.kafka.source import KafkaSource
from consumers.poller import Poller, PollerSettings
from consumers.source import SourceExpired
from sinks.sink import SinkMismatch
from worker.connections import Connections, log_source, query_source
from worker.observability.exposition import Exposition
from worker.observability.health import Health
from worker.observability.pages import pages_of
from worker.observability.probe import Probe
from worker.observability.report import Report
from worker.observability.samples import Parts, samples
from worker.observability.status import Status
from worker.pipeline import Pipeline
from worker.query import QueryRequest
from worker.runtime.exit_codes import CRASHED, DRAIN_TIMEOUT, DRAINED
from worker.runtime.fail_point import fail_point
from worker.runtime.limits import LimitReached
from worker.runtime.logs import inform
from worker.runtime.sink_opener import SinkOpener
from worker.runtime.stage import Abandoned, Stage
from worker.runtime.watchdog import EngineHangs, Watchdog
from worker.settings.settings import Settings
from worker.shutdown import Shutdown

if TYPE_CHECKING:
    from worker.http.server import HttpServer

_WATCH_S = 0.2
_NOTHING_TO_DRAIN_S = 5.0
"""For the end after a crash, and of a service that was never open."""


class Service:
    """Started once, ended once; `exit_code` says how.

    Thread: main; `stop` and the counters from any.
    """

    def __init__(
        self, settings: Settings, outside: Connections, *, say: Callable[[str], None], stop: threading.Event | None = None
    ) -> None:
        """`stop` begins the drain; it may be set already, and is the service's own if not given."""
        self._settings = settings
        self.outside = outside
        self._say = say
        self._stop = stop or threading.Event()
        self.opened = threading.Event()
        """Set once the index is open and polling has begun."""
        self._abandon = threading.Event()
        self._crash: tuple[str, Exception] | None = None
        self._ends_s: float | None = None
        at = fail_point(settings.fail_point)
        self.redis = None if outside.connect_redis is None else outside.connect_redis(self._on_crash)
        self.pipeline = Pipeline(
            settings, outside.model, outside.sink, outside.letters, outside.replies, self.redis, say=say, abandon=self._abandon, at=at
        )
        kafka = settings.kafka
        paced = PollerSettings(max_poll_interval_s=kafka.max_poll_interval_s, commit_interval_s=kafka.commit_interval_s)
        self.log_source = KafkaSource(log_source(kafka), say=say)
        self.query_source = KafkaSource(query_source(kafka), say=say)
        new_poller = partial(Poller, settings=paced, say=say)
        logs, queries = self.pipeline.log_ledger, self.pipeline.query_ledger
        self.logs = new_poller(source=self.log_source, ledger=logs, deliver=self.pipeline.prepare_lane.put, fail_point=at)
        self.queries = new_poller(source=self.query_source, ledger=queries, deliver=self.pipeline.take_queries)
        self._pollers = [
            Stage("poller-logs", self.logs.run, self._on_crash),
            Stage("poller-queries", self.queries.run, self._on_crash),
        ]
        self._groups = self.pipeline.stages(self._on_crash)
        self.status = Status(
            settings,
            outside.sink,
            self.redis,
            [logs, queries],
            self._health,
            canary=outside.canary_producer,
            take_question=self._take_question,
            on_crash=self._on_crash,
        )
        self._http = self._http_server()
        self._opening = SinkOpener(outside.sink, self._stop, say=say, on_crash=self._on_crash)
        self._ending = Shutdown(
            opening=self._opening.stage,
            pollers=list(zip((self.logs, self.queries), self._pollers, strict=True)),
            groups=self._groups,
            pipeline=self.pipeline,
            outside=outside,
            redis=self.redis,
            http=self._http,
            status=self.status,
            abandon=self._abandon,
            has_crashed=lambda: self._crash is not None,
            on_crash=self._on_crash,
        )

    def run(self) -> int:
        """Open the sink, start everything, wait for `stop` or a crash, end; returns the exit code. Raises SinkMismatch."""
        drained = True
        try:
            if self._http is not None:
                self._http.start()
            self.status.start()
            if self._opening.wait(self._until_s):
                for group in self._groups:
                    for stage in group.stages:
                        stage.start()
                for stage in self._pollers:
                    stage.start()
                self.opened.set()
                redis = dict if self.redis is None else self.redis.tally.facts
                report = Report(self.pipeline.flights.savings, redis, now_s=time.monotonic())
                self._watch(report)
                drained = self._ending.drain(self._until_s())
                report.say()
        finally:
            self._ending.close(self._until_s())
        if isinstance(self.crash_error, SinkMismatch):
            raise self.crash_error
        if self._crash is not None:
            return CRASHED
        return DRAINED if drained else DRAIN_TIMEOUT

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
        """Processor seconds of each stage's own thread, once it has ended."""
        return {stage.name: stage.cpu_s for group in self._groups for stage in group.stages} | {s.name: s.cpu_s for s in self._pollers}

    def _http_server(self) -> "HttpServer | None":
        if self.outside.http is None:
            return None
        from worker.http.server import HttpServer  # noqa: PLC0415 - a third of a second, only where it is served

        parts = Parts(
            pipeline=self.pipeline,
            logs=self.logs,
            queries=self.queries,
            log_source=self.log_source,
            query_source=self.query_source,
            topics=self._settings.kafka.topics,
            outside=self.outside,
            redis=self.redis,
            status=self.status,
        )
        pages = pages_of(self.status.health, Exposition(lambda: samples(parts, time.monotonic())))
        listening, table, take = self.outside.http, self._settings.http, self._take_question
        return HttpServer(listening, table, take, say=self._say, on_crash=self._on_crash, pages=pages)

    def _health(self, probes: Sequence[Probe]) -> Health:
        return Health(
            pollers={"logs": self.logs, "queries": self.queries},
            stages=[*(stage for group in self._groups for stage in group.stages), *self._pollers],
            probes=probes,
            phase=lambda: "stopping" if self._stop.is_set() else "running" if self.opened.is_set() else "starting",
            engine_is_up=lambda: self.pipeline.judge.is_up,
            has_joined=lambda: all(poller.has_joined(time.monotonic()) for poller in (self.logs, self.queries)),
            max_poll_interval_s=self._settings.kafka.max_poll_interval_s,
            clock=time.monotonic,
        )

    def _take_question(self, question: QueryRequest) -> bool:
        if is_open := self.opened.is_set() and not self._stop.is_set():
            self.pipeline.take_question(question)
        return is_open

    def _watch(self, report: Report) -> None:
        watchdog = Watchdog(lambda: self.pipeline.judge.busy_since_s, watchdog_s=self._settings.engine.watchdog_s)
        while not self._stop.wait(_WATCH_S):
            report.tick(time.monotonic())
            try:
                watchdog.check(time.monotonic())
            except EngineHangs as error:
                self._on_crash("engine", error)
            for producer in (self.outside.letter_producer, self.outside.reply_producer):
                if producer.fatal is not None:
                    self._on_crash("kafka-delivery", RuntimeError(producer.fatal))

    def _on_crash(self, stage: str, error: Exception) -> None:
        if isinstance(error, Abandoned):
            return
        if self._crash is None:
            self._crash = (stage, error)
        if not isinstance(error, LimitReached | SourceExpired):
            self.logs.forbid_commits()
            self.queries.forbid_commits()
        self._stop.set()

    def _until_s(self) -> float:
        """Return when the end must be over, but for `worker.shutdown.LEAVE_S`; the first call begins it."""
        if self._ends_s is None:
            drain_s = self._settings.limits.drain_timeout_s
            has_work = self.opened.is_set() and self._crash is None
            if has_work:
                inform("stopping: what was taken in is finished first; a second signal leaves at once", at_most_s=drain_s)
            self._ends_s = time.monotonic() + (drain_s if has_work else min(drain_s, _NOTHING_TO_DRAIN_S))
        return self._ends_s
