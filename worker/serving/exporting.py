"""`/api/export`: every line that passes, window after window, to the end or to a place that the last line names.

A window is asked for only when the client has taken the one before, so a slow reader costs one window of memory and no work. Each answer
holds the question for the next (`worker.querying.export`). A window that the index cannot give now is asked for again for a while. What
was written is never taken back: the last line says how far it reaches, and holds the question for the rest.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from worker.asking.refusals import QueryReply
from worker.serving.export_rows import Reached, Rows
from worker.serving.streams import Asking, Ended, StreamRules, error_of, with_values

PIECE_BYTES = 64 * 1024
MOST_STANDSTILLS = 3
"""Answers in a row that may end where they began, because reading took too long."""


class _Stopped(Exception):
    """The export cannot go on; the message says why."""


class _Window(NamedTuple):
    """What one reply holds."""

    pieces: Sequence[bytes]
    """The rows of its lines, in pieces that a connection takes at once."""
    lines: int
    until_ms: int
    end_ms: int
    next: dict[str, object] | None
    """The question for what follows; None: this was the last."""
    is_complete: bool


class Export:
    """One export to one client.

    Thread: the event loop; windows are read and written as rows on others.
    """

    def __init__(
        self, asking: Asking, query: dict[str, object], rows: Rows, rules: StreamRules, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._asking = asking
        self._query = query
        self._rows = rows
        self._rules = rules
        self._clock = clock
        self._reached = Reached()
        self._standstills = 0

    async def pieces(self, first: QueryReply) -> AsyncGenerator[bytes]:
        """Return what goes out; `first` is the reply to the query as it came."""
        reason = ""
        question = self._query
        yield self._rows.head
        try:
            window = await self._read(first)
            if not window.is_complete:
                window = await self._window(question)
            while True:
                for piece in window.pieces:
                    yield piece
                yield b""  # goes out only when the client has taken most of what went before
                self._reached = Reached(self._reached.lines + window.lines, window.until_ms, window.end_ms, window.next)
                if window.next is None:
                    break
                question = self._further(window.next, question)
                window = await self._window(question)
        except (_Stopped, Ended) as stopped:
            reason = str(stopped)
        yield self._rows.last(self._reached._replace(reason=reason))

    async def _window(self, question: dict[str, object]) -> _Window:
        """Ask for a window until all of it is there. Raises _Stopped, Ended."""
        until_s = self._clock() + self._rules.retry_s
        value = with_values(question)
        while True:
            reply = await self._asking.ask(value)
            if reply.code == "answered":
                window = await self._read(reply)
                if window.is_complete:
                    return window
                reason = f"not every line before {window.until_ms} ms can be read"
            else:
                reason = error_of(reply)["reason"]
            if reply.code == "bad_query" or self._clock() >= until_s:
                raise _Stopped(reason)
            await self._asking.pause(self._rules.poll_s)

    def _further(self, following: dict[str, object], asked: dict[str, object]) -> dict[str, object]:
        """Return the next question. Raises _Stopped if it has been the same for too often."""
        self._standstills = self._standstills + 1 if following == asked else 0
        if self._standstills >= MOST_STANDSTILLS:
            raise _Stopped(f"the index is too slow: {MOST_STANDSTILLS} times it read nothing of what comes next")
        return following

    async def _read(self, reply: QueryReply) -> _Window:
        return await asyncio.to_thread(_window_of, reply.value, self._rows)


def _window_of(value: bytes, rows: Rows) -> _Window:
    answer = json.loads(value)
    pieces = [*_joined(rows.of(line) for line in answer["lines"])]
    return _Window(pieces, len(answer["lines"]), answer["until_ms"], answer["end_ms"], answer["next"], answer["complete"])


def _joined(rows: Iterable[bytes]) -> Iterator[bytes]:
    piece = bytearray()
    for row in rows:
        piece += row
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)
