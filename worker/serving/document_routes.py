"""Documents and actions on threads of their own, so that one that waits for Kafka holds up nothing else.

Each runs for one request at a time. A request waits for its turn and for the answer, so long and no longer; a call that takes longer goes
on alone, and until it ends the next requests get no turn.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from worker.asking.refusals import Refused
from worker.runtime.stage import Stage
from worker.serving.responses import BUSY_RETRY_S, OUTAGE_RETRY_S, HttpError, http_error, retry_after

DOCUMENT_S: Final = 10.0
LONGER_S: Final = {"/api/doctor": 30.0}
"""Of a document that needs more."""
ACTION_S: Final = 60.0
MOST_WAITING: Final = 32
"""Requests for one document at once; a further one is refused."""
Given = TypeVar("Given")
Answer = Mapping[str, object]


class OneAtATime(Generic[Given]):
    """Runs one function for one request at a time, each call on a new thread.

    Thread: the event loop; the function runs on others.
    """

    def __init__(self, name: str, function: Callable[[Given], Answer], *, timeout_s: float) -> None:
        self._name = name
        self._function = function
        self._timeout_s = timeout_s
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def ask(self, given: Given) -> Answer:
        """Return what the function returns. Raises HttpError: the function refuses, too many ask, or it takes too long."""
        if self._waiting >= MOST_WAITING:
            raise HttpError(429, "too_many", f"{MOST_WAITING} requests wait for this already", headers=retry_after(BUSY_RETRY_S))
        self._waiting += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._turn.acquire()
                return await asyncio.shield(self._start(given))
        except Refused as refused:
            raise http_error(refused) from None
        except TimeoutError:
            reason = f"not answered within {self._timeout_s:g} s; what it asks may be away"
            raise HttpError(504, "expired", reason, headers=retry_after(OUTAGE_RETRY_S)) from None
        finally:
            self._waiting -= 1

    def _start(self, given: Given) -> "asyncio.Future[Answer]":
        """Call the function on a daemon thread; its turn ends with it, even if the request has stopped waiting."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        answer.add_done_callback(self._end_turn)

        def settle(settle_one: Callable[[Any], None], result: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and the connection with it
                loop.call_soon_threadsafe(settle_one, result)

        Stage(
            f"http-{self._name}",
            lambda: settle(answer.set_result, self._function(given)),
            lambda _name, error: settle(answer.set_exception, error),
        ).start()
        return answer

    def _end_turn(self, answer: "asyncio.Future[Answer]") -> None:
        self._turn.release()
        if not answer.cancelled():
            answer.exception()  # or an error that nobody waits for any more would be reported as forgotten
