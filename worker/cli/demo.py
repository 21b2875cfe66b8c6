"""`vectail demo`: the whole pipeline in one process, on an embedded broker, Milvus Lite and the local model.

The real service runs on a thread of its own; the main thread feeds lines (`worker.cli.demo_feed`), shows progress, and asks the queries
through the query topic, as any client does. Without `--data` nothing is left behind.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from consumers.record import Partition
from producers.feed import FeedProgress
from producers.kafka import EmbeddedBroker, KafkaProducer
from producers.log_feed import EXAMPLE_QUERIES
from sinks.reading.counting import CountQuery
from worker.cli.demo_feed import TOPIC, index_lines
from worker.cli.demo_start import DemoStart, begin_demo, choose_engine, engine_flags, say_page
from worker.cli.exits import user_error
from worker.cli.options import Flags, worker_settings_or_fail
from worker.cli.query_client import QueryClient
from worker.cli.question_options import checked, checked_text
from worker.cli.run import BackgroundService, load_or_fail, open_service, settings_of_index
from worker.cli.screen import Screen
from worker.cli.search_screen import show_demo
from worker.cli.search_verb import ask
from worker.cli.verb_options import DemoOptions
from worker.embedding.loaded import LoadedModel, measured_engine, model_of, uses_vllm
from worker.embedding.model.errors import ModelError
from worker.masks.offered_masks import offer_masks
from worker.runtime.logs import RateLimitedLog, configure_logs
from worker.service.service import Service
from worker.settings.settings import Settings

_REFRESH_S = 0.25
_ANSWER_S = 60.0
_RUNS = "runs"
"""File in the index's folder that counts the demos it has seen."""


def demo(
    options: DemoOptions,
    screen: Screen,
    *,
    start: DemoStart | None = None,
    ready: Callable[[dict[str, object]], None] = lambda _result: None,
    ended: Callable[[Service], None] = lambda _service: None,
    stop: threading.Event | None = None,
) -> dict[str, object]:
    """Run the demo and return the object that `--json` prints. Raises CommandFailed.

    `start` is what `begin_demo` returned, if it was called already. `ready` gets the object as soon as it is known, before serving;
    `ended` gets the service after it has drained. `stop` ends the demo early: the service drains and KeyboardInterrupt is raised; while
    the demo serves, it returns instead.
    """
    start = start or begin_demo(options, None, screen)
    queries = [checked_text(text) for text in options.query or ()]
    configure_logs(quiet=True)
    with ExitStack() as stack:
        if start.http is not None:
            stack.callback(start.http.socket.close)  # the server closes it too, if it comes to that
        folder = options.data
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vectail-demo-")))
            screen.say(f"No --data given: the index lives in {folder} and is removed at the end.")
        broker = EmbeddedBroker()
        stack.callback(broker.close)
        settings = settings_of_index(_settings(options, start, folder, broker.bootstrap_servers), screen.warn)
        _create_topics(settings)
        model = _load(start.files, settings, screen)
        background = BackgroundService(
            open_service(settings, model, say=RateLimitedLog(screen.warn).warn, http=start.http), stop or threading.Event()
        )
        stack.callback(ended, background.service)
        stack.callback(background.end)
        background.wait_opened()
        client = QueryClient(settings.kafka)
        stack.callback(client.close)
        result = _feed_and_ask(options, start.files, queries, background, client, screen)
        ready(result)
        if options.serve:
            _serve(settings, background, screen)
        else:
            screen.say("")
            screen.say("See it in a browser: the same command with --serve.")
        return result


def _settings(options: DemoOptions, start: DemoStart, folder: Path, bootstrap_servers: str) -> Settings:
    kafka: dict[str, object] = {
        "bootstrap_servers": bootstrap_servers,
        "topic_epoch": next_run_epoch(folder),
        "commit_interval_s": 0.2,
        "group_protocol": "consumer",
        "librdkafka": {"fetch.wait.max.ms": "10"},  # the embedded broker waits this long even when a record is there
    }
    index = folder / "index.db"
    tables = {"milvus": {"uri": str(index)}, "index": {"writers": 1}}
    flags: Flags = {"topic": [{"name": TOPIC}], "kafka": kafka, **tables, **engine_flags(options.engine)}
    if start.http is None:
        flags["http"] = {"enabled": False}
    return worker_settings_or_fail(start.config, flags)


def _load(files: Sequence[str], settings: Settings, screen: Screen) -> LoadedModel:
    """Load the model on the engine that was asked for or is worth waiting for, else on the fastest of the others. Raises CommandFailed."""
    table = settings.engine
    choice = choose_engine(table, files, has_vllm=uses_vllm(table))
    screen.say(choice.line)
    try:
        name = choice.name or measured_engine(settings, model_of(settings))
    except ModelError as error:
        raise user_error(error) from error
    return load_or_fail(settings.model_copy(update={"engine": table.model_copy(update={"name": name})}))


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
    for topic in (TOPIC, *kafka.own_topics):
        producer.partition_count(topic, timeout_s=_ANSWER_S)
    producer.close(1.0)


def _feed_and_ask(
    options: DemoOptions, files: Sequence[str], queries: Sequence[str], background: BackgroundService, client: QueryClient, screen: Screen
) -> dict[str, object]:
    fed = FeedProgress()
    started_s = time.monotonic()
    index_lines(files or options.synthetic_lines, background, fed, screen)
    seconds = time.monotonic() - started_s
    queries = queries or (() if files else EXAMPLE_QUERIES)
    answers = [ask(client, checked(text=text, k=options.k), timeout_s=_ANSWER_S) for text in queries]
    offered = offer_masks(background.service.settings, partial(ask, client, timeout_s=_ANSWER_S))
    result = {**_figures(background.service, fed), "seconds": round(seconds, 3), "suggestions": offered, "queries": answers}
    show_demo(screen, result)
    return result


def _figures(service: Service, fed: FeedProgress) -> dict[str, object]:
    pipeline = service.pipeline
    tally = pipeline.indexing.ledger.tally
    counts, lines = service.connections.sink.counts(), pipeline.reader.count(CountQuery()).rows
    total = pipeline.indexing.flights.total()
    return {
        "records": fed.read,
        "lines": lines[0].lines if lines else 0,
        "blocks": counts.blocks,
        "templates": counts.templates,
        "dead_letters": tally["dead_letter"] + fed.too_large,
        "dropped": sum(count for outcome, count in tally.items() if outcome.startswith("dropped:")),
        "chunks": total.chunks,
        "tokens_embedded": pipeline.embedder.tally.tokens,
        "tokens_saved": total.tokens_saved,
        "cache_hits": total.chunks - pipeline.embedder.tally.templates,
        "topics": {topic: savings.facts() for topic, savings in pipeline.indexing.flights.savings().items()},
        "engine": service.connections.model.engine.name,
        "space": service.connections.model.space.id,
        "committed": _committed(pipeline.indexing.ledger.committed()),
    }


def _committed(next_offsets: dict[Partition, int]) -> dict[str, int]:
    return {f"{partition.topic}/{partition.partition}": next_offset for partition, next_offset in sorted(next_offsets.items())}


def _serve(settings: Settings, background: BackgroundService, screen: Screen) -> None:
    address = settings.kafka.bootstrap_servers
    http = background.service.connections.http
    screen.say_always("")
    if http is not None:
        say_page(screen, http, "everything is indexed")
        screen.say_always(f"Assistants (MCP): {http.url}/mcp    Programs: POST {http.url}/api/search")
    screen.say_always(f'From another terminal: vectail search "disk is full" --bootstrap-servers {address}')
    screen.say_always(f"More lines: vectail feed FILE --bootstrap-servers {address}    Ctrl-C ends it.")
    try:
        while True:
            background.check()
            time.sleep(_REFRESH_S)
    except KeyboardInterrupt:
        screen.say_always("Draining …")
