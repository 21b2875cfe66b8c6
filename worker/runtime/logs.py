"""What the worker says: lines for people on a terminal, JSON for machines, never a record's body.

`RateLimitedLog` is the `say` that everything else is given: a fault of the world is said once and then at most once a minute, with
what happens next in the same line. No secret of the settings is said (`hide`). Nothing that is said can end or stop the worker: once
standard error is `non_blocking_stderr`, a line that cannot be written, because nobody reads the pipe or the disk is full, is forgotten, and
the next one is tried again.
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
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict

from worker.settings.secrets import HIDDEN

AGAIN_S = 60.0
_MOST_REMEMBERED = 1_000
_STDERR = 2
_ROOM_S = 0.5
_PIPE_BYTES = 65_536
_hidden: list[bytes] = []
"""What is left out of standard error; the longest first, because one may be a part of another."""


class _NonBlockingStderr(io.FileIO):
    """A file in which what cannot be written counts as written, so that nobody waits long and nothing is left to fail at the very end.

    The first line for which there is no room waits for `_ROOM_S`, because the reader may only be slow; the others do not, until there is
    room again. Then it is said how many are missing.

    Thread: any, under its buffer's lock.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "wb", closefd=False)
        self._room = select.poll()
        self._room.register(number, select.POLLOUT)
        self._lost = 0
        self.lost_lines = 0
        """All since the start."""
        self._is_cut = False

    def write(self, content: object, /) -> int:
        """Write one line, or several: bytes, or anything that can be seen as bytes."""
        whole = _without_secrets(bytes(cast("bytes", content)))
        given = memoryview(cast("bytes", content)).nbytes
        missing = f'{{"event": "lines of this log are missing here", "lines": {self._lost}, "level": "warning"}}\n'
        before = "\n" * self._is_cut + missing if self._lost else ""
        if self._put(before.encode("ascii") + whole):
            self._lost = 0
        else:
            self._lost += 1
            self.lost_lines += 1
        return given

    def _put(self, line: bytes) -> bool:
        until_s = time.monotonic() + (0.0 if self._lost else _ROOM_S)
        left = line
        with suppress(OSError):
            while left and self._room.poll(max(until_s - time.monotonic(), 0.0) * 1_000):
                left = left[super().write(left) or 0 :]
        if left != line:
            self._is_cut = bool(left)
        return not left


def hide(secrets: Iterable[str]) -> None:
    """Leave these out of everything that is written to `non_blocking_stderr` from now on."""
    found = {*_hidden, *(secret.encode("utf-8", "replace") for secret in secrets)}
    _hidden[:] = sorted(found, key=len, reverse=True)


def _without_secrets(written: bytes) -> bytes:
    for secret in _hidden:
        if secret in written:
            written = written.replace(secret, HIDDEN.encode("ascii"))
    return written


def non_blocking_stderr() -> TextIO:
    """Return a standard error on which nothing can fail. A closed one becomes the null device, or a connection would get its number.

    A pipe is opened once more, so that it does not block for us and our libraries, but as ever for others who write to it.
    """
    for number in range(_STDERR + 1):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - the system's; the lowest free number is this
    if stat.S_ISFIFO(os.fstat(_STDERR).st_mode):
        with suppress(OSError):  # it may be somebody else's
            own = os.open(f"/proc/self/fd/{_STDERR}", os.O_WRONLY | os.O_NONBLOCK)
            os.dup2(own, _STDERR)
            os.close(own)
    _streams.append(_NonBlockingStderr(_STDERR))
    buffer = io.BufferedWriter(_streams[-1], _PIPE_BYTES)
    encoding = sys.stderr.encoding if sys.stderr is not None else "utf-8"
    return io.TextIOWrapper(buffer, encoding, errors="backslashreplace", line_buffering=True)


_streams: list[_NonBlockingStderr] = []


def lines_lost() -> int:
    """Return how many lines nobody took in time."""
    return sum(stream.lost_lines for stream in _streams)


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
            *([_escaped, structlog.dev.ConsoleRenderer()] if on_terminal else [structlog.processors.JSONRenderer()]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger("warning" if quiet else "info"),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


def _escaped(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Escape what could move a terminal's cursor or change what stands there; JSON does it by itself. A traceback keeps its lines."""
    return {name: "\n".join(map(printable, value.split("\n"))) if isinstance(value, str) else value for name, value in event.items()}


def printable(text: str) -> str:
    """Return the text with everything escaped that is no character to read, line ends too."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _numbered(worker: int) -> Callable[[object, str, EventDict], EventDict]:
    def add(_logger: object, _method: str, event: EventDict) -> EventDict:
        event["worker"] = worker
        return event

    return add


class RateLimitedLog:
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
        self._write(printable(line))


def announcer() -> RateLimitedLog:
    """Return an announcer that warns through structlog."""
    log = structlog.get_logger()
    return RateLimitedLog(log.warning)


def inform(event: str, **facts: object) -> None:
    """Log that something has happened as planned."""
    structlog.get_logger().info(event, **facts)


def warn(event: str, **facts: object) -> None:
    """Log something unusual that the user has chosen, once, at the start."""
    structlog.get_logger().warning(event, **facts)


def report_crash(error: Exception) -> None:
    """Log where an exception that ended the worker came from."""
    structlog.get_logger().error("crashed", traceback="".join(traceback.format_exception(error)))
