"""`vectail run`: the worker itself, until SIGTERM."""

import threading
from collections.abc import Callable

from producers.kafka import ProducerMisconfigured
from sinks.sink import SinkMismatch
from worker.cli.exits import CommandFailed, stop_on_signals
from worker.exit_codes import DRAINED, MUST_CHANGE, OVERDUE
from worker.loaded import LoadedModel, load_model
from worker.logs import announcer, configure_logs, inform, report_crash
from worker.model.folder import ModelError
from worker.outside import open_outside
from worker.service import Service
from worker.settings import Settings


def run_worker(settings: Settings, *, number: int | None = None) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code. `number` tells several on one machine apart. Raises CommandFailed."""
    stop = threading.Event()
    stop_on_signals(stop.set)
    if number is not None:
        threading.Thread(target=_stop_with_parent, args=(stop,), name="parent", daemon=True).start()
    configure_logs(worker=number)
    inform("starting", kafka=settings.kafka.bootstrap_servers, topics=list(settings.kafka.topics), milvus=settings.milvus.uri)
    model = load_or_fail(settings)
    inform("model ready", model=model.prepared.name, engine=model.engine.name, space=model.space.id)
    exit_code = run_service(open_service(settings, model, say=announcer().say, stop=stop))
    if exit_code == DRAINED:
        inform("drained; everything that was taken in is committed")
    elif exit_code == OVERDUE:
        inform("drain deadline passed; what is not committed will be read again")
    return exit_code


def load_or_fail(settings: Settings) -> LoadedModel:
    """Load the model; whatever is wrong with it is the user's to change."""
    try:
        return load_model(settings)
    except ModelError as error:
        raise CommandFailed(str(error), MUST_CHANGE) from error


def _stop_with_parent(stop: threading.Event) -> None:
    """Drain when `run --workers` is gone: it holds the other end of our standard input and never writes."""
    with open(0, "rb", buffering=0, closefd=False) as parent:
        while parent.read(1):
            pass
    stop.set()


def open_service(settings: Settings, model: LoadedModel, *, say: Callable[[str], None], stop: threading.Event | None = None) -> Service:
    """Connect to everything and wire the service."""
    try:
        return Service(settings, open_outside(settings, model, say=say), say=say, stop=stop)
    except (ProducerMisconfigured, SinkMismatch, ValueError) as error:
        raise CommandFailed(str(error), MUST_CHANGE) from error


def run_service(service: Service) -> int:
    """Run a service to its end; a crash is told in one line, and its traceback goes to the log before that."""
    try:
        exit_code = service.run()
    except SinkMismatch as error:
        raise CommandFailed(str(error), MUST_CHANGE) from error
    if service.crash_error is not None:
        report_crash(service.crash_error)
        raise CommandFailed(f"stopped, nothing was lost: {service.crash}", exit_code) from service.crash_error
    return exit_code
