"""How `vectail demo` indexes: it feeds lines to the embedded broker and shows figures until the service has committed the last one."""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Final

from producers.dead_letters import DeadLetter
from producers.feed import Feeder, FeedProgress, FeedWindow
from producers.file_bytes import Say
from producers.file_lines import FileUnreadable, LineTooLarge, read_lists
from producers.kafka import KafkaProducer
from producers.log_feed import synthetic_lines
from worker.cli.exits import failure, user_error
from worker.cli.run import BackgroundService
from worker.cli.screen import Figures, Screen
from worker.runtime.stage import Stage
from worker.service.service import Service

TOPIC: Final = "logs"
"""The one topic, whatever `[[topic]]` tables the settings have."""
SYNTHETIC_SEED = 7
_REFRESH_S = 0.25


def index_lines(source: Sequence[str] | int, background: BackgroundService, fed: FeedProgress, screen: Screen) -> None:
    """Feed the lines of files (or that number of synthetic ones), and wait until the last is committed; shows figures meanwhile.

    Raises CommandFailed, and KeyboardInterrupt as `BackgroundService.check` does.
    """
    service, topic = background.service, TOPIC
    errors: list[Exception] = []
    stop = threading.Event()
    feeder = Stage("feed", lambda: _feed(source, service, fed, stop, screen.warn), lambda _name, error: errors.append(error))
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


def _feed(source: Sequence[str] | int, service: Service, fed: FeedProgress, stop: threading.Event, say: Say) -> None:
    topic, settings = TOPIC, service.settings

    def refuse(line: LineTooLarge) -> None:
        letter = DeadLetter.too_large(line, topic=topic, time_ms=int(time.time() * 1000))
        service.connections.dead_letters.send(letter, delivered=lambda: None)

    def committed() -> dict[int, int]:
        return {partition.partition: next_offset for partition, next_offset in service.pipeline.indexing.ledger.committed().items()}

    producer = KafkaProducer(settings.kafka.bootstrap_servers, {}, say=lambda _line: None, stopped=stop.is_set)
    try:
        most = settings.decode.max_record_bytes
        lists = _synthetic(source) if isinstance(source, int) else read_lists(source, say=say, max_record_bytes=most)
        Feeder(producer, topic, progress=fed, pause=stop.wait, window=FeedWindow(committed)).feed(lists, refuse=refuse)
    finally:
        producer.close(1.0)


def _synthetic(count: int) -> Iterator[list[bytes | LineTooLarge]]:
    return ([line] for line in synthetic_lines(SYNTHETIC_SEED, count, int(time.time() * 1000) - count * 8))


def _is_committed(service: Service, topic: str, fed: FeedProgress) -> bool:
    committed = service.pipeline.indexing.ledger.committed()
    return sum(next_offset for partition, next_offset in committed.items() if partition.topic == topic) >= fed.sent


def progress(service: Service, fed: FeedProgress) -> Figures:
    """Return the figures that are shown while lines are indexed."""
    pipeline = service.pipeline
    committed = sum(pipeline.indexing.ledger.committed().values())
    return {
        "records": fed.read,
        "lines": pipeline.indexing.store.tally.lines,
        "templates": pipeline.indexing.store.tally.templates,
        "tokens embedded": pipeline.embedder.tally.tokens,
        "tokens saved": pipeline.indexing.flights.total().tokens_saved,
        "lag": max(fed.sent - committed, 0),
    }
