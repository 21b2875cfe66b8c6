"""`vectail feed`: lines of files, or of standard input, into a topic, one record a line.

The lines go on a thread of their own, so that the main thread shows figures and takes signals, also while a pipe is silent.
Lines above the limit go to the dead-letter topic and not to the log topic.
"""

import itertools
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event
from typing import Any

from producers import dead_letters
from producers.dead_letters import DeadLetter, DeadLetterSender
from producers.feed import Fed, FeedFailed, feed
from producers.kafka import KafkaProducer, ProducerMisconfigured
from producers.lines import FileUnreadable, TooLarge, check_files, read_files
from producers.log_feed import endless_lines
from worker.cli.exits import must_change, problem
from worker.cli.output import counted
from worker.cli.screen import Figures, Screen
from worker.runtime.stage import Stage
from worker.runtime.version import VERSION
from worker.settings.settings import Settings

_SHOW_S = 0.1
_LEAVE_S = 1.0
_STOPPING_S = 10.0
"""How long Ctrl-C waits for what was sent to be acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOptions:
    """What the user asked for.

    Thread: main.
    """

    files: tuple[str, ...]
    synthetic: bool = False
    """Made-up lines without end in place of files."""
    topic: str | None
    """None: the first log topic of the settings."""
    rate: float | None
    """Lines a second; None: as fast as the broker takes them."""


class Feeder:
    """Two producers, for lines and for dead letters, and a thread that reads.

    Thread: main; `_read` runs on its own.
    """

    def __init__(self, settings: Settings, options: FeedOptions, topic: str, stop: Event, say: Callable[[str], None]) -> None:
        kafka = settings.kafka
        self._options = options
        self._topic = topic
        self._max_record_bytes = settings.decode.max_record_bytes
        self.fed = Fed()
        self.failure: Exception | None = None
        self.stop = stop
        self._lines = KafkaProducer(kafka.bootstrap_servers, kafka.librdkafka, say=say, stopped=self.stop.is_set)
        properties = {**kafka.librdkafka, **dead_letters.PRODUCER_PROPERTIES}
        self._dead = KafkaProducer(kafka.bootstrap_servers, properties, say=lambda _line: None)  # the other one says it already
        self._letters = DeadLetterSender(self._dead, kafka.dead_letter_topic, version=VERSION, say=say)
        self._letters_delivered = 0
        self._stage = Stage("feed", self._read, self._on_failure)

    @property
    def is_done(self) -> bool:
        """Nothing more is read, and the dead letters are delivered, or there was a failure."""
        return self.failure is not None or (not self._stage.is_alive() and self.letters_left == 0)

    @property
    def letters_left(self) -> int:
        """Lines too large whose dead letter is not acknowledged yet."""
        return self.fed.too_large - self._letters_delivered

    def start(self) -> None:
        """Begin to read."""
        self._stage.start()

    def wait(self, seconds: float) -> None:
        """Wait a moment, less when the reading ends."""
        if self._stage.is_alive():
            self._stage.join(seconds)
        else:
            self.stop.wait(seconds)

    def close(self) -> None:
        """Stop reading and end both producers; what is not acknowledged within a moment is given up."""
        self.stop.set()
        self._stage.join(_LEAVE_S)  # a thread that waits for a silent pipe stays behind: it is a daemon
        self._lines.close(_STOPPING_S if self.failure is None else 0.0)
        self._dead.close(_STOPPING_S if self.failure is None else 0.0)

    def _read(self) -> None:
        made_up = endless_lines(lambda: time.time() * 1000)
        lines = made_up if self._options.synthetic else read_files(self._options.files, max_record_bytes=self._max_record_bytes)
        lines = itertools.takewhile(lambda _line: not self.stop.is_set(), lines)  # else close waits for a queue that is never empty
        feed(lines, self._lines, self._topic, fed=self.fed, pause=self.stop.wait, refuse=self._refuse, rate=self._options.rate)

    def _refuse(self, line: TooLarge) -> None:
        letter = DeadLetter.too_large(line, topic=self._topic, time_ms=int(time.time() * 1000))
        self._letters.send(letter, delivered=self._on_letter)

    def _on_letter(self) -> None:
        self._letters_delivered += 1

    def _on_failure(self, _stage: str, error: Exception) -> None:
        self.failure = error


def feed_files(settings: Settings, options: FeedOptions, screen: Screen, stop: Event) -> dict[str, Any]:
    """Feed all files, or until `stop` is set; returns what `--json` prints. Raises CommandFailed."""
    topic = options.topic or next(iter(settings.kafka.topics), "")
    if not topic:
        raise must_change("kafka.topics names no topic; name one with --topic")
    if bool(options.files) == options.synthetic:
        raise must_change("give either files (`-` for standard input) or --synthetic")
    started_s = time.monotonic()
    with ExitStack() as stack:
        try:
            check_files(options.files)
            feeder = Feeder(settings, options, topic, stop, screen.warn)
        except (FileUnreadable, ProducerMisconfigured) as error:
            raise must_change(error) from error
        stack.callback(feeder.close)
        feeder.start()
        is_stopped = _show_until_done(feeder, screen)
    if not is_stopped:
        _raise_failure(feeder)
    fed = feeder.fed
    seconds = time.monotonic() - started_s
    screen.say(
        f"{'Stopped. ' if is_stopped else ''}Sent to {topic}: {counted(fed.acknowledged, 'line')} in {seconds:.1f} s "
        f"({fed.acknowledged / max(seconds, 0.001):,.0f} a second)."
    )
    if fed.too_large:
        too_large = counted(fed.too_large - feeder.letters_left, "line")
        screen.say(f"Too large, sent to {settings.kafka.dead_letter_topic} instead: {too_large}.")
    left = fed.sent - fed.acknowledged + feeder.letters_left
    if left:
        raise problem(f"stopped before the broker had acknowledged everything: {counted(left, 'line')} may be missing")
    return {"topic": topic, "lines": fed.read, "sent": fed.acknowledged, "too_large": fed.too_large, "seconds": round(seconds, 3)}


def _show_until_done(feeder: Feeder, screen: Screen) -> bool:
    """Show figures until there is no more to do; True when it was told to stop first."""
    with screen.progress() as show:
        while not feeder.is_done and not feeder.stop.is_set():
            show(_figures(feeder.fed))
            feeder.wait(_SHOW_S)
        is_stopped = not feeder.is_done
        if is_stopped:
            feeder.close()
        show(_figures(feeder.fed))
    return is_stopped


def _figures(fed: Fed) -> Figures:
    return {"lines": fed.read, "sent": fed.sent, "acknowledged": fed.acknowledged, "too large": fed.too_large}


def _raise_failure(feeder: Feeder) -> None:
    failure = feeder.failure
    if isinstance(failure, FileUnreadable):
        raise must_change(failure) from failure
    if isinstance(failure, FeedFailed):
        raise (problem if feeder.fed.sent else must_change)(failure) from failure
    if failure is not None:
        raise failure
