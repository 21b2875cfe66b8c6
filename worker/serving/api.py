"""The app: paths, and what each answers. The only file that knows Starlette.

A query is a JSON object, the one that a Kafka request has as its value, and is answered with the JSON of the Kafka reply; the path
says what its answer holds. The body is not parsed here: the query stages do that, so that errors are the same over HTTP and Kafka.
Everything below `/api` needs the token, or the cookie that stands for it; what people open (`/`), the pages of supervisors (`/healthz`,
`/readyz`, `/metrics`) and `/openapi.json` hold no line of a log and need none.
"""

import asyncio
import functools
import time
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from worker.asking.documents import Page
from worker.asking.refusals import QueryReply, Refused, error_document
from worker.querying.around import AROUND
from worker.querying.form import Form
from worker.querying.forms import FORMS
from worker.querying.line_search import LINES
from worker.runtime.process import vectail_version
from worker.serving.document_routes import ACTION_S, DOCUMENT_S, LONGER_S, OneAtATime
from worker.serving.export_rows import CsvRows, NdjsonRows, Rows
from worker.serving.exporting import Export
from worker.serving.guards import with_head_checks, with_headers_of_all
from worker.serving.lookup_request import read_lookup
from worker.serving.mcp_endpoint import McpEndpoint, index_of
from worker.serving.mcp_questions import LogIndex, NotAnswered, look_up
from worker.serving.openapi import openapi_document
from worker.serving.page_files import INDEX, PageFile, made_page_files, missing_page, read_page_files
from worker.serving.pending_queries import ClientGone, PendingQueries, unless_gone
from worker.serving.request_body import read_body
from worker.serving.request_checks import check_length, check_site, check_type
from worker.serving.request_places import Places
from worker.serving.responses import BUSY_RETRY_S, OUTAGE_RETRY_S, HttpError, as_json, http_error, json_object, status_of
from worker.serving.sign_in import SignIn, cookie_of, set_cookie
from worker.serving.streams import Asking, StreamRules, with_values
from worker.serving.tailing import TailStream
from worker.serving.worker_view import FurtherApi, WorkerView

_JSON = "application/json"
_CODE_OF = {404: "not_found", 405: "wrong_method"}
_ROWS: Mapping[str, Rows] = {"csv": CsvRows(), "ndjson": NdjsonRows()}
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRules:
    """What a request must satisfy."""

    token: str
    """Empty: none is required."""
    checks_host: bool
    """Whether `Host` must be localhost or an IP address."""
    max_answering: int
    """Most requests below `/api` in work at once, from when the body begins to arrive until the answer is handed over."""
    max_body_bytes: int
    body_s: float
    streams: StreamRules


def new_app(queries: PendingQueries, rules: RequestRules, say: Callable[[str], None], view: WorkerView) -> ASGIApp:
    """Return the app. A request that fails unexpectedly is answered 500 and logged, and the service goes on.

    An unexpected failure in another stage stops the service, because what it has settled is then unknown. A request settles nothing,
    and a client must not be able to stop a worker with bytes that a library does not expect.
    """

    async def failed(request: Request, error: Exception) -> Response:
        *_, where = traceback.extract_tb(error.__traceback__)
        say(f"http: a request failed and was answered 500: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}")
        further = None if view.embeddings is None else view.embeddings.error_body(500, request.url.path)
        return Response(further or error_document("internal", "internal error; see the worker's log"), 500, media_type=_JSON)

    app = Starlette(
        routes=routes_of(queries, rules, view),
        exception_handlers={
            HTTPException: functools.partial(_not_routed, further=view.embeddings),
            HttpError: _refused,
            ClientDisconnect: _gone,
            ClientGone: _gone,
            Exception: failed,
        },
    )
    app.router.redirect_slashes = False  # a redirect would repeat the `Host` that the client sent
    return with_headers_of_all(with_head_checks(app, checks_host=rules.checks_host))


def routes_of(queries: PendingQueries, rules: RequestRules, view: WorkerView) -> list[Route]:
    """Return every path of the app, with its methods."""
    pages = [_route(path, _endpoint(page), "GET", "HEAD") for path, page in view.pages.items()]
    embeddings = () if view.embeddings is None else view.embeddings.routes()
    if not view.has_index:
        return [*embeddings, *pages]
    files = {**read_page_files(), **made_page_files()}
    return [*_Api(queries, rules, view.name).routes(view), *embeddings, *_page_routes(files), _openapi_route(), *pages]


class _Api:
    """Everything below `/api`: checked, and bounded in number.

    Thread: the event loop.
    """

    def __init__(self, queries: PendingQueries, rules: RequestRules, worker: str) -> None:
        self._queries = queries
        self._rules = rules
        self._worker = worker
        self._sign_in = SignIn(rules.token)
        self._answering = Places(rules.max_answering, "requests are in work", retry_s=BUSY_RETRY_S)
        self._exports = Places(rules.streams.max_exports, "exports are being read", retry_s=OUTAGE_RETRY_S)
        self._tails = Places(rules.streams.max_tails, "tails are open", retry_s=OUTAGE_RETRY_S)

    def routes(self, view: WorkerView) -> Iterable[Route]:
        """Return the routes."""
        for form in FORMS.values():
            if form.path:
                yield _route(form.path, self._query(form), "POST")
        yield _route("/api/export", self._export, "GET", "POST")
        yield _route("/api/tail", self._tail, "GET")
        for path, document in view.documents.items():
            yield _route(path, self._document(OneAtATime(path, document, timeout_s=LONGER_S.get(path, DOCUMENT_S))), "GET")
        for path, action in view.actions.items():
            yield _route(path, self._action(OneAtATime(path, action, timeout_s=ACTION_S)), "POST")
        yield _route("/api/session", self._session, "GET", "POST", "DELETE")
        if view.settings is not None:
            index = index_of(self._queries, view.settings, view.documents.get("/api/lag"))
            yield _route("/api/lookup", self._lookup(index), "POST")
            yield _route("/mcp", self._mcp(McpEndpoint(index, max_body_bytes=self._rules.max_body_bytes)), "POST")

    def _query(self, form: Form) -> Endpoint:
        name = None if form is LINES else "lines" if form is AROUND else form.name  # a search may be of any form

        async def answer(request: Request) -> Response:
            self._check(request)
            self._check_body(request)
            async with self._answering.one():
                body = await self._body(request)
                if form is AROUND and "around" not in json_object(body):
                    raise HttpError(400, "bad_query", "Field required", field="around")
                reply = await unless_gone(request.receive, self._queries.reply_to(body, name))
            return _as_reply(reply)

        return answer

    async def _export(self, request: Request) -> Response:
        self._check(request)
        form = request.query_params.get("format", "ndjson")
        if form not in _ROWS:
            raise HttpError(400, "bad_query", f"give {' or '.join(_ROWS)}", field="format")
        rows = _ROWS[form]
        if request.method == "POST":
            self._check_body(request)
        async with AsyncExitStack() as places:
            await self._enter(places, self._exports)
            query = json_object(await self._body(request) if request.method == "POST" else _query_in_url(request))
            first = await unless_gone(request.receive, self._queries.reply_to(with_values(query), "export"))
            if first.code != "answered":
                return _as_reply(first)
            name = time.strftime(f"vectail-%Y%m%dT%H%M%SZ.{form}", time.gmtime())
            headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Type": rows.content_type}
            export = Export(Asking(self._queries, "export"), query, rows, self._rules.streams)
            return _Stream(export.pieces(first), headers, places.pop_all())

    async def _tail(self, request: Request) -> Response:
        self._check(request)
        async with AsyncExitStack() as places:
            await self._enter(places, self._tails)
            query = json_object(_query_in_url(request))
            if seen := request.headers.get("last-event-id"):
                query["after"] = seen
            first = await unless_gone(request.receive, self._queries.reply_to(with_values(query), "tail"))
            if first.code != "answered":
                return _as_reply(first)
            tail = TailStream(Asking(self._queries, "tail"), query, self._rules.streams)
            return _Stream(tail.events(first), {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}, places.pop_all())

    async def _enter(self, places: AsyncExitStack, streams: Places) -> None:
        """Take a place among the streams, and one among all requests."""
        await places.enter_async_context(streams.one())
        await places.enter_async_context(self._answering.one())

    def _document(self, document: OneAtATime[Mapping[str, str]]) -> Endpoint:
        async def answer(request: Request) -> Response:
            self._check(request)
            async with self._answering.one():
                return _as_response(await document.ask(dict(request.query_params)))

        return answer

    def _action(self, action: OneAtATime[Mapping[str, object]]) -> Endpoint:
        async def answer(request: Request) -> Response:
            self._check(request, writes=True)
            self._check_body(request)
            async with self._answering.one():
                return _as_response(await action.ask(json_object(await self._body(request))))

        return answer

    def _mcp(self, endpoint: McpEndpoint) -> Endpoint:
        async def answer(request: Request) -> Response:
            self._check(request)
            self._check_body(request)
            async with self._answering.one():
                body = await self._body(request)
                found = await unless_gone(request.receive, endpoint.answer(request.scope["headers"], body))
            return Response(found.body, found.status, found.headers)

        return answer

    def _lookup(self, index: LogIndex) -> Endpoint:
        async def answer(request: Request) -> Response:
            self._check(request)
            self._check_body(request)
            async with self._answering.one():
                asked = read_lookup(json_object(await self._body(request)), index.now_ms())
                try:
                    found = await unless_gone(request.receive, look_up(index, asked.line, asked.topic, asked.new_since_ms))
                except NotAnswered as error:
                    raise http_error(Refused("unavailable", str(error))) from None
            return _as_response(found)

        return answer

    async def _session(self, request: Request) -> Response:
        check_site(*_origin_of(request))
        if request.method == "POST":
            return await self._sign_in_with(request)
        if request.method == "DELETE":
            return self._sign_out(request)
        is_signed_in = self._sign_in.is_signed_in(request.headers)
        return _as_response(
            {
                "needs_token": self._sign_in.needs_token,
                "signed_in": is_signed_in,
                "csrf": self._sign_in.csrf_of(cookie_of(request.headers.get("cookie"))),
                "worker": self._worker if is_signed_in else "",
                "version": vectail_version() if is_signed_in else "",
            }
        )

    async def _sign_in_with(self, request: Request) -> Response:
        self._check_body(request)
        async with self._answering.one():
            given = json_object(await self._body(request))
        if not self._sign_in.needs_token:
            return _as_response({"signed_in": True, "csrf": ""})
        address = "" if request.client is None else request.client.host
        cookie = self._sign_in.new_cookie(given.get("token"), address)
        return _as_response({"signed_in": True, "csrf": self._sign_in.csrf_of(cookie)}, {"Set-Cookie": _cookie(cookie, request)})

    def _sign_out(self, request: Request) -> Response:
        if self._sign_in.csrf_of(cookie_of(request.headers.get("cookie"))):  # else there is nothing to end
            self._sign_in.check(request.headers, writes=True)
        return _as_response({"signed_in": False}, {"Set-Cookie": _cookie("", request)})

    def _check(self, request: Request, *, writes: bool = False) -> None:
        """Authenticate before reading anything else. Raises HttpError."""
        check_site(*_origin_of(request))
        self._sign_in.check(request.headers, writes=writes)

    def _check_body(self, request: Request) -> None:
        check_type(request.headers.get("content-type"))
        check_length(request.headers.get("content-length"), self._rules.max_body_bytes)

    async def _body(self, request: Request) -> bytes:
        return await read_body(request.stream(), most_bytes=self._rules.max_body_bytes, most_s=self._rules.body_s)


class _Stream(StreamingResponse):
    """An answer that is written piece by piece; it holds its places until it ends, or the client goes."""

    def __init__(self, pieces: AsyncGenerator[bytes], headers: Mapping[str, str], places: AsyncExitStack) -> None:
        super().__init__(pieces, headers=headers)
        self._pieces = pieces
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._places, aclosing(self._pieces):
            await super().__call__(scope, receive, send)


def _page_routes(files: Mapping[str, PageFile]) -> Iterable[Route]:
    """Return the routes of the page that people open."""

    async def answer(request: Request) -> Response:
        file = files.get(request.path_params.get("name", INDEX))
        if file is None:
            raise HTTPException(404)
        headers = {"Cache-Control": "no-cache", "ETag": file.etag}  # a browser asks each time whether its copy is the newest
        if file.is_known(request.headers.get("if-none-match")):
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers | {"Content-Type": file.content_type})

    return [_route(path, answer, "GET", "HEAD") for path in ("/", "/page/{name}")]


def _openapi_route() -> Route:
    """Return the route of the document that describes the others; it is made when somebody asks."""
    document = functools.cache(lambda: as_json(openapi_document(vectail_version())))

    async def answer(_request: Request) -> Response:
        return Response(document(), media_type=_JSON)

    return _route("/openapi.json", answer, "GET")


def _route(path: str, endpoint: Endpoint, *methods: str) -> Route:
    """Return a route for these methods only: Starlette adds HEAD, for which a stream would be made and thrown away."""
    route = Route(path, endpoint, methods=methods)
    route.methods = set(methods)
    return route


def _endpoint(page: Page) -> Endpoint:
    """Return an endpoint that renders on another thread, so that metrics do not block the event loop.

    It renders for one request at a time: a flood of scrapes must not occupy every thread while `/healthz` waits.
    """
    one_at_a_time = asyncio.Lock()

    async def answer(request: Request) -> Response:
        async with one_at_a_time:
            found = await run_in_threadpool(page, request.headers.get("accept", ""))
        return Response(found.body, 200 if found.is_good else 503, media_type=found.content_type)

    return answer


def _origin_of(request: Request) -> tuple[str | None, str | None, str | None]:
    """Return what a browser says of the page for which it asks."""
    headers = request.headers
    return headers.get("sec-fetch-site"), headers.get("origin"), headers.get("host")


def _cookie(value: str, request: Request) -> str:
    return set_cookie(value, secure=request.headers.get("origin", "").startswith("https:"))


def _as_response(document: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Response:
    return Response(as_json(document), 200, headers, _JSON)


def _as_reply(reply: QueryReply) -> Response:
    status, headers = status_of(reply.code)
    return Response(reply.value, status, headers, _JSON)


def _query_in_url(request: Request) -> bytes:
    return request.query_params.get("query", "{}").encode("utf-8", "replace")


def _answer(refused: HttpError) -> Response:
    return Response(refused.body, refused.status, refused.headers, _JSON)


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HttpError):
        raise TypeError("only for HttpError")
    return _answer(error)


async def _not_routed(request: Request, error: Exception, *, further: FurtherApi | None) -> Response:
    """Answer a request for an unknown path, a browser's with a page, or one with a wrong method."""
    if not isinstance(error, HTTPException):
        raise TypeError("only for HTTPException")
    path = request.url.path
    if further is not None and (body := further.error_body(error.status_code, path)) is not None:
        return Response(body, error.status_code, error.headers, _JSON)
    if error.status_code == HTTPStatus.NOT_FOUND and not path.startswith("/api/") and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(missing_page(path), error.status_code)
    code = _CODE_OF.get(error.status_code, "bad_request")
    return Response(error_document(code, error.detail), error.status_code, error.headers, _JSON)


async def _gone(_request: Request, _error: Exception) -> Response:
    """Return any response: the client hung up."""
    return Response(status_code=400)
