"""The queries over HTTP that have no reply so far: how many there may be, how long each waits, and when no more are accepted.

The app calls `reply_to`; the answer step replies from its own thread. After `stop_intake` nothing more enters the query lane, so that
it can be closed; after `give_up` nothing waits any more.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from worker.asking.lane_question import TakeRequest
from worker.asking.refusals import QueryReply, error_reply
from worker.asking.requests import QueryRequest, Requester, patience_s
from worker.serving.guards import Receive
from worker.serving.responses import BUSY_RETRY_S, OUTAGE_RETRY_S, HttpError, retry_after

_Answer = TypeVar("_Answer")
_LATE_S = 0.5
"""How long past its deadline a query waits for the step that finds it late: that one says why it is."""


class ClientGone(Exception):
    """The client has disconnected."""


class _PendingReply:
    """A reply that the event loop waits for, until `leave`.

    Thread: `resolve` from any, the rest on the event loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[QueryReply] = self._loop.create_future()
        self._is_gone = False

    def is_gone(self) -> bool:
        """Whether the client has stopped waiting."""
        return self._is_gone

    def leave(self) -> None:
        """Wait no more: the query need not be answered."""
        self._is_gone = True

    def resolve(self, reply: QueryReply, *, deadline_s: float | None = None) -> None:  # noqa: ARG002 - the client waits as long as it likes
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the connection with it
            self._loop.call_soon_threadsafe(self._set, reply)

    def _set(self, reply: QueryReply) -> None:
        if not self.future.done():  # it is done when `give_up` answered it
            self.future.set_result(reply)


class PendingQueries:
    """At most `max_open` requests are open, each until its deadline or `timeout_s`; one that is not accepted never enters the lane.

    Thread: `reply_to` on the event loop, the rest from any.
    """

    def __init__(self, take_request: TakeRequest, *, max_open: int, timeout_s: float) -> None:
        self._take_request = take_request
        self._max_open = max_open
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        """Held while a request is put into the lane, so that `stop_intake` returns after it."""
        self._open: set[_PendingReply] = set()
        self._is_stopped = False
        self._waits_for_stop: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    async def reply_to(self, value: bytes, form: str | None = None) -> QueryReply:
        """Put a request (its body) into the lane and return its reply; `form` is what `as` must be, if the path says it.

        A query that timed out, or whose call was cancelled, is dropped at the next step. It counts as open until then, so that clients
        that do not wait cannot fill the lane. Raises HttpError: too many open, not accepting, or not answered in time.
        """
        pending, most_s = _PendingReply(), patience_s(value) + _LATE_S
        request = QueryRequest(value, Requester(pending.resolve, time.monotonic(), is_gone=pending.is_gone), form=form)
        with self._lock:
            if self._is_stopped:
                raise _not_accepting()
            if len(self._open) >= self._max_open:
                reason = f"{self._max_open} queries are open already"
                raise HttpError(429, "too_many", reason, headers=retry_after(BUSY_RETRY_S))
            if not self._take_request(request):
                raise _not_accepting()
            self._open.add(pending)
        pending.future.add_done_callback(lambda _reply: self._close(pending))
        try:
            await asyncio.wait({pending.future}, timeout=min(most_s, self._timeout_s))
        except asyncio.CancelledError:
            pending.leave()
            raise
        if pending.future.done():
            return pending.future.result()
        if most_s < self._timeout_s:
            raise HttpError(504, "expired", "the deadline has passed, and the worker is not done with it", field="deadline_ms")
        pending.leave()
        self._close(pending)
        raise HttpError(504, "expired", f"not answered within {self._timeout_s:g} s")

    def _close(self, pending: _PendingReply) -> None:
        with self._lock:
            self._open.discard(pending)

    async def until_stopped(self) -> None:
        """Wait until no more requests are accepted."""
        with self._lock:
            if self._waits_for_stop is None:
                self._waits_for_stop = (asyncio.get_running_loop(), asyncio.Event())
            _, stopped = self._waits_for_stop
            if self._is_stopped:
                return
        await stopped.wait()

    def stop_intake(self) -> None:
        """From when this returns no request enters the lane."""
        self._stop()

    def give_up(self) -> None:
        """Stop the intake and answer everything that is open: the answer step has ended."""
        for pending in self._stop():
            pending.resolve(error_reply("unavailable", "the worker stops before this query is answered"))

    def _stop(self) -> list[_PendingReply]:
        """Stop the intake; returns what is open."""
        with self._lock:
            self._is_stopped = True
            if self._waits_for_stop is not None:
                loop, stopped = self._waits_for_stop
                with contextlib.suppress(RuntimeError):  # the loop has ended, and everything that waited in it
                    loop.call_soon_threadsafe(stopped.set)
            return list(self._open)


def _not_accepting() -> HttpError:
    return HttpError(503, "unavailable", "the worker is starting or stopping", headers=retry_after(OUTAGE_RETRY_S))


async def unless_gone(receive: Receive, answering: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Return what is awaited, and cancel it when the client hangs up. Raises ClientGone.

    `receive` returns what else comes from the client (ASGI), whose request has been read.
    """
    answer, gone = asyncio.ensure_future(answering), asyncio.ensure_future(_until_gone(receive))
    either: set[asyncio.Future[Any]] = {answer, gone}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientGone
        return answer.result()
    finally:
        answer.cancel()
        gone.cancel()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
