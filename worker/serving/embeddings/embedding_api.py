"""The embedding API over HTTP: OpenAI's `/v1/embeddings` and `/v1/models`, TEI's `/embed` and `/info`. Here only Starlette is known.

Every answer has an `x-request-id`, and every refusal the shape that the clients of its path read. A request is read and checked on the
event loop if it is small and on another thread if it is large, so that one with 2,048 texts holds nobody up.
"""

import asyncio
import contextlib
import hmac
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from worker.asking.refusals import error_document  # noqa: F401
from worker.embedding.batcher import Urgency
from worker.runtime.process import vectail_version
from worker.serving.embeddings.embedding_answer import EmbeddingAnswer, check_dimensions, cut, encode_openai, encode_tei
from worker.serving.embeddings.embedding_errors import EmbeddingRefused, refusal_of, too_busy, unavailable
from worker.serving.embeddings.embedding_models import EmbeddingModels
from worker.serving.embeddings.embedding_request import MOST_INPUTS, EmbeddingRequest, named, read_openai, read_tei
from worker.serving.embeddings.embedding_work import EmbeddedInputs, EmbeddingWork
from worker.serving.embeddings.models_document import model_document, models_document, tei_document
from worker.serving.embeddings.openai_tokens import OpenAITokens
from worker.serving.embeddings.served_model import ServedModel
from worker.serving.embeddings.token_lists import resolved
from worker.serving.pending_queries import unless_gone
from worker.serving.request_body import read_body
from worker.serving.request_checks import check_length, check_site, check_type
from worker.serving.responses import HttpError, as_json

_JSON: Final = "application/json"
_LARGE_BYTES: Final = 64 * 1024
"""Of a body that is read on another thread."""
_LARGE_VECTORS: Final = 64
"""Of an answer that is written on another thread."""
_BODIES: Final = 8
"""Bodies of the largest size that may be in memory at once."""
_STOPPING_RETRY_S: Final = 5.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRules:
    """What a request must satisfy."""

    tokens: tuple[str, ...]
    """Each opens the API; without any it is open, and whatever a client sends as a token is accepted."""
    max_body_bytes: int
    body_s: float
    max_wait_s: float
    """Most seconds of work before a request."""
    openai_tokens: OpenAITokens | None


class EmbeddingApi:
    """Every request is answered once, in the shape of its path.

    Thread: the event loop; `stop` from any.
    """

    def __init__(self, models: EmbeddingModels, rules: EmbeddingRules, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._models = models
        self._rules = rules
        self._clock = clock
        self._body_bytes = 0
        """Of all requests in work."""
        self._open: set[asyncio.Future[EmbeddedInputs]] = set()
        self._is_stopped = False

    def routes(self) -> Iterable[Route]:
        """Return the routes."""
        yield _route("/v1/embeddings", self._answering(self._embeddings, EmbeddingRefused.openai_body), "POST")
        yield _route("/v1/models", self._answering(self._list, EmbeddingRefused.openai_body), "GET")
        yield _route("/v1/models/{name:path}", self._answering(self._model, EmbeddingRefused.openai_body), "GET")
        yield _route("/embed", self._answering(self._tei, EmbeddingRefused.tei_body), "POST")
        yield _route("/info", self._answering(self._info, EmbeddingRefused.tei_body), "GET")

    def stop(self) -> None:
        """Take no more requests; those that are open may still be answered."""
        self._is_stopped = True

    def give_up(self) -> None:
        """Refuse whatever is open: the steps behind have ended."""
        self.stop()
        for answer in list(self._open):
            with contextlib.suppress(RuntimeError):  # the loop has ended
                answer.get_loop().call_soon_threadsafe(_settle, answer, _stopping())

    def _answering(self, answer: Callable[[Request], Awaitable[Response]], body_of: Callable[[EmbeddingRefused], bytes]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                self._check(request)
                response = await answer(request)
            except HttpError as error:
                refused = refusal_of(error)
                response = Response(body_of(refused), refused.status, {**error.headers, **refused.headers()}, _JSON)
            except EmbeddingRefused as refused:
                response = Response(body_of(refused), refused.status, refused.headers(), _JSON)
            response.headers["x-request-id"] = f"req_{secrets.token_hex(12)}"
            return response

        return endpoint

    async def _embeddings(self, request: Request) -> Response:
        async with self._read(request, read_openai) as asked:
            name, typed = named(asked.model, self._models.known)
            input_type = asked.input_type or typed or "document"
            accept = request.headers.get("accept", "")
            async with self._models.leased(name) as model:
                found = await self._embedded(request, asked, model, input_type=input_type, param="input")
            write = partial(encode_openai, request=asked, model=model.name, prompt_tokens=found.tokens, accept=accept, truncated_places=found.truncated)
            return await self._written(model, asked, found, write)

    async def _tei(self, request: Request) -> Response:
        async with self._read(request, read_tei) as asked:
            model = self._models.default
            found = await self._embedded(request, asked, model, input_type=asked.input_type or "document", param="inputs")
            return await self._written(model, asked, found, partial(encode_tei, truncated_places=found.truncated))

    async def _list(self, _request: Request) -> Response:
        return Response(as_json(models_document(self._models.facts())), 200, None, _JSON)

    async def _model(self, request: Request) -> Response:
        return Response(as_json(model_document(request.path_params["name"], self._models.facts())), 200, None, _JSON)

    async def _info(self, _request: Request) -> Response:
        model = self._models.default
        facts = next(facts for facts in self._models.facts() if facts.name == model.name)
        document = tei_document(
            facts,
            version=vectail_version(),
            max_batch_tokens=model.loaded.engine.batch_tokens,
            max_client_batch_size=MOST_INPUTS,
            max_concurrent_requests=MOST_INPUTS,
        )
        return Response(as_json(document), 200, None, _JSON)
