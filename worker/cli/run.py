"""`vectail run`: the worker itself, until SIGTERM."""

import threading
from collections.abc import Callable

from consumers.source import SourceAway, SourceExpired, SourceFatal
from producers.kafka import ProducerMisconfigured
from sinks.sink import SinkMismatch
from worker.cli.exits import CommandFailed, leaves_on, stop_on_signals
from worker.cli.offsets import planned
from worker.connections import open_connections
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.errors import ModelError
from worker.groups.kafka import KafkaPositions
from worker.groups.offsets import Target, group_topics
from worker.http.listening import HttpRefused, Listening, listen
from worker.runtime.exit_codes import DRAIN_TIMEOUT, DRAINED, USER_ERROR
from worker.runtime.kafka_admin import BrokerAway, KafkaRefused
from worker.runtime.logs import announcer, configure_logs, inform, report_crash
from worker.service import Service
from worker.settings.settings import Settings, SettingsError
from worker.settings.tables import KafkaTable

_AGAIN_S = 1.0


def run_worker(settings: Settings, *, number: int | None = None, start: Target | None = None) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code. `number` tells several on one machine apart. Raises CommandFailed.

    `start` moves the log group first, as `offsets reset` does.
    """
    stop = threading.Event()
    stop_on_signals(stop.set)
    if number is not None:
        threading.Thread(target=_stop_with_parent, args=(stop,), name="parent", daemon=True).start()
    configure_logs(worker=number)
    if start is not None:
        begin_at(settings.kafka, start, stop)
    http = listen_or_fail(settings)
    inform(
        "starting",
        kafka=settings.kafka.bootstrap_servers,
        topics=list(settings.kafka.topics),
        milvus=settings.milvus.uri,
        **({} if http is None else {"http": http.url}),
    )
    with leaves_on(stop):
        model = load_or_fail(settings)
    inform("model ready", model=model.prepared.name, engine=model.engine.name, space=model.space.id)
    exit_code = run_service(open_service(settings, model, say=announcer().say, stop=stop, http=http))
    if exit_code == DRAINED:
        inform("drained; everything that was taken in is committed")
    elif exit_code == DRAIN_TIMEOUT:
        inform("not all that was taken in is committed; the rest will be read again")
    return exit_code


def listen_or_fail(settings: Settings) -> Listening | None:
    """Take the port of the HTTP API, before the model is loaded; None where it is switched off."""
    try:
        return listen(settings.http) if settings.http.enabled else None
    except HttpRefused as error:
        raise CommandFailed(str(error), USER_ERROR) from error


def load_or_fail(settings: Settings) -> LoadedModel:
    """Load the model; whatever is wrong with it is the user's to change."""
    try:
        return load_model(settings)
    except ModelError as error:
        raise CommandFailed(str(error), USER_ERROR) from error


def begin_at(kafka: KafkaTable, start: Target, stop: threading.Event) -> None:
    """Move the log group, and log each move; waits for a broker that is away. Raises CommandFailed."""
    readers = group_topics(kafka, queries=False)
    say = announcer().say
    while not stop.is_set():
        try:
            with KafkaPositions(kafka) as positions:
                moves = planned(positions, readers, start)
                positions.commit(readers.group, {move.place.partition: move.after for move in moves})
        except KafkaRefused as error:
            raise CommandFailed(str(error), USER_ERROR) from error
        except BrokerAway:
            say(f"kafka at {kafka.bootstrap_servers} is away; waiting for it before --from")
            stop.wait(_AGAIN_S)
        else:
            for move in moves:
                topic, partition = move.place.partition
                counts = {"again": move.again_records, "skipped": move.skipped_records}
                inform("moved by --from", topic=topic, partition=partition, committed=move.place.committed, to=move.after, **counts)
            return


def _stop_with_parent(stop: threading.Event) -> None:
    """Drain when `run --workers` is gone: it holds the other end of our standard input and never writes."""
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
) -> Service:
    """Connect to everything and wire the service."""
    try:
        return Service(settings, open_connections(settings, model, say=say, http=http), say=say, stop=stop)
    except (ProducerMisconfigured, SinkMismatch, SettingsError, ValueError) as error:
        raise CommandFailed(str(error), USER_ERROR) from error


def run_service(service: Service) -> int:
    """Run a service to its end; a crash is told in one line. Its traceback goes to the log before that, unless Kafka ended it."""
    try:
        exit_code = service.run()
    except SinkMismatch as error:
        raise CommandFailed(str(error), USER_ERROR) from error
    if isinstance(service.crash_error, SourceExpired):
        raise CommandFailed(str(service.crash_error), USER_ERROR) from service.crash_error
    if service.crash_error is not None:
        if not isinstance(service.crash_error, SourceAway | SourceFatal):
            report_crash(service.crash_error)
        raise CommandFailed(f"stopped, nothing was lost: {service.crash}", exit_code) from service.crash_error
    return exit_code
