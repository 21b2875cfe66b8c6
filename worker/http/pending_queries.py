"""Between HTTP and the query lane: what is open, how much of it, and whether any more may come in.

The app asks; the answer step replies from its own thread. At most `most_open` questions wait for a reply, each at most `timeout_s`.
After `stop_intake` not one more gets into the lane, so that it can be closed; after `give_up` nobody waits any more.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable

from worker.http.responses import LATER_S, SOON_S, HttpError, error_value, retry_after
from worker.query import QueryRequest, Requester

Take = Callable[[QueryRequest], bool]
"""Puts a question into the query lane, never blocks; False when it cannot be taken now."""


class _Waiting:
    """One question's asker, who waits on the event loop.

    Thread: `reply` from any.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.answered: asyncio.Future[bytes] = self._loop.create_future()

    def reply(self, value: bytes, *, deadline_s: float | None = None) -> None:  # noqa: ARG002 - who asks over HTTP waits as long as it likes
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it the connection
            self._loop.call_soon_threadsafe(self._resolve, value)

    def _resolve(self, value: bytes) -> None:
        if not self.answered.done():  # it is when time was up
            self.answered.set_result(value)


class PendingQueries:
    """Each question is put into the lane once or refused; its place is free again when it was answered or its time was up.

    Thread: `ask` on the event loop, the rest from any.
    """

    def __init__(self, take: Take, *, most_open: int, timeout_s: float) -> None:
        self._take = take
        self._most_open = most_open
        self._timeout_s = timeout_s
        self._gate = threading.Lock()
        self._open: set[_Waiting] = set()
        self._is_ended = False

    async def ask(self, value: bytes) -> bytes:
        """Return the reply (JSON) to a request's value, as it came. Raises HttpError: too many are open, not now, or no reply in time."""
        waiting = _Waiting()
        question = QueryRequest(value, Requester(waiting.reply, time.monotonic()))
        with self._gate:
            if self._is_ended:
                raise _not_now()
            if len(self._open) >= self._most_open:
                reason = f"{self._most_open} queries are open already (http.max_open_queries)"
                raise HttpError(429, "too_many", reason, headers=retry_after(SOON_S))
            if not self._take(question):
                raise _not_now()
            self._open.add(waiting)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await waiting.answered
        except TimeoutError:
            raise HttpError(504, "expired", f"not answered within {self._timeout_s:g} s (http.timeout_s)") from None
        finally:
            with self._gate:
                self._open.discard(waiting)

    def stop_intake(self) -> None:
        """From when this returns, nothing more is put into the lane; what is open may still be answered."""
        with self._gate:
            self._is_ended = True

    def give_up(self) -> None:
        """Stop the intake and answer everything that is open: nobody else will any more."""
        with self._gate:
            self._is_ended = True
            left = list(self._open)
        for waiting in left:
            waiting.reply(error_value("unavailable", "the worker stops before this query is answered"))

    @property
    def open(self) -> int:
        """How many questions wait for a reply."""
        return len(self._open)


def _not_now() -> HttpError:
    return HttpError(503, "unavailable", "the worker is starting or stopping", headers=retry_after(LATER_S))
