"""What the two streams, `/api/export` and `/api/tail`, share: they ask one query after the other, and end when the worker drains."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, TypeVar

from worker.asking.refusals import QueryReply
from worker.serving.pending_queries import PendingQueries
from worker.serving.responses import HttpError

T = TypeVar("T")


class Ended(Exception):
    """The worker stops; the message says so to the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRules:
    """How many streams there may be, and how they wait."""

    max_exports: int = 4
    max_tails: int = 16
    poll_s: float = 1.0
    """Between two questions of a tail, and before a question that failed is asked again."""
    retry_s: float = 30.0
    """How long an export asks for a window that it does not get."""
    heartbeat_s: float = 15.0
    """After this long without a line a tail sends a comment, so that no proxy closes it."""


class Asking:
    """Asks queries of one form for one client.

    Thread: the event loop.
    """

    def __init__(self, queries: PendingQueries, form: str) -> None:
        self._queries = queries
        self._form = form

    async def ask(self, value: bytes) -> QueryReply:
        """Return the reply; what the lane does not take is an error reply too. Raises Ended."""
        try:
            return await self._unless_stopped(asyncio.ensure_future(self._queries.reply_to(value, self._form)))
        except HttpError as refused:
            return QueryReply(refused.body, "unavailable")

    async def pause(self, seconds: float) -> None:
        """Wait. Raises Ended."""
        await self._unless_stopped(asyncio.ensure_future(asyncio.sleep(seconds)))

    async def _unless_stopped(self, working: asyncio.Future[T]) -> T:
        stopped = asyncio.ensure_future(self._queries.until_stopped())
        either: set[asyncio.Future[Any]] = {working, stopped}
        working.add_done_callback(_forget_error)
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                raise Ended("the worker stops")
            return working.result()
        finally:
            working.cancel()
            stopped.cancel()


def _forget_error(done: asyncio.Future[Any]) -> None:
    if not done.cancelled():
        done.exception()  # or an error that nobody waits for any more would be reported


def with_values(query: dict[str, object], **values: object) -> bytes:
    """Return a query, with further fields or other values of them, as the body of a request. Raises HttpError: nested too deeply."""
    try:
        return json.dumps(query | values).encode("utf-8")
    except RecursionError:
        raise HttpError(400, "bad_query", "is nested too deeply", field="query") from None


def error_of(reply: QueryReply) -> dict[str, str]:
    """Return what an error reply says: its code, field and reason."""
    error: dict[str, str] = json.loads(reply.value)["error"]
    return error
