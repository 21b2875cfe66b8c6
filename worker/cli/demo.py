"""`vectail demo`: the whole pipeline in one process, on an embedded broker, Milvus Lite and the local model.

The real service runs on a thread of its own; the main thread feeds lines, shows progress, and asks the queries through the query
topic, as any client does. Without `--data` nothing is left behind.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consumers.record import Partition
from producers.dead_letters import DeadLetter
from producers.feed import FeedProgress, FeedWindow, feed
from producers.kafka import EmbeddedBroker, KafkaProducer
from producers.lines import FileUnreadable, TooLarge, check_files, read_files
from producers.log_feed import EXAMPLE_QUERIES, synthetic_lines
from sinks.reading.counting import CountQuery
from worker.cli.exits import failure, user_error
from worker.cli.options import worker_settings_or_fail
from worker.cli.query_client import QueryClient
from worker.cli.question import SearchQuestion
from worker.cli.run import BackgroundService, listen_or_fail, load_or_fail, open_service
from worker.cli.screen import Figures, Screen
from worker.cli.search import ask
from worker.cli.search_screen import show_demo
from worker.embedding.loaded import chosen_engine
from worker.runtime.logs import RateLimitedLog, configure_logs
from worker.runtime.stage import Stage
from worker.service import Service
from worker.settings.settings import Settings

SYNTHETIC_LINES = 20_000
SYNTHETIC_SEED = 7
_REFRESH_S = 0.25
_ANSWER_S = 60.0
_RUNS = "runs"
"""File in the index's folder that counts the demos it has seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of `vectail demo`."""

    files: tuple[str, ...]
    queries: tuple[str, ...]
    data: Path | None
    k: int
    serve: bool
    config: Path | None
    synthetic_lines: int = SYNTHETIC_LINES
    """Length of the synthetic stream when no file is given."""


def demo(
    options: DemoOptions,
    screen: Screen,
    *,
    ready: Callable[[dict[str, Any]], None] = lambda _result: None,
    ended: Callable[[Service], None] = lambda _service: None,
    stop: threading.Event | None = None,
) -> dict[str, Any]:
    """Run the demo and return the object that `--json` prints. Raises CommandFailed.

    `ready` gets the object as soon as it is known, before serving; `ended` gets the service after it has drained. `stop` ends the
    demo early: the service drains and KeyboardInterrupt is raised; while the demo serves, it returns instead.
    """
    try:
        check_files(options.files)
    except FileUnreadable as error:
        raise user_error(error) from error
    worker_settings_or_fail(options.config)
    configure_logs(quiet=True)
    with ExitStack() as stack:
        folder = options.data
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vectail-demo-")))
            screen.say(f"No --data given: the index lives in {folder} and is removed at the end.")
        broker = EmbeddedBroker()
        stack.callback(broker.close)
        settings = _settings(options, folder, broker.bootstrap_servers)
        http = listen_or_fail(settings)
        _create_topics(settings)
        screen.say("Loading the model …" if chosen_engine(settings.engine) == "llama" else "Loading vLLM and the model, about 20 seconds …")
        model = load_or_fail(settings)
        background = BackgroundService(
            open_service(settings, model, say=RateLimitedLog(screen.warn).warn, http=http), stop or threading.Event()
        )
        stack.callback(ended, background.service)
        stack.callback(background.end)
        background.wait_opened()
        client = QueryClient(settings.kafka)
        stack.callback(client.close)
        result = _feed_and_ask(options, settings, background, client, screen)
        ready(result)
        if options.serve:
            _serve(settings, background, screen)
        return result


def _settings(options: DemoOptions, folder: Path, bootstrap_servers: str) -> Settings:
    kafka: dict[str, object] = {
        "bootstrap_servers": bootstrap_servers,
        "topic_epoch": next_run_epoch(folder),
        "topics": ("logs",),
        "commit_interval_s": 0.2,
        "group_protocol": "consumer",
        "librdkafka": {"fetch.wait.max.ms": "10"},  # the embedded broker waits this long even when a record is there
    }
    index = folder / "index.db"
    milvus = {"uri": str(index), "writers": 1}
    flags = {"kafka": kafka, "milvus": milvus} | ({} if options.serve else {"http": {"enabled": False}})
    return worker_settings_or_fail(options.config, flags)


def next_run_epoch(folder: Path) -> str:
    """Create the folder if needed, count a run in it, and return the epoch for the run's line ids. Raises CommandFailed.

    The embedded broker begins at offset 0 each time: without an epoch of its own, the lines of a run would be taken for copies of others.
    """
    if folder.exists() and not folder.is_dir():
        raise user_error(f"--data {folder}: is a file, not a folder")
    counter = folder / _RUNS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not counter.exists() and any(folder.iterdir()):
            raise user_error(f"--data {folder}: holds other things already; name a new folder, or one of an earlier `vectail demo`")
        text = counter.read_text(encoding="utf-8", errors="replace").strip() if counter.exists() else "0"
        if not text.isdecimal():
            raise user_error(f"--data {folder}: {counter} does not hold a number; is this a folder of `vectail demo`?")
        count = int(text) + 1
        partial = folder / f"{_RUNS}.partial"
        partial.write_text(f"{count}\n", encoding="utf-8")
        partial.replace(counter)
    except OSError as error:
        raise user_error(f"--data {folder}: cannot be used ({error.strerror})") from error
    return f"run{count}"


def _create_topics(settings: Settings) -> None:
    """Create the topics: the embedded broker creates a topic when a client first asks for it."""
    kafka = settings.kafka
    producer = KafkaProducer(kafka.bootstrap_servers, {}, say=lambda _line: None)
    for topic in (*kafka.topics, kafka.query_topic, kafka.reply_topic, kafka.dead_letter_topic):
        producer.partition_count(topic, timeout_s=_ANSWER_S)
    producer.close(1.0)


def _feed_and_ask(
    options: DemoOptions, settings: Settings, background: BackgroundService, client: QueryClient, screen: Screen
) -> dict[str, Any]:
    fed = FeedProgress()
    started_s = time.monotonic()
    _index(options, settings, background, fed, screen)
    seconds = time.monotonic() - started_s
    queries = options.queries or (() if options.files else EXAMPLE_QUERIES)
    answers = [ask(client, SearchQuestion(text=text, k=options.k), timeout_s=_ANSWER_S) for text in queries]
    result = {**_figures(background.service, fed), "seconds": round(seconds, 3), "queries": answers}
    show_demo(screen, result)
    return result


def _index(options: DemoOptions, settings: Settings, background: BackgroundService, fed: FeedProgress, screen: Screen) -> None:
    """Feed all lines and wait until the last is committed; shows figures meanwhile."""
    service, topic = background.service, settings.kafka.topics[0]
    errors: list[Exception] = []
    stop = threading.Event()
    feeder = Stage("feed", lambda: _feed(options, settings, service, fed, stop), lambda _name, error: errors.append(error))
    feeder.start()
    with screen.progress() as show:
        try:
            while feeder.is_alive() or not _is_committed(service, topic, fed):
                show(progress(service, fed))
                background.check()
                feeder.join(_REFRESH_S) if feeder.is_alive() else stop.wait(_REFRESH_S / 5)
                if errors:
                    break
        finally:
            stop.set()
            show(progress(service, fed))
    for error in errors:
        raise (user_error if isinstance(error, FileUnreadable) else failure)(error) from error


def _feed(options: DemoOptions, settings: Settings, service: Service, fed: FeedProgress, stop: threading.Event) -> None:
    topic = settings.kafka.topics[0]

    def refuse(line: TooLarge) -> None:
        letter = DeadLetter.too_large(line, topic=topic, time_ms=int(time.time() * 1000))
        service.connections.dead_letters.send(letter, delivered=lambda: None)

    def committed() -> dict[int, int]:
        return {partition.partition: next_offset for partition, next_offset in service.pipeline.log_ledger.committed().items()}

    producer = KafkaProducer(settings.kafka.bootstrap_servers, {}, say=lambda _line: None, stopped=stop.is_set)
    try:
        lines = (
            read_files(options.files, max_record_bytes=settings.decode.max_record_bytes)
            if options.files
            else _synthetic(options.synthetic_lines)
        )
        feed(lines, producer, topic, progress=fed, pause=stop.wait, refuse=refuse, window=FeedWindow(committed))
    finally:
        producer.close(1.0)


def _synthetic(count: int) -> Iterator[bytes]:
    return synthetic_lines(SYNTHETIC_SEED, count, int(time.time() * 1000) - count * 8)


def _is_committed(service: Service, topic: str, fed: FeedProgress) -> bool:
    committed = service.pipeline.log_ledger.committed()
    return sum(next_offset for partition, next_offset in committed.items() if partition.topic == topic) >= fed.sent


def progress(service: Service, fed: FeedProgress) -> Figures:
    """Return the figures that are shown while lines are indexed."""
    pipeline = service.pipeline
    committed = sum(pipeline.log_ledger.committed().values())
    return {
        "records": fed.read,
        "lines": pipeline.store.tally.lines,
        "templates": pipeline.store.tally.templates,
        "tokens embedded": pipeline.embed.tally.tokens,
        "tokens saved": pipeline.flights.total().tokens_saved,
        "lag": max(fed.sent - committed, 0),
    }


def _figures(service: Service, fed: FeedProgress) -> dict[str, Any]:
    pipeline = service.pipeline
    tally = pipeline.log_ledger.tally
    counts, lines = service.connections.sink.counts(), pipeline.reader.count(CountQuery()).rows
    total = pipeline.flights.total()
    return {
        "records": fed.read,
        "lines": lines[0].lines if lines else 0,
        "blocks": counts.blocks,
        "templates": counts.templates,
        "dead_letters": tally["dead_letter"] + fed.too_large,
        "dropped": sum(count for outcome, count in tally.items() if outcome.startswith("dropped:")),
        "chunks": total.chunks,
        "tokens_embedded": pipeline.embed.tally.tokens,
        "tokens_saved": total.tokens_saved,
        "cache_hits": total.chunks - pipeline.embed.tally.templates,
        "topics": {topic: savings.facts() for topic, savings in pipeline.flights.savings().items()},
        "engine": service.connections.model.engine.name,
        "space": service.connections.model.space.id,
        "committed": _committed(pipeline.log_ledger.committed()),
    }


def _committed(next_offsets: dict[Partition, int]) -> dict[str, int]:
    return {f"{partition.topic}/{partition.partition}": next_offset for partition, next_offset in sorted(next_offsets.items())}


def _serve(settings: Settings, background: BackgroundService, screen: Screen) -> None:
    address = settings.kafka.bootstrap_servers
    screen.say_always(f'Serving. From another terminal: vectail search "disk is full" --bootstrap-servers {address}')
    if background.service.connections.http is not None:
        screen.say_always(f"Over HTTP: POST {background.service.connections.http.url}/api/search")
    screen.say_always(f"More lines: vectail feed FILE --bootstrap-servers {address}    Ctrl-C ends it.")
    try:
        while True:
            background.check()
            time.sleep(_REFRESH_S)
    except KeyboardInterrupt:
        screen.say_always("Draining …")
