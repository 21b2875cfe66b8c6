"""The app: paths, and what each answers. The only file that knows Starlette.

`POST /api/search` takes the JSON that a Kafka request has as its value, and answers with the JSON of the Kafka reply. `POST /api/counts`
is the same with `"as": "counts"`. The body is not parsed here: the query stages do that, so that errors are the same over HTTP and
Kafka. The pages (`/healthz`, `/readyz`, `/metrics`) are passed in and need no token.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from worker.http.pending_queries import PendingQueries
from worker.http.request_checks import check_host, check_length, check_token, check_type, too_long
from worker.http.responses import BUSY_RETRY_S, HttpError, Page, retry_after, status_of
from worker.query import Form, error_document

_JSON = "application/json"
_CODE_OF = {404: "not_found", 405: "wrong_method"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRules:
    """What a request must satisfy."""

    token: str
    """Empty: none is required."""
    checks_host: bool
    """Whether `Host` must be localhost or an IP address."""
    max_searches: int
    """Most searches in work at once, from when the body begins to arrive."""
    max_body_bytes: int
    body_s: float


def new_app(queries: PendingQueries, rules: RequestRules, say: Callable[[str], None], pages: Mapping[str, Page]) -> ASGIApp:
    """Return the app. A request that fails unexpectedly is answered 500 and logged, and the service goes on.

    An unexpected failure in another stage stops the service, because what it has settled is then unknown. A request settles nothing,
    and a client must not be able to stop a worker with bytes that a library does not expect.
    """
    free_searches = asyncio.Semaphore(rules.max_searches)

    async def answer(request: Request, form: Form | None) -> Response:
        check_token(request.headers.get("authorization"), rules.token)
        check_type(request.headers.get("content-type"))
        check_length(request.headers.get("content-length"), rules.max_body_bytes)
        if free_searches.locked():
            raise HttpError(429, "too_many", f"{rules.max_searches} searches are in work already", headers=retry_after(BUSY_RETRY_S))
        async with free_searches:
            reply = await queries.reply_to(await _body(request, rules), form)
        status, headers = status_of(reply.code)
        return Response(reply.value, status, headers, _JSON)

    async def search(request: Request) -> Response:
        return await answer(request, None)

    async def counts(request: Request) -> Response:
        return await answer(request, "counts")

    async def failed(_request: Request, error: Exception) -> Response:
        *_, where = traceback.extract_tb(error.__traceback__)
        say(f"http: a request failed and was answered 500: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}")
        return Response(error_document("internal", "a fault of the worker's own; its log says where"), 500, media_type=_JSON)

    app = Starlette(
        routes=[
            Route("/api/search", search, methods=["POST"]),
            Route("/api/counts", counts, methods=["POST"]),
            *(Route(path, _endpoint(page)) for path, page in pages.items()),
        ],
        middleware=[Middleware(_HostCheck)] if rules.checks_host else [],
        exception_handlers={HTTPException: _not_routed, HttpError: _refused, ClientDisconnect: _disconnected, Exception: failed},
    )
    app.router.redirect_slashes = False  # a redirect would repeat the `Host` that the client sent
    return app


def _endpoint(page: Page) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that renders on another thread, so that metrics do not block the event loop.

    It renders for one request at a time: a flood of scrapes must not occupy every thread while `/healthz` waits.
    """
    one_at_a_time = asyncio.Lock()

    async def answer(request: Request) -> Response:
        async with one_at_a_time:
            found = await run_in_threadpool(page, request.headers.get("accept", ""))
        return Response(found.body, found.status, media_type=found.content_type)

    return answer


class _HostCheck:
    """Passes only requests on whose `Host` is localhost or an IP address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_host(Request(scope).headers.get("host"))
        except HttpError as refused:
            await _answer(refused)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


async def _body(request: Request, rules: RequestRules) -> bytes:
    """Read the body until it exceeds the limit in bytes or in seconds. Raises HttpError."""
    body = bytearray()
    try:
        async with asyncio.timeout(rules.body_s):
            async for part in request.stream():
                body += part
                if len(body) > rules.max_body_bytes:
                    raise too_long(rules.max_body_bytes)
    except TimeoutError:
        reason = f"the body did not arrive within {rules.body_s:g} s"
        raise HttpError(408, "too_slow", reason, headers={"Connection": "close"}) from None
    return bytes(body)


def _answer(refused: HttpError) -> Response:
    return Response(refused.body, refused.status, refused.headers, _JSON)


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HttpError):
        raise TypeError("only for HttpError")
    return _answer(error)


async def _not_routed(_request: Request, error: Exception) -> Response:
    """Answer a request for an unknown path or with a wrong method."""
    if not isinstance(error, HTTPException):
        raise TypeError("only for HTTPException")
    code = _CODE_OF.get(error.status_code, "bad_request")
    return Response(error_document(code, error.detail), error.status_code, error.headers, _JSON)


async def _disconnected(_request: Request, _error: Exception) -> Response:
    """Return any response: the client hung up while it sent the body."""
    return Response(status_code=400)
