"""`vectail serve`: vectors over HTTP, without Kafka and without an index."""

import threading

from worker.cli.exit_codes import CRASHED, DRAINED
from worker.cli.exits import CommandFailed, exit_early_on, stop_on_signals, user_error
from worker.cli.run import listen_or_fail, load_or_fail
from worker.connections import redis_of
from worker.embedding.cache.redis_address import RedisMisconfigured
from worker.embedding.model.errors import ModelError
from worker.runtime.logs import configure_logs, inform, rate_limited_log, report_crash
from worker.settings.settings import Settings, SettingsError


def serve_embeddings(settings: Settings) -> int:
    """Answer until SIGTERM or SIGINT and return the exit code. Raises CommandFailed."""
    from worker.service.embedding_process import EmbeddingProcess

    stop = threading.Event()
    stop_on_signals(stop.set)
    configure_logs()
    settings = settings_of_service(settings)
    http = listen_or_fail(settings)
    if http is None:
        raise user_error("http.enabled is false, so nobody could ask for vectors; set it to true")
    say = rate_limited_log().warn
    with exit_early_on(stop):
        model = load_or_fail(settings)
        try:
            process = EmbeddingProcess(settings, model, http, connect_redis=redis_of(settings, model.space, say), say=say, stop=stop)
        except (ModelError, SettingsError, RedisMisconfigured) as error:
            raise user_error(error) from error
    inform(
        "ready",
        url=f"{http.url}/v1",
        model=model.prepared.name,
        engine=model.engine.name,
        others=[one.name for one in settings.serve.model],
    )
    process.run()
    if process.crash is not None:
        stage, crash = process.crash
        report_crash(crash)
        raise CommandFailed(f"stopped: {stage}: {type(crash).__name__}: {crash}", CRASHED) from crash
    inform("stopped; every request that was taken is answered")
    return DRAINED


def settings_of_service(settings: Settings) -> Settings:
    """Return settings whose `serve.token`, if `http.token` is empty, guards all of the port: there are no logs behind it."""
    if settings.http.token.get_secret_value() or not settings.serve.token.get_secret_value():
        return settings
    return settings.model_copy(update={"http": settings.http.model_copy(update={"token": settings.serve.token})})
