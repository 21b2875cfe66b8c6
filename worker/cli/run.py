"""`vectail run`: the worker itself, until SIGTERM; and a service on a thread of its own, as `demo` needs it."""

import threading
from collections.abc import Callable

from consumers.source import KafkaRefused, SourceAway, SourceExpired, SourceFatal
from producers.kafka import ProducerMisconfigured
from sinks.sink import SinkMismatch
from worker.cli.exit_codes import CRASHED, DRAIN_TIMEOUT, DRAINED, USER_ERROR
from worker.cli.exits import CommandFailed, exit_early_on, stop_on_signals, user_error
from worker.cli.offsets_verb import plan_reset
from worker.connections import open_connections, with_index_model
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.errors import ModelError
from worker.runtime.dead_letter_topic import warn_of_expiry
from worker.runtime.kafka_admin import BrokerAway, KafkaAdmin
from worker.runtime.listening import HttpRefused, Listening, listen
from worker.runtime.logs import configure_logs, inform, rate_limited_log, report_crash, warn
from worker.runtime.stage import Stage
from worker.runtime.tracing import TracingMissing
from worker.service.service import Service
from worker.service.shutdown import Ending
from worker.settings.settings import Settings, SettingsError
from worker.settings.tables import KafkaTable
from worker.watching.group_offsets import Target
from worker.watching.group_positions import KafkaPositions

_RETRY_S = 1.0
_TOPIC_ANSWER_S = 30.0
_CHECK_S = 0.05


def run_worker(settings: Settings, *, number: int | None = None, start: Target | None = None, adopt: bool = False) -> int:
    """Run until SIGTERM or SIGINT and return the exit code. Raises CommandFailed.

    `number` tells several workers on one machine apart. `start` first moves the log group, as `offsets reset` does. `adopt` takes the index
    over from another consumer group.
    """
    if adopt and not settings.kafka.index:
        raise user_error("--adopt: this worker indexes nothing (kafka.index), so it takes over no index")
    stop = threading.Event()
    stop_on_signals(stop.set)
    if number is not None:
        threading.Thread(target=_stop_with_parent, args=(stop,), name="parent", daemon=True).start()
    configure_logs(worker=number)
    if start is not None:
        move_log_group(settings, start, stop)
    http = listen_or_fail(settings)
    inform(
        "starting",
        kafka=settings.kafka.bootstrap_servers,
        topics=[table.name or f"/{table.pattern}/" for table in settings.topic] if settings.kafka.index else "none, kafka.index is false",
        milvus=settings.milvus.uri,
        **({} if http is None else {"http": http.url}),
    )
    if number is None or number == 1:
        threading.Thread(target=_check_dead_letter_topic, args=(settings.kafka,), name="dead-letter-topic", daemon=True).start()
    with exit_early_on(stop):
        settings = settings_of_index(settings, warn)
        model = load_or_fail(settings)
    inform("model ready", model=model.prepared.name, engine=model.engine.name, space=model.space.id)
    ending = run_service(open_service(settings, model, say=rate_limited_log().warn, stop=stop, http=http, adopt=adopt))
    if ending is Ending.DRAINED:
        inform("drained; every record that was read is committed")
    else:
        inform("not every record that was read is committed; the rest will be read again")
    return DRAINED if ending is Ending.DRAINED else DRAIN_TIMEOUT


def listen_or_fail(settings: Settings) -> Listening | None:
    """Bind the port of the HTTP API, which happens before the model is loaded; None if the API is disabled."""
    try:
        return listen(settings.http) if settings.http.enabled else None
    except HttpRefused as error:
        raise user_error(error) from error


def settings_of_index(settings: Settings, say: Callable[[str], None]) -> Settings:
    """Name the model that the index was filled with. Raises CommandFailed (a user error)."""
    try:
        return with_index_model(settings, say)
    except ModelError as error:
        raise user_error(error) from error


def load_or_fail(settings: Settings) -> LoadedModel:
    """Load the model. Raises CommandFailed (a user error)."""
    try:
        return load_model(settings)
    except ModelError as error:
        raise user_error(error) from error


def move_log_group(settings: Settings, start: Target, stop: threading.Event) -> None:
    """Move the log group and log each move; waits for an unreachable broker until `stop`. Raises CommandFailed."""
    kafka = settings.kafka
    if not kafka.index:
        raise user_error(f"--from: this worker indexes nothing (kafka.index); `vectail offsets reset` moves the group {kafka.group}")
    say = rate_limited_log().warn
    while not stop.is_set():
        try:
            with KafkaPositions(kafka) as positions:
                plan = plan_reset(settings, positions, start)
                positions.commit(plan.group, {move.position.partition: move.after for move in plan.moves})
        except KafkaRefused as error:
            raise user_error(error) from error
        except BrokerAway:
            say(f"kafka at {kafka.bootstrap_servers} is away; waiting for it before --from")
            stop.wait(_RETRY_S)
        else:
            if plan.remark:
                say(plan.remark)
            for move in plan.moves:
                topic, partition = move.position.partition
                counts = {"again": move.again_records, "skipped": move.skipped_records}
                if move.inside_event is not None:
                    counts["asked"] = move.inside_event.offset  # inside a stored event that begins before it
                inform("moved by --from", topic=topic, partition=partition, committed=move.position.committed, to=move.after, **counts)
            return


def _check_dead_letter_topic(kafka: KafkaTable) -> None:
    """Warn once if Kafka removes dead letters; on a thread of its own, because the worker starts without the answer."""
    try:
        admin = KafkaAdmin(kafka.bootstrap_servers, kafka.librdkafka)
    except KafkaRefused:
        return  # the consumers and producers have the same properties and say what is wrong with them
    warn_of_expiry(admin, kafka.dead_letter_topic, rate_limited_log().warn, timeout_s=_TOPIC_ANSWER_S)


def _stop_with_parent(stop: threading.Event) -> None:
    """Drain when `run --workers` has ended: it holds the other end of our standard input and never writes to it."""
    with open(0, "rb", buffering=0, closefd=False) as parent:
        while parent.read(1):
            pass
    stop.set()


def open_service(
    settings: Settings,
    model: LoadedModel,
    *,
    say: Callable[[str], None],
    stop: threading.Event | None = None,
    http: Listening | None = None,
    adopt: bool = False,
) -> Service:
    """Open all connections and wire the service. Raises CommandFailed."""
    try:
        return Service(settings, open_connections(settings, model, say=say, http=http), say=say, stop=stop, adopt=adopt)
    except (ProducerMisconfigured, SinkMismatch, SettingsError, TracingMissing, ModelError, ValueError) as error:
        raise user_error(error) from error


def run_service(service: Service) -> Ending:
    """Run a service to its end.

    Raises CommandFailed with one line for a crash; its traceback is logged first, unless Kafka ended the service.
    """
    try:
        ending = service.run()
    except (SinkMismatch, ModelError) as error:
        raise user_error(error) from error
    if isinstance(service.crash_error, SourceExpired | KafkaRefused):
        raise user_error(service.crash_error) from service.crash_error
    if service.crash_error is not None:
        if not isinstance(service.crash_error, SourceAway | SourceFatal):
            report_crash(service.crash_error)
        raise CommandFailed(f"stopped, nothing was lost: {service.crash}", CRASHED) from service.crash_error
    return ending


class BackgroundService:
    """A service on a thread of its own; what ends it early, and `stop`, is raised in the thread that waits for it.

    Thread: main.
    """

    def __init__(self, service: Service, stop: threading.Event) -> None:
        self.service = service
        self._stop = stop
        self._ending: Ending | None = None
        self._error: Exception | None = None
        self._stage = Stage("service", self._run, self._on_crash)
        self._stage.start()

    def check(self) -> None:
        """Raise CommandFailed if the service has ended, KeyboardInterrupt if `stop` is set."""
        if self._stop.is_set():
            raise KeyboardInterrupt
        if self._error is not None:
            exit_code = USER_ERROR if isinstance(self._error, SinkMismatch) else CRASHED
            raise CommandFailed(str(self._error), exit_code) from self._error
        if self._ending is not None:
            exit_code = DRAIN_TIMEOUT if self._ending is Ending.UNDRAINED else CRASHED
            raise CommandFailed(f"stopped: {self.service.crash or 'ended early'}", exit_code)

    def wait_opened(self) -> None:
        """Wait until the index is open. Raises as `check` does."""
        while not self.service.opened.wait(_CHECK_S):
            self.check()

    def end(self) -> None:
        """Drain, and wait for the end."""
        self.service.stop()
        self._stage.join()

    def _run(self) -> None:
        self._ending = self.service.run()

    def _on_crash(self, _stage: str, error: Exception) -> None:
        self._error = error
