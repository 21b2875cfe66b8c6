"""The embedding API over HTTP: OpenAI's `/v1/embeddings` and `/v1/models`, TEI's `/embed` and `/info`. Here only Starlette is known.

Every answer has an `x-request-id`, and every refusal the shape that the clients of its path read. A request is read and checked on the
event loop if it is small and on another thread if it is large, so that one with 2,048 texts holds nobody up.
"""

import asyncio
import contextlib
import hmac
import math
import secrets
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from worker.embedding.batcher import Urgency
from worker.embedding.model.vectors import TokenIds
from worker.runtime.process import vectail_version
from worker.serving.embeddings.embedding_answer import EmbeddingAnswer, check_dimensions, cut, encode_openai, encode_tei
from worker.serving.embeddings.embedding_bodies import InputType
from worker.serving.embeddings.embedding_errors import EmbeddingRefused, internal_error, not_routed, refusal_of, too_busy, unavailable
from worker.serving.embeddings.embedding_models import EmbeddingModels
from worker.serving.embeddings.embedding_request import MOST_INPUTS, EmbeddingRequest, TokenLists, named, read_openai, read_tei
from worker.serving.embeddings.embedding_work import EmbeddedInputs, EmbeddingWork, WorkTerms
from worker.serving.embeddings.held_bytes import HeldBytes
from worker.serving.embeddings.models_document import model_document, models_document, tei_document
from worker.serving.embeddings.openai_tokens import OpenAITokens
from worker.serving.embeddings.served_model import ServedModel
from worker.serving.embeddings.served_tally import UNKNOWN_MODEL
from worker.serving.embeddings.token_lists import resolved
from worker.serving.pending_queries import unless_gone
from worker.serving.request_body import read_body
from worker.serving.request_checks import check_length, check_site, check_type
from worker.serving.responses import HttpError, as_json

_JSON: Final = "application/json"
_LARGE_BYTES: Final = 64 * 1024
"""A body or an answer as large as that is read or written on another thread."""
_PIECE_BYTES: Final = 256 * 1024
"""Of an answer, handed to the connection at once; the next one waits until the client has read most of it."""
_BODIES: Final = 8
"""Bodies of the largest size that may be in memory at once."""
_MOST_ANSWERS_BYTES: Final = 256 * 1024 * 1024
"""That may be in memory at once: computed, written, or not read yet."""
_BYTES_A_NUMBER: Final = 13
"""Of a vector, in JSON."""
_INTERNAL: Final = 500
_STOPPING_RETRY_S: Final = 5.0
T = TypeVar("T")
Answering = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRules:
    """What a request must satisfy."""

    tokens: tuple[str, ...] = ()
    """Each opens the API; without any it is open, and whatever a client sends as a token is accepted."""
    max_body_bytes: int
    body_s: float = 30.0
    max_wait_s: float
    """Most seconds of work that may wait before a request."""
    openai_tokens: OpenAITokens | None = None


class EmbeddingApi:
    """Every request is answered once, in the shape of its path.

    Thread: the event loop; `stop` and `give_up` any.
    """

    def __init__(self, models: EmbeddingModels, rules: EmbeddingRules, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is that of the models' embedders."""
        self._models = models
        self._rules = rules
        self._clock = clock
        self._bodies = HeldBytes(_BODIES * rules.max_body_bytes)
        self._answers = HeldBytes(_MOST_ANSWERS_BYTES)
        self._open: set[asyncio.Future[EmbeddedInputs]] = set()
        self._lock = threading.Lock()
        """Held while a request is queued, so that `stop` returns after it."""
        self._is_stopped = False

    @property
    def open_requests(self) -> int:
        """How many requests wait for their vectors."""
        return len(self._open)

    def routes(self) -> Iterable[Route]:
        """Return the routes."""
        openai, tei = EmbeddingRefused.openai_body, EmbeddingRefused.tei_body
        yield _route("/v1/embeddings", self._answering(self._embeddings, openai), "POST")
        yield _route("/v1/models", self._answering(self._list, openai), "GET")
        yield _route("/v1/models/{name:path}", self._answering(self._model, openai), "GET")
        yield _route("/embed", self._answering(self._embed, tei), "POST")
        yield _route("/info", self._answering(self._info, tei), "GET")

    def error_body(self, status: int, path: str) -> bytes | None:
        """See `FurtherApi`."""
        if not path.startswith("/v1/"):
            return None
        return (internal_error() if status == _INTERNAL else not_routed(status, path)).openai_body()

    def stop(self) -> None:
        """From when this returns nothing more is queued; what is open may still be answered."""
        with self._lock:
            self._is_stopped = True

    def give_up(self) -> None:
        """Refuse whatever is open: the steps behind have ended."""
        self.stop()
        for answer in list(self._open):
            _settle(answer, unavailable("The server stopped before this request was answered.", retry_after_s=_STOPPING_RETRY_S))

    def _answering(self, answer: Answering, body_of: Callable[[EmbeddingRefused], bytes]) -> Answering:
        async def endpoint(request: Request) -> Response:
            try:
                self._check(request)
                response = await answer(request)
            except (HttpError, EmbeddingRefused) as error:
                refused = refusal_of(error) if isinstance(error, HttpError) else error
                response = Response(body_of(refused), refused.status, refused.headers(), _JSON)
                self._models.tallies[UNKNOWN_MODEL].refused(refused.status)
            response.headers["x-request-id"] = f"req_{secrets.token_hex(12)}"
            return response

        return endpoint

    async def _embeddings(self, request: Request) -> Response:
        async with self._asked(request, read_openai) as asked:
            name, typed = named(asked.model, self._models.names)
            accept = request.headers.get("accept", "")

            def write(found: EmbeddedInputs) -> EmbeddingAnswer:
                return encode_openai(
                    found.vectors,
                    request=asked,
                    model=model.name,
                    prompt_tokens=found.tokens,
                    accept=accept,
                    truncated_places=found.truncated,
                )

            async with self._models.leased(name) as model:
                return await self._answered(request, asked, model, asked.input_type or typed or "document", "input", write)

    async def _embed(self, request: Request) -> Response:
        async with self._asked(request, read_tei) as asked:

            def write(found: EmbeddedInputs) -> EmbeddingAnswer:
                return encode_tei(found.vectors, truncated_places=found.truncated)

            return await self._answered(request, asked, self._models.default, asked.input_type or "document", "inputs", write)

    async def _list(self, _request: Request) -> Response:
        return Response(as_json(models_document(self._models.facts())), 200, None, _JSON)

    async def _model(self, request: Request) -> Response:
        return Response(as_json(model_document(request.path_params["name"], self._models.facts())), 200, None, _JSON)

    async def _info(self, _request: Request) -> Response:
        model = self._models.default
        facts = next(facts for facts in self._models.facts() if facts.name == model.name)
        most_tokens = model.loaded.engine.batch_tokens
        document = tei_document(
            facts, version=vectail_version(), max_batch_tokens=most_tokens, max_client_batch_size=MOST_INPUTS, max_concurrent_requests=512
        )
        return Response(as_json(document), 200, None, _JSON)

    def _check(self, request: Request) -> None:
        """Check who asks, before anything of the body is read. Raises HttpError and EmbeddingRefused."""
        headers = request.headers
        check_site(headers.get("sec-fetch-site"), headers.get("origin"), headers.get("host"))
        scheme, _, given = headers.get("authorization", "").partition(" ")
        tokens = [token.encode("utf-8") for token in self._rules.tokens]
        is_known = [
            hmac.compare_digest(given.strip().encode("utf-8"), token) for token in tokens
        ]  # each is compared, so time tells nothing
        if tokens and not (scheme.lower() == "bearer" and any(is_known)):
            raise HttpError(401, "unauthorized", "Send the API key as a bearer token.")
        self._check_stopped()

    def _check_stopped(self) -> None:
        if self._is_stopped:
            raise unavailable("The server is starting or stopping.", retry_after_s=_STOPPING_RETRY_S)

    @asynccontextmanager
    async def _asked(self, request: Request, read: Callable[[bytes], EmbeddingRequest]) -> AsyncIterator[EmbeddingRequest]:
        """Read the request, and hold its bytes in the count of all while it is answered."""
        check_type(request.headers.get("content-type"))
        check_length(request.headers.get("content-length"), self._rules.max_body_bytes)
        with self._bodies.holding() as hold:
            body = await read_body(request.stream(), most_bytes=self._rules.max_body_bytes, most_s=self._rules.body_s, hold=hold)
            yield await _on_a_thread(partial(read, body), is_large=len(body) > _LARGE_BYTES)

    async def _answered(
        self,
        request: Request,
        asked: EmbeddingRequest,
        model: ServedModel,
        input_type: InputType,
        param: str,
        write: Callable[[EmbeddedInputs], EmbeddingAnswer],
    ) -> Response:
        """Embed the inputs of a request and write the answer; what it needs is held in the count of all answers until it is read."""
        rows = len(asked.inputs.lists if isinstance(asked.inputs, TokenLists) else asked.inputs)
        with ExitStack() as stack:
            stack.enter_context(self._answers.holding())(rows * model.dim * _BYTES_A_NUMBER)
            found = await self._embedded(request, asked, model, input_type, param)

            def written() -> EmbeddingAnswer:
                shorter = found.vectors if asked.dimensions is None else cut(found.vectors, asked.dimensions)
                return write(replace(found, vectors=shorter))

            answer = await _on_a_thread(written, is_large=found.vectors.nbytes > _LARGE_BYTES)
            return _PiecedResponse(answer.body, answer.headers, answer.content_type, stack.pop_all().close)

    async def _embedded(
        self, request: Request, asked: EmbeddingRequest, model: ServedModel, input_type: InputType, param: str
    ) -> EmbeddedInputs:
        """Embed the inputs of a request. Raises EmbeddingRefused, and ClientGone."""
        began_s, tally = self._clock(), self._models.tallies[model.name]
        rules = self._models.rules[model.name]
        check_dimensions(asked.dimensions, dim=model.dim, matryoshka=rules.dimensions, allow_cut=rules.allow_cut)
        inputs = await self._inputs(asked, model, param)
        requester = asked.user or _client_of(request)
        if (wait_s := model.wait_s(inputs, requester)) > self._rules.max_wait_s:
            raise too_busy(wait_s - self._rules.max_wait_s / 2)
        answer: asyncio.Future[EmbeddedInputs] = asyncio.get_running_loop().create_future()
        urgency: Urgency = asked.priority
        terms = WorkTerms(
            prefix=model.prefix_of(input_type),
            requester=requester,
            urgency=urgency,
            truncate=asked.truncate,
            deadline_s=math.inf if asked.deadline_ms is None else began_s + asked.deadline_ms / 1000,
            param=param,
        )
        work = EmbeddingWork(inputs, model.dim, terms, partial(_settle, answer))
        self._open.add(answer)
        try:
            with self._lock:
                self._check_stopped()
                model.take(work)
            found = await unless_gone(request.receive, _awaited(answer))
        finally:
            work.hang_up()
            self._open.discard(answer)
        tally.answered(urgency, self._clock() - began_s)
        return found

    async def _inputs(self, asked: EmbeddingRequest, model: ServedModel, param: str) -> Sequence[str] | Sequence[TokenIds]:
        inputs = asked.inputs
        if not isinstance(inputs, TokenLists):
            return inputs
        check = partial(resolved, inputs, own=model.own_ids, openai_tokens=self._rules.openai_tokens, param=param)
        found = await _on_a_thread(check, is_large=sum(map(len, inputs.lists)) * 8 > _LARGE_BYTES)
        return found.lists if isinstance(found, TokenLists) else found


class _PiecedResponse(Response):
    """A body that goes out in pieces, each when the one before is read; `on_end` is called when the last is on its way, or nobody reads."""

    def __init__(self, body: bytes, headers: Mapping[str, str], media_type: str, on_end: Callable[[], object]) -> None:
        super().__init__(body, 200, headers, media_type)
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See Starlette."""
        del scope, receive
        body = memoryview(self.body)
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for end in range(_PIECE_BYTES, len(body) + _PIECE_BYTES, _PIECE_BYTES):
                piece = bytes(body[end - _PIECE_BYTES : end])
                await send({"type": "http.response.body", "body": piece, "more_body": end < len(body)})
        finally:
            self._on_end()


async def _on_a_thread(work: Callable[[], T], *, is_large: bool) -> T:
    """Return what `work` returns; on another thread if it is large."""
    return await run_in_threadpool(work) if is_large else work()


async def _awaited(answer: "asyncio.Future[T]") -> T:
    return await answer


def _settle(answer: "asyncio.Future[EmbeddedInputs]", outcome: EmbeddedInputs | EmbeddingRefused) -> None:
    """Give a request its outcome, from any thread."""

    def settle() -> None:
        if answer.done():
            return
        if isinstance(outcome, EmbeddingRefused):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    with contextlib.suppress(RuntimeError):  # the loop has ended, and the connection with it
        answer.get_loop().call_soon_threadsafe(settle)


def _client_of(request: Request) -> str:
    """Return whose share of the engine a request takes that names no user: its connection's."""
    return "" if request.client is None else f"{request.client.host}:{request.client.port}"


def _route(path: str, endpoint: Answering, method: str) -> Route:
    route = Route(path, endpoint, methods=[method])
    route.methods = {method}
    return route
