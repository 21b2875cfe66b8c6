"""The service: wires the six nouns together, starts the stages, and ends them in order.

Theory of operation
1. Everything outside is handed in ready (`Outside`); everything inside is made here. Data goes one way: pollers → prepare →
   embed → store / answer. The only way back is the ledger, pulled by the poller.
2. Drain (SIGTERM): intake stops but polling goes on; prepare, embed, then store and answer end in that order, each lane
   closed only when the stage before it has ended, so nothing is left behind; last dead letters and replies; last commit; then
   the clients close. Past the deadline it stops all the same: what is settled is committed, the rest is read again.
3. Crash: the first unexpected exception stops everything, and nothing more is committed. A limit that was reached is a crash
   that commits what is settled, and so is a committed offset that is not there any more.

Not taken: an event loop (every client blocks), a supervisor that restarts stages (a stage that failed unexpectedly cannot
be trusted to have settled rightly), waiting for lanes to be empty (looks at the queue and not at the work in hand).
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from consumers.expired import SourceExpired
from consumers.kafka import KafkaSource
from consumers.kafka_settings import KafkaSourceSettings
from consumers.poller import Poller, PollerSettings
from sinks.sink import SinkBroken, SinkBusy
from worker.exit_codes import CRASHED, DRAINED, OVERDUE
from worker.fail_point import fail_point
from worker.limits import LimitReached
from worker.logs import inform
from worker.outside import Outside
from worker.pipeline import Pipeline
from worker.report import Report
from worker.settings import Settings
from worker.stage import Abandoned, Stage
from worker.store import BACK_OFF_S
from worker.watchdog import EngineHangs, Watchdog

_WATCH_S = 0.2
_COMMITTED_S = 0.05
_LEAVE_S = 5.0
_SHARE_S = 2.0
"""For vectors that wait to be written to Redis; they would only be computed again."""


class Service:
    """Started once, ended once; `exit_code` says how.

    Thread: main; `stop` and the counters from any.
    """

    def __init__(self, settings: Settings, outside: Outside, *, say: Callable[[str], None], stop: threading.Event | None = None) -> None:
        """`stop` begins the drain; it may be set already, and is the service's own if not given."""
        self._settings = settings
        self.outside = outside
        self._say = say
        self._stop = stop or threading.Event()
        self.opened = threading.Event()
        """Set once the index is open and polling has begun."""
        self._abandon = threading.Event()
        self._crash: tuple[str, Exception] | None = None
        at = fail_point(settings.fail_point)
        self.redis = None if outside.connect_redis is None else outside.connect_redis(self._on_crash)
        self.pipeline = Pipeline(
            settings, outside.model, outside.sink, outside.letters, outside.replies, self.redis, say=say, abandon=self._abandon, at=at
        )
        kafka = settings.kafka
        paced = PollerSettings(max_poll_interval_s=kafka.max_poll_interval_s, commit_interval_s=kafka.commit_interval_s)
        self.logs = Poller(
            source=KafkaSource(self._log_source(), say=say),
            ledger=self.pipeline.log_ledger,
            deliver=self.pipeline.prepare_lane.put,
            settings=paced,
            say=say,
            fail_point=at,
        )
        self.queries = Poller(
            source=KafkaSource(self._query_source(), say=say),
            ledger=self.pipeline.query_ledger,
            deliver=self.pipeline.query_lane.put,
            settings=paced,
            say=say,
        )
        self._pollers = [
            Stage("poller-logs", self.logs.run, self._on_crash),
            Stage("poller-queries", self.queries.run, self._on_crash),
        ]
        self._groups = self.pipeline.stages(self._on_crash)

    def run(self) -> int:
        """Open the sink, start everything, wait for `stop` or a crash, end; returns the exit code. Raises SinkMismatch."""
        drained = True
        try:
            if self._open_sink():
                for group in self._groups:
                    for stage in group.stages:
                        stage.start()
                for stage in self._pollers:
                    stage.start()
                self.opened.set()
                redis = dict if self.redis is None else self.redis.tally.facts
                report = Report(self.pipeline.flights.savings, redis, now_s=time.monotonic())
                self._watch(report)
                drained = self._end()
                report.say()
        finally:
            self._close()
        if self._crash is not None:
            return CRASHED
        return DRAINED if drained else OVERDUE

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

    def _log_source(self) -> KafkaSourceSettings:
        kafka = self._settings.kafka
        return KafkaSourceSettings(
            bootstrap_servers=kafka.bootstrap_servers,
            group=kafka.group,
            topics=kafka.topics,
            start=kafka.start,
            expired=kafka.expired,
            topic_epoch=kafka.topic_epoch,
            protocol=kafka.protocol,
            max_poll_interval_s=kafka.max_poll_interval_s,
            prefetch_bytes=kafka.prefetch_bytes,
            librdkafka=kafka.librdkafka,
        )

    def _query_source(self) -> KafkaSourceSettings:
        """Queries are answered wherever the topic begins: deadlines weed out the old ones, and those that are gone are worth no stop."""
        kafka = self._settings.kafka
        return replace(self._log_source(), group=kafka.query_group, topics=(kafka.query_topic,), start="earliest", expired="earliest")

    def _open_sink(self) -> bool:
        attempt = 0
        while not self._stop.is_set():
            try:
                self.outside.sink.open()
            except SinkBusy as error:
                if attempt == 0:
                    self._say(f"the index cannot be opened yet ({error}); waiting for it")
                self._stop.wait(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)])
                attempt += 1
            except SinkBroken as error:
                self._on_crash("open", error)
            else:
                return True
        return False

    def _watch(self, report: Report) -> None:
        watchdog = Watchdog(lambda: self.pipeline.judge.busy_since_s, hang_s=self._settings.engine.hang_s)
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

    def _end(self) -> bool:
        """Drain, or give up; False when something is left that will be read again."""
        deadline_s = time.monotonic() + self._settings.limits.drain_s
        if self._crash is None:
            inform("stopping: what was taken in is finished first; a second signal leaves at once", at_most_s=self._settings.limits.drain_s)
        self.logs.stop_intake()
        self.queries.stop_intake()
        drained = self._crash is None and self._end_stages(deadline_s) and self._settle(deadline_s)
        if not drained:
            self._abandon.set()
            self.pipeline.abandon()
        for poller in (self.logs, self.queries):
            poller.finish(commit=True)
        for stage in self._pollers:
            stage.join(_LEAVE_S)
        return drained

    def _end_stages(self, deadline_s: float) -> bool:
        """End the stages in order; False when the deadline or a crash came first."""
        for poller in (self.logs, self.queries):
            if not poller.intake_ended.wait(_left_s(deadline_s)):
                return False
        for group in self._groups:
            for lane in group.inlets:
                lane.close()
            for stage in group.stages:
                while stage.is_alive() and self._crash is None and _left_s(deadline_s) > 0:
                    stage.join(min(_left_s(deadline_s), _WATCH_S))
                if stage.is_alive() or self._crash is not None:
                    return False
        return True

    def _settle(self, deadline_s: float) -> bool:
        """Wait for the last dead letters and replies, and until all of it is committed; False when time was up or a crash came first."""
        ledgers = (self.pipeline.log_ledger, self.pipeline.query_ledger)
        if not all(ledger.wait_until_settled(ledger.owned(), _left_s(deadline_s)) for ledger in ledgers):
            return False
        while any(ledger.committable() for ledger in ledgers):  # a commit that is refused now may be accepted at the next tick
            if self._crash is not None or _left_s(deadline_s) <= 0:
                return False
            self._abandon.wait(_COMMITTED_S)
        return True

    def _close(self) -> None:
        """Wait a moment for the stages, because they still use what is closed after them."""
        self._abandon.set()
        self.pipeline.abandon()
        started = [stage for group in self._groups for stage in group.stages if stage.ident is not None]
        until_s = time.monotonic() + _LEAVE_S
        for stage in started:
            stage.join(max(until_s - time.monotonic(), 0.0))
        self.outside.letter_producer.close(_LEAVE_S)
        self.outside.reply_producer.close(_LEAVE_S)
        if self.redis is not None:
            self.redis.close(_SHARE_S if self._crash is None else 0.0)
        if not any(stage.is_alive() for stage in started):
            self.outside.sink.close()
            self.pipeline.close()


def _left_s(deadline_s: float) -> float:
    return max(deadline_s - time.monotonic(), 0.0)
