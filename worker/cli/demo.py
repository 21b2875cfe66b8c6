"""`vectail demo`: the whole chain in one process, on an embedded broker, Milvus Lite and the local model.

The real service runs on a thread; the main thread feeds lines, shows progress, and asks the queries through the query topic
like any client. Nothing is left behind without `--data`.
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
from producers.feed import Fed, FeedWindow, feed
from producers.kafka import EmbeddedBroker, KafkaProducer
from producers.lines import FileUnreadable, TooLarge, check_files, read_files
from producers.log_feed import EXAMPLE_QUERIES, synthetic_lines
from worker.cli.ask import Asker
from worker.cli.demo_folder import begin_run
from worker.cli.exits import must_change, problem
from worker.cli.given import worker_settings_or_fail
from worker.cli.hits_screen import show_demo
from worker.cli.question import SearchQuestion
from worker.cli.run import listen_or_fail, load_or_fail, open_service
from worker.cli.running import Running
from worker.cli.screen import Figures, Screen
from worker.cli.search import ask
from worker.embedding.loaded import chosen_engine
from worker.runtime.logs import RateLimitedLog, configure_logs
from worker.runtime.stage import Stage
from worker.service import Service
from worker.settings.settings import Settings

SYNTHETIC_LINES = 20_000
SYNTHETIC_SEED = 7
_SHOW_S = 0.25
_ANSWER_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What the user asked for.

    Thread: main.
    """

    files: tuple[str, ...]
    queries: tuple[str, ...]
    data: Path | None
    k: int
    serve: bool
    config: Path | None
    synthetic_lines: int = SYNTHETIC_LINES
    """How many lines are made up when no file is given."""


def demo(
    options: DemoOptions,
    screen: Screen,
    *,
    ready: Callable[[dict[str, Any]], None] = lambda _result: None,
    ended: Callable[[Service], None] = lambda _service: None,
    stop: threading.Event | None = None,
) -> dict[str, Any]:
    """Run the demo; returns the object that `--json` prints. Raises CommandFailed.

    `ready` gets the object as soon as it is known, before serving; `ended` gets the service after it has drained.
    `stop` ends it early: what is running drains, and KeyboardInterrupt comes out, or nothing once it serves.
    """
    try:
        check_files(options.files)
    except FileUnreadable as error:
        raise must_change(error) from error
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
        _touch_topics(settings)
        screen.say("Loading the model …" if chosen_engine(settings.engine) == "llama" else "Loading vLLM and the model, about 20 seconds …")
        model = load_or_fail(settings)
        running = Running(open_service(settings, model, say=RateLimitedLog(screen.warn).say, http=http), stop or threading.Event())
        stack.callback(ended, running.service)
        stack.callback(running.end)
        running.wait_opened()
        asker = Asker(settings.kafka)
        stack.callback(asker.close)
        result = _feed_and_ask(options, settings, running, asker, screen)
        ready(result)
        if options.serve:
            _serve(settings, running, screen)
        return result


def _settings(options: DemoOptions, folder: Path, bootstrap_servers: str) -> Settings:
    kafka: dict[str, object] = {
        "bootstrap_servers": bootstrap_servers,
        "topic_epoch": begin_run(folder),
        "topics": ("logs",),
        "commit_interval_s": 0.2,
        "group_protocol": "consumer",
        "librdkafka": {"fetch.wait.max.ms": "10"},  # the embedded broker lets a reader wait so long even if something has come
    }
    index = folder / "index.db"
    milvus = {"uri": str(index), "writers": 1}
    flags = {"kafka": kafka, "milvus": milvus} | ({} if options.serve else {"http": {"enabled": False}})
    settings = worker_settings_or_fail(options.config, flags)
    if settings.milvus.bm25 != "auto" or index.exists():
        return settings
    # A new folder gets none by itself, for speed; here people try exact ids too, and the lines are few.
    return worker_settings_or_fail(options.config, flags | {"milvus": milvus | {"bm25": "on"}})


def _touch_topics(settings: Settings) -> None:
    """The embedded broker makes a topic when somebody first asks for it."""
    kafka = settings.kafka
    producer = KafkaProducer(kafka.bootstrap_servers, {}, say=lambda _line: None)
    for topic in (*kafka.topics, kafka.query_topic, kafka.reply_topic, kafka.dead_letter_topic):
        producer.partition_count(topic, timeout_s=_ANSWER_S)
    producer.close(1.0)


def _feed_and_ask(options: DemoOptions, settings: Settings, running: Running, asker: Asker, screen: Screen) -> dict[str, Any]:
    fed = Fed()
    started_s = time.monotonic()
    _index(options, settings, running, fed, screen)
    seconds = time.monotonic() - started_s
    queries = options.queries or (() if options.files else EXAMPLE_QUERIES)
    answers = [ask(asker, SearchQuestion(text=text, k=options.k), timeout_s=_ANSWER_S) for text in queries]
    result = {**_figures(running.service, fed), "seconds": round(seconds, 3), "queries": answers}
    show_demo(screen, result)
    return result


def _index(options: DemoOptions, settings: Settings, running: Running, fed: Fed, screen: Screen) -> None:
    """Feed all lines and wait until the last is committed, showing figures meanwhile."""
    service, topic = running.service, settings.kafka.topics[0]
    failures: list[Exception] = []
    stop = threading.Event()
    feeder = Stage("feed", lambda: _feed(options, settings, service, fed, stop), lambda _name, error: failures.append(error))
    feeder.start()
    with screen.progress() as show:
        try:
            while feeder.is_alive() or not _is_committed(service, topic, fed):
                show(progress(service, fed))
                running.check()
                feeder.join(_SHOW_S) if feeder.is_alive() else stop.wait(_SHOW_S / 5)
                if failures:
                    break
        finally:
            stop.set()
            show(progress(service, fed))
    for failure in failures:
        raise (must_change if isinstance(failure, FileUnreadable) else problem)(failure) from failure


def _feed(options: DemoOptions, settings: Settings, service: Service, fed: Fed, stop: threading.Event) -> None:
    topic = settings.kafka.topics[0]

    def refuse(line: TooLarge) -> None:
        letter = DeadLetter.too_large(line, topic=topic, time_ms=int(time.time() * 1000))
        service.outside.letters.send(letter, delivered=lambda: None)

    def committed() -> dict[int, int]:
        return {partition.partition: next_offset for partition, next_offset in service.pipeline.log_ledger.committed().items()}

    producer = KafkaProducer(settings.kafka.bootstrap_servers, {}, say=lambda _line: None, stopped=stop.is_set)
    try:
        lines = (
            read_files(options.files, max_record_bytes=settings.decode.max_record_bytes)
            if options.files
            else _made_up(options.synthetic_lines)
        )
        feed(lines, producer, topic, fed=fed, pause=stop.wait, refuse=refuse, window=FeedWindow(committed))
    finally:
        producer.close(1.0)


def _made_up(count: int) -> Iterator[bytes]:
    return synthetic_lines(SYNTHETIC_SEED, count, int(time.time() * 1000) - count * 8)


def _is_committed(service: Service, topic: str, fed: Fed) -> bool:
    committed = service.pipeline.log_ledger.committed()
    return sum(next_offset for partition, next_offset in committed.items() if partition.topic == topic) >= fed.sent


def progress(service: Service, fed: Fed) -> Figures:
    """Return what is shown while lines are indexed."""
    pipeline = service.pipeline
    committed = sum(pipeline.log_ledger.committed().values())
    return {
        "records": fed.read,
        "rows": pipeline.store.tally.lines,
        "templates": pipeline.store.tally.templates,
        "tokens embedded": pipeline.embed.tally.tokens,
        "tokens saved": pipeline.flights.total().tokens_saved,
        "lag": max(fed.sent - committed, 0),
    }


def _figures(service: Service, fed: Fed) -> dict[str, Any]:
    pipeline = service.pipeline
    tally = pipeline.log_ledger.tally
    counts = service.outside.sink.counts()
    total = pipeline.flights.total()
    return {
        "records": fed.read,
        "rows": counts.lines,
        "templates": counts.templates,
        "dead_letters": tally["dead_letter"] + fed.too_large,
        "dropped": sum(count for outcome, count in tally.items() if outcome.startswith("dropped:")),
        "chunks": total.chunks,
        "tokens_embedded": pipeline.embed.tally.tokens,
        "tokens_saved": total.tokens_saved,
        "cache_hits": total.chunks - pipeline.embed.tally.templates,
        "topics": {topic: savings.facts() for topic, savings in pipeline.flights.savings().items()},
        "engine": service.outside.model.engine.name,
        "space": service.outside.model.space.id,
        "committed": _committed(pipeline.log_ledger.committed()),
    }


def _committed(next_offsets: dict[Partition, int]) -> dict[str, int]:
    return {f"{partition.topic}/{partition.partition}": next_offset for partition, next_offset in sorted(next_offsets.items())}


def _serve(settings: Settings, running: Running, screen: Screen) -> None:
    address = settings.kafka.bootstrap_servers
    screen.tell(f'Serving. From another terminal: vectail search "disk is full" --bootstrap-servers {address}')
    if running.service.outside.http is not None:
        screen.tell(f"Over HTTP: POST {running.service.outside.http.url}/api/search")
    screen.tell(f"More lines: vectail feed FILE --bootstrap-servers {address}    Ctrl-C ends it.")
    try:
        while True:
            running.check()
            time.sleep(_SHOW_S)
    except KeyboardInterrupt:
        screen.tell("Draining …")
