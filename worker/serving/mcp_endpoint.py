"""`/mcp` in the worker: the MCP tools over HTTP, asking through the query lane like everyone else.

The app has checked host, origin, token, type and length of a request before it comes here, and has read its body. The protocol's library is
loaded for the first request, on another thread, because that takes more than a second.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worker.asking.documents import Document
from worker.indexing.pasted_lines import LineReader, LineTemplate
from worker.serving.document_routes import OneAtATime
from worker.serving.mcp_questions import Answer, LogIndex, NotAnswered
from worker.serving.pending_queries import PendingQueries
from worker.serving.responses import HttpError
from worker.settings.settings import Settings

if TYPE_CHECKING:
    from worker.serving.mcp_server import StreamableHttp

DEADLINE_MS: Final = 30_000
"""How long a tool waits for the answer to one query."""
_LAG_S: Final = 5.0


class McpAnswer(NamedTuple):
    """What goes back over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes


class McpEndpoint:
    """Answers requests at `/mcp`; every answer is bounded and nothing is kept between requests.

    Thread: the event loop.
    """

    def __init__(self, index: LogIndex, *, max_body_bytes: int) -> None:
        self._index = index
        self._max_body_bytes = max_body_bytes
        self._loading = asyncio.Lock()
        self._server: StreamableHttp | None = None

    async def answer(self, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> McpAnswer:
        """Return the answer to a POST of the transport "Streamable HTTP"; its headers as ASGI has them."""
        async with self._loading:
            if self._server is None:
                server = await asyncio.to_thread(self._load)
                await server.start()
                self._server = server
        return McpAnswer(*await self._server.answer(headers, body))

    def _load(self) -> "StreamableHttp":
        from worker.serving.mcp_server import StreamableHttp  # noqa: PLC0415 - takes more than a second

        return StreamableHttp(self._index, max_body_bytes=self._max_body_bytes)


def index_of(queries: PendingQueries, settings: Settings, read_lag: Document | None) -> LogIndex:
    """Return what the tools ask in the worker itself; without `read_lag`, what `GET /api/lag` answers, the lag stays unknown."""

    async def ask(query: Mapping[str, object], _kind: type[Answer]) -> Answer:
        try:
            reply = await queries.reply_to(json.dumps({**query, "deadline_ms": DEADLINE_MS}).encode("utf-8"))
        except HttpError as error:
            raise NotAnswered(f"the worker does not answer: {error}") from error
        answer: Answer = json.loads(reply.value)
        return answered(answer)

    return LogIndex(
        ask=ask,
        templates_of=lines_of(settings),
        read_lag=None if read_lag is None else _reading(read_lag),
        now_ms=lambda: round(time.time() * 1000),
    )


def answered(answer: Answer) -> Answer:
    """Return an answer of the worker unless it is an error document. Raises NotAnswered."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if not isinstance(error, Mapping):
        return answer
    at_fault = f"{error['field']}: " if error.get("field") else ""
    refused = "the worker refused the query" if error["code"] == "bad_query" else "the worker does not answer"
    raise NotAnswered(f"{refused}: {at_fault}{error['reason']}")


def _reading(document: Document) -> Callable[[], Awaitable[Mapping[str, Any]]]:
    """Return a function that reads a document without waiting for it longer than an assistant should."""
    one = OneAtATime("mcp-lag", document, timeout_s=_LAG_S)

    async def read() -> Mapping[str, Any]:
        try:
            return await one.ask({})
        except HttpError as error:
            raise NotAnswered(str(error)) from error

    return read


def lines_of(settings: Settings) -> Callable[[str, str | None], Awaitable[list[LineTemplate]]]:
    """Return a function that reads pasted lines on another thread; it loads the masks when the first one comes."""
    reader = cache(lambda: LineReader(settings))

    async def templates_of(line: str, topic: str | None) -> list[LineTemplate]:
        return await asyncio.to_thread(lambda: reader().templates_of(line, topic))

    return templates_of
