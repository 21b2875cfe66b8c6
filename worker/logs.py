"""What the worker says: lines for people on a terminal, JSON for machines, never a record's body.

`Announcer` is the `say` that everything else is given: a fault of the world is said once and then at most once a minute, with
what happens next in the same line. Nothing that is said can end the worker: once standard error is `forgiving_stderr`, a line that
cannot be written, because nobody reads the pipe any more or the disk is full, is forgotten, and the next one is tried again.
"""

import io
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict

AGAIN_S = 60.0
_MOST_REMEMBERED = 1_000
_STDERR = 2


class _Forgiving(io.FileIO):
    """A file in which what cannot be written counts as written: nothing stays in a buffer, to fail again at the very end.

    Thread: any, under its buffer's lock.
    """

    def write(self, content: object, /) -> int:
        """Write bytes, or anything that can be seen as bytes."""
        seen = cast("bytes", content)
        try:
            written = super().write(seen)
        except OSError:
            written = None
        return memoryview(seen).nbytes if written is None else written  # None: a pipe that is full and does not block


def forgiving_stderr() -> TextIO:
    """Return a standard error on which nothing can fail. A closed one becomes the null device, or a connection would get its number."""
    for number in range(_STDERR + 1):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - the system's; the lowest free number is this
    buffer = io.BufferedWriter(_Forgiving(_STDERR, "wb", closefd=False))
    encoding = sys.stderr.encoding if sys.stderr is not None else "utf-8"
    return io.TextIOWrapper(buffer, encoding, errors="backslashreplace", line_buffering=True)


def configure_logs(*, quiet: bool = False, worker: int | None = None) -> None:
    """Write to standard error: console lines on a terminal, JSON otherwise; `quiet` keeps warnings and worse only.

    Every line carries the worker's number, if it has one.
    """
    on_terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            *([] if worker is None else [_numbered(worker)]),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer() if on_terminal else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger("warning" if quiet else "info"),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


def _numbered(worker: int) -> Callable[[object, str, EventDict], EventDict]:
    def add(_logger: object, _method: str, event: EventDict) -> EventDict:
        event["worker"] = worker
        return event

    return add


class Announcer:
    """Says each line at most once in `AGAIN_S`; control characters are escaped.

    Thread: any.
    """

    def __init__(self, write: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._said_s: dict[str, float] = {}

    def say(self, line: str) -> None:
        """Say a line, unless it was said a moment ago."""
        now_s = self._clock()
        with self._lock:
            last_s = self._said_s.pop(line, None)
            if last_s is not None and now_s - last_s < AGAIN_S:
                self._said_s[line] = last_s
                return
            self._said_s[line] = now_s
            if len(self._said_s) > _MOST_REMEMBERED:
                del self._said_s[next(iter(self._said_s))]
        self._write(line.encode("unicode_escape").decode("ascii") if not line.isprintable() else line)


def announcer() -> Announcer:
    """Return an announcer that warns through structlog."""
    log = structlog.get_logger()
    return Announcer(log.warning)


def inform(event: str, **facts: object) -> None:
    """Log that something has happened as planned."""
    structlog.get_logger().info(event, **facts)


def warn(event: str, **facts: object) -> None:
    """Log something unusual that the user has chosen, once, at the start."""
    structlog.get_logger().warning(event, **facts)


def report_crash(error: Exception) -> None:
    """Log where an exception that ended the worker came from."""
    structlog.get_logger().error("crashed", traceback="".join(traceback.format_exception(error)))
