"""The app: paths, and what each answers. The only file that knows Starlette.

`POST /api/search` takes a query as JSON, the value of a Kafka request, and answers with the same reply; errors are the same object
everywhere. Nothing of a query is read here: the query lane does that, so that an error is the same over HTTP and over Kafka. The pages
(`/healthz`, `/readyz`, `/metrics`) are handed in, and need no token.
"""

import asyncio
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from worker.http.pending_queries import PendingQueries
from worker.http.request_checks import check_host, check_length, check_token, check_type, too_long
from worker.http.responses import HttpError, Page, error_value, status_of

_JSON = "application/json"
_CODE_OF = {404: "not_found", 405: "wrong_method"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRules:
    """What a request must keep to.

    Thread: any.
    """

    token: str
    """Empty: none is asked for."""
    own_names_only: bool
    """Whether it must call us localhost, or by an address."""
    max_body_bytes: int
    body_s: float


def new_app(asking: PendingQueries, rules: RequestRules, say: Callable[[str], None], pages: Mapping[str, Page]) -> ASGIApp:
    """Make the app. A request that fails as nobody expected is answered 500 and said; it stops nothing.

    Other stages stop the service then, because nobody knows what they have settled. A request settles nothing, and no stranger may
    stop a worker with one that a library does not expect.
    """

    async def search(request: Request) -> Response:
        check_token(request.headers.get("authorization"), rules.token)
        check_type(request.headers.get("content-type"))
        check_length(request.headers.get("content-length"), rules.max_body_bytes)
        reply = await asking.ask(await _body(request, rules))
        status, headers = status_of(reply)
        return Response(reply, status, headers, _JSON)

    async def failed(_request: Request, error: Exception) -> Response:
        *_, where = traceback.extract_tb(error.__traceback__)
        say(f"http: a request failed and was answered 500: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}")
        return Response(error_value("internal", "a fault of the worker's own; its log says where"), 500, media_type=_JSON)

    app = Starlette(
        routes=[Route("/api/search", search, methods=["POST"]), *(Route(path, _endpoint(page)) for path, page in pages.items())],
        middleware=[Middleware(_HostCheck)] if rules.own_names_only else [],
        exception_handlers={HTTPException: _unknown, HttpError: _refused, ClientDisconnect: _gone, Exception: failed},
    )
    app.router.redirect_slashes = False  # the address in a redirect would be the sender's own word
    return app


def _endpoint(page: Page) -> Callable[[Request], Response]:
    """Not a coroutine, so that it runs beside the event loop: a scrape reads all of the service."""

    def answer(request: Request) -> Response:
        found = page(request.headers.get("accept", ""))
        return Response(found.body, found.status, media_type=found.content_type)

    return answer


class _HostCheck:
    """Lets only requests through that call us localhost, or by an address.

    Thread: the event loop.
    """

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
    """Read the body; of one that is too long no more than shows it, of one that is too slow no longer. Raises HttpError."""
    body = bytearray()
    try:
        async with asyncio.timeout(rules.body_s):
            async for piece in request.stream():
                body += piece
                if len(body) > rules.max_body_bytes:
                    raise too_long(rules.max_body_bytes)
    except TimeoutError:
        reason = f"the body did not arrive within {rules.body_s:g} s"
        raise HttpError(408, "too_slow", reason, headers={"Connection": "close"}) from None
    return bytes(body)


def _answer(refused: HttpError) -> Response:
    return Response(refused.value, refused.status, refused.headers, _JSON)


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HttpError):
        raise TypeError("only for HttpError")
    return _answer(error)


async def _unknown(_request: Request, error: Exception) -> Response:
    """Answer what the router refuses."""
    if not isinstance(error, HTTPException):
        raise TypeError("only for HTTPException")
    code = _CODE_OF.get(error.status_code, "bad_request")
    return Response(error_value(code, error.detail), error.status_code, error.headers, _JSON)


async def _gone(_request: Request, _error: Exception) -> Response:
    """Nobody reads it: the client hung up while it sent the body."""
    return Response(status_code=400)
