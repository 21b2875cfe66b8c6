"""The worker's log on standard error: lines for people on a terminal, JSON for machines, never a record's body.

Other modules are given `RateLimitedLog.warn` as their `say`: an outside fault is logged once and then at most once a minute, and the line
says what happens next. Secrets of the settings are left out (`redact_secrets`). Logging can neither end nor block the worker: once
standard error is `non_blocking_stderr`, a line that cannot be written is dropped, because the reader of the pipe is stuck or the disk is
full, and the next one is tried again.
"""

import io
import os
import select
import stat
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TextIO, cast

from worker.runtime.recent_faults import RecentFaults

if TYPE_CHECKING:
    import structlog
    from structlog.typing import EventDict

REDACTED: Final = "**********"
"""Stands in place of a secret, as in pydantic."""
REPEAT_S = 60.0
_MOST_REMEMBERED = 1_000
_STDERR = 2
_WAIT_S = 0.5
_BUFFER_BYTES = 65_536
_recent = RecentFaults()
_secrets: list[bytes] = []
"""What is left out of standard error; the longest first, because one may be a part of another."""


class _NonBlockingStderr(io.FileIO):
    """A stderr whose writes never block for long and never fail: a line that cannot be written counts as written.

    The first line that does not fit waits for `_WAIT_S`, because the reader may only be slow. Further lines are dropped at once until one
    fits again; it is preceded by the number of dropped lines.

    Thread: any, under its buffer's lock.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "wb", closefd=False)
        self._writable = select.poll()
        self._writable.register(number, select.POLLOUT)
        self._dropped = 0
        """Lines since the last one that was written."""
        self.dropped_lines = 0
        """Lines since the start."""
        self._is_cut = False
        """Whether the last line was written in part."""

    def write(self, content: object, /) -> int:
        """Write one line or several, given as bytes or a buffer."""
        whole = _without_secrets(bytes(cast("bytes", content)))
        given = memoryview(cast("bytes", content)).nbytes
        missing = f'{{"event": "lines of this log are missing here", "lines": {self._dropped}, "level": "warning"}}\n'
        before = "\n" * self._is_cut + missing if self._dropped else ""
        if self._put(before.encode("ascii") + whole):
            self._dropped = 0
        else:
            self._dropped += 1
            self.dropped_lines += 1
        return given

    def _put(self, line: bytes) -> bool:
        until_s = time.monotonic() + (0.0 if self._dropped else _WAIT_S)
        left = line
        with suppress(OSError):
            while left and self._writable.poll(max(until_s - time.monotonic(), 0.0) * 1_000):
                left = left[super().write(left) or 0 :]
        if left != line:
            self._is_cut = bool(left)
        return not left


def redact_secrets(secrets: Iterable[str]) -> None:
    """Replace these in everything that is written to `non_blocking_stderr` from now on."""
    found = {*_secrets, *(secret.encode("utf-8", "replace") for secret in secrets)}
    _secrets[:] = sorted(found, key=len, reverse=True)


def without_secrets(text: str) -> str:
    """Return a text that is shown elsewhere as standard error would show it."""
    return _without_secrets(text.encode("utf-8", "replace")).decode("utf-8", "replace")


def _without_secrets(written: bytes) -> bytes:
    for secret in _secrets:
        if secret in written:
            written = written.replace(secret, REDACTED.encode("ascii"))
    return written


def non_blocking_stderr() -> TextIO:
    """Return a standard error on which no write fails. A closed one becomes the null device, else a connection would get its number.

    A pipe is opened a second time, non-blocking for us and our libraries and unchanged for other processes that write to it.
    """
    for number in range(_STDERR + 1):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - os.open takes the lowest free number, which is this one
    if stat.S_ISFIFO(os.fstat(_STDERR).st_mode):
        with suppress(OSError):  # it may belong to another user
            own = os.open(f"/proc/self/fd/{_STDERR}", os.O_WRONLY | os.O_NONBLOCK)
            os.dup2(own, _STDERR)
            os.close(own)
    _streams.append(_NonBlockingStderr(_STDERR))
    buffer = io.BufferedWriter(_streams[-1], _BUFFER_BYTES)
    encoding = sys.stderr.encoding if sys.stderr is not None else "utf-8"
    return io.TextIOWrapper(buffer, encoding, errors="backslashreplace", line_buffering=True)


_streams: list[_NonBlockingStderr] = []


def dropped_lines() -> int:
    """Return how many lines were dropped because standard error was blocked."""
    return sum(stream.dropped_lines for stream in _streams)


def configure_logs(*, quiet: bool = False, worker: int | None = None) -> None:
    """Write to standard error: console lines on a terminal, else JSON. `quiet` drops what is less than a warning.

    With `worker`, every line carries that number.
    """
    import structlog  # noqa: PLC0415 - see _logger

    on_terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            *([] if worker is None else [_numbered(worker)]),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([_escaped, structlog.dev.ConsoleRenderer()] if on_terminal else [structlog.processors.JSONRenderer()]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger("warning" if quiet else "info"),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


def _escaped(_logger: object, _method: str, event: "EventDict") -> "EventDict":
    """Escape what could move a terminal's cursor or change its content, as JSON does anyway. A traceback keeps its lines."""
    return {name: printable_lines(value) if isinstance(value, str) else value for name, value in event.items()}


def printable(text: str) -> str:
    """Return the text with all unprintable characters escaped, line ends included."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def printable_lines(text: str) -> str:
    """Return the text with all unprintable characters escaped except line ends."""
    return "\n".join(map(printable, text.split("\n")))


def _numbered(worker: int) -> "Callable[[object, str, EventDict], EventDict]":
    def add(_logger: object, _method: str, event: "EventDict") -> "EventDict":
        event["worker"] = worker
        return event

    return add


class RateLimitedLog:
    """The same line is written at most once in `REPEAT_S`; control characters are escaped.

    Thread: any.
    """

    def __init__(self, write: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._written_s: dict[str, float] = {}

    def warn(self, line: str) -> None:
        """Write a line, unless it was written less than `REPEAT_S` ago; it counts among the `recent_faults` either way."""
        _note("warning", line)
        now_s = self._clock()
        with self._lock:
            last_s = self._written_s.pop(line, None)
            if last_s is not None and now_s - last_s < REPEAT_S:
                self._written_s[line] = last_s
                return
            self._written_s[line] = now_s
            if len(self._written_s) > _MOST_REMEMBERED:
                del self._written_s[next(iter(self._written_s))]
        self._write(printable(line))


def rate_limited_log() -> RateLimitedLog:
    """Return one that writes warnings through structlog."""
    log = _logger()
    return RateLimitedLog(log.warning)


def inform(event: str, **facts: object) -> None:
    """Log an expected event."""
    _logger().info(event, **facts)


def warn(event: str, **facts: object) -> None:
    """Log an unusual choice of the user's, once, at the start."""
    _note("warning", "; ".join((event, *(f"{name} = {fact}" for name, fact in facts.items()))))
    _logger().warning(event, **facts)


def report_crash(error: Exception) -> None:
    """Log the traceback of the exception that ended the worker."""
    _note("error", f"crashed: {type(error).__name__}: {error}")
    _logger().error("crashed", traceback="".join(traceback.format_exception(error)))


def recent_faults() -> RecentFaults:
    """Return the last warnings and errors that were logged, those included that were too soon to be written again."""
    return _recent


def _logger() -> "structlog.stdlib.BoundLogger":
    """Return the log; most verbs never write to it, and loading the library takes a quarter of what `--help` takes."""
    import structlog  # noqa: PLC0415

    logger: structlog.stdlib.BoundLogger = structlog.get_logger()
    return logger


def _note(level: str, event: str) -> None:
    _recent.note(level, printable(without_secrets(event)))
