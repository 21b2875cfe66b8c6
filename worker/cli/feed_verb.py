"""`vectail feed`: sends the lines of files or of standard input to a topic, one record per line.

A thread of its own reads and sends, so that the main thread can show figures and handle signals while a pipe is silent. Lines above the
size limit go to the dead-letter topic instead of the log topic.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Event

from consumers.source import KafkaRefused
from producers.dead_letters import DeadLetter
from producers.feed import Feeder, FeedFailed, FeedProgress
from producers.file_lines import FileUnreadable, LineTooLarge, find_files, read_lists
from producers.kafka import KafkaProducer, ProducerMisconfigured
from producers.log_feed import endless_lines
from worker.cli.absent_server import REACH_S, kafka_away
from worker.cli.exits import failure, user_error
from worker.cli.screen import Figures, Screen
from worker.connections import open_letter_box
from worker.runtime.kafka_admin import BrokerAway, KafkaAdmin
from worker.runtime.stage import Stage
from worker.runtime.wording import counted
from worker.settings.settings import Settings

_REFRESH_S = 0.1
_JOIN_S = 1.0
_STOPPING_S = 10.0
"""How long Ctrl-C waits for what was sent to be acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOptions:
    """The options of `vectail feed`."""

    files: tuple[str, ...]
    synthetic: bool = False
    """Send endless synthetic lines instead of files."""
    topic: str | None
    """None: the first `[[topic]]` with a name."""
    rate: float | None
    """Lines per second; None: as fast as Kafka takes them."""


class FeedSession:
    """Sends every line once, to the topic or to the dead letters.

    Thread: main; `_read` runs on a thread of its own.
    """

    def __init__(self, settings: Settings, options: FeedOptions, topic: str, stop: Event, say: Callable[[str], None]) -> None:
        kafka = settings.kafka
        self._options = options
        self._topic = topic
        self._say = say
        self._max_record_bytes = settings.decode.max_record_bytes
        self.fed = FeedProgress()
        self.error: Exception | None = None
        self.stop = stop
        self._line_producer = KafkaProducer(kafka.bootstrap_servers, kafka.librdkafka, say=say, stopped=self.stop.is_set)
        # Its client is silent, because the producer of the lines reports the same errors.
        self._dead_letters = open_letter_box(kafka, say=say, client_say=lambda _line: None)
        self._delivered_letters = 0
        self._stage = Stage("feed", self._read, self._on_error)

    @property
    def is_done(self) -> bool:
        """Whether reading has ended and all dead letters are delivered, or an error has ended it."""
        return self.error is not None or (not self._stage.is_alive() and self.pending_letters == 0)

    @property
    def pending_letters(self) -> int:
        """How many dead letters are not acknowledged yet."""
        return self.fed.too_large - self._delivered_letters

    def start(self) -> None:
        """Start reading."""
        self._stage.start()

    def wait(self, seconds: float) -> None:
        """Wait for the given time, or until reading ends."""
        if self._stage.is_alive():
            self._stage.join(seconds)
        else:
            self.stop.wait(seconds)

    def close(self) -> None:
        """Stop reading and close both; waits up to 10 s for acknowledgements."""
        self.stop.set()
        if self._stage.is_alive():
            self._stage.join(_JOIN_S)  # a daemon: a thread that waits on a silent pipe is abandoned
        self._line_producer.close(_STOPPING_S if self.error is None else 0.0)
        self._dead_letters.close(_STOPPING_S if self.error is None else 0.0)

    def _read(self) -> None:
        lists: Iterator[list[bytes | LineTooLarge]] = ([line] for line in endless_lines(lambda: time.time() * 1000))
        if not self._options.synthetic:
            lists = read_lists(self._options.files, say=self._say, max_record_bytes=self._max_record_bytes)
        lists = itertools.takewhile(lambda _lines: not self.stop.is_set(), lists)  # or close would wait for a queue that never empties
        Feeder(self._line_producer, self._topic, progress=self.fed, pause=self.stop.wait, rate=self._options.rate).feed(
            lists, refuse=self._refuse
        )

    def _refuse(self, line: LineTooLarge) -> None:
        letter = DeadLetter.too_large(line, topic=self._topic, time_ms=int(time.time() * 1000))
        self._dead_letters.send(letter, delivered=self._on_letter_delivered)

    def _on_letter_delivered(self) -> None:
        self._delivered_letters += 1

    def _on_error(self, _stage: str, error: Exception) -> None:
        self.error = error


def feed_files(settings: Settings, options: FeedOptions, screen: Screen, stop: Event) -> dict[str, object]:
    """Feed all files, or until `stop` is set, and return what `--json` prints. Raises CommandFailed.

    Kafka must answer at first; it is waited for when it goes away later.
    """
    kafka = settings.kafka
    topic = options.topic or next(iter(settings.subscription.names), "")
    if not topic:
        raise user_error("no [[topic]] has a name, only patterns; name a topic with --topic")
    if bool(options.files) == options.synthetic:
        raise user_error("give either files (`-` for standard input) or --synthetic")
    started_s, was_reached = time.monotonic(), Event()
    with ExitStack() as stack:
        try:
            options = replace(options, files=find_files(options.files, screen.warn))
            session = FeedSession(settings, options, topic, stop, lambda line: screen.warn(line) if was_reached.is_set() else None)
            stack.callback(session.close)
            KafkaAdmin(kafka.bootstrap_servers, kafka.librdkafka).partition_counts(REACH_S)
        except (FileUnreadable, ProducerMisconfigured, KafkaRefused) as error:
            raise user_error(error) from error
        except BrokerAway as error:
            raise kafka_away(kafka.bootstrap_servers, error) from error
        was_reached.set()
        session.start()
        is_stopped = _show_until_done(session, screen)
    if not is_stopped:
        _raise_error(session)
    fed = session.fed
    seconds = time.monotonic() - started_s
    screen.say(
        f"{'Stopped. ' if is_stopped else ''}Sent to {topic}: {counted(fed.acknowledged, 'line')} in {seconds:.1f} s "
        f"({fed.acknowledged / max(seconds, 0.001):,.0f} a second)."
    )
    if fed.too_large:
        too_large = counted(fed.too_large - session.pending_letters, "line")
        screen.say(f"Too large, sent to {kafka.dead_letter_topic} instead: {too_large}.")
    left = fed.sent - fed.acknowledged + session.pending_letters
    if left:
        raise failure(f"stopped before the broker had acknowledged everything: {counted(left, 'line')} may be missing")
    return {"topic": topic, "lines": fed.read, "sent": fed.acknowledged, "too_large": fed.too_large, "seconds": round(seconds, 3)}


def _show_until_done(session: FeedSession, screen: Screen) -> bool:
    """Show figures until everything is sent; return whether `stop` was set first."""
    with screen.progress() as show:
        while not session.is_done and not session.stop.is_set():
            show(_figures(session.fed))
            session.wait(_REFRESH_S)
        is_stopped = not session.is_done
        if is_stopped:
            session.close()
        show(_figures(session.fed))
    return is_stopped


def _figures(fed: FeedProgress) -> Figures:
    return {"lines": fed.read, "sent": fed.sent, "acknowledged": fed.acknowledged, "too large": fed.too_large}


def _raise_error(session: FeedSession) -> None:
    error = session.error
    if isinstance(error, FileUnreadable):
        raise user_error(error) from error
    if isinstance(error, FeedFailed):
        raise (failure if session.fed.sent else user_error)(error) from error
    if error is not None:
        raise error
