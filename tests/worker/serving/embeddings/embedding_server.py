"""The embedding service on a port of its own, with a real tokenizer and an engine whose vectors are hashes of token ids."""

import http.client
import json
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tests.fakes.engine import FakeEngine
from tests.worker.running import wait_until
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.loaded import LoadedModel, space_of
from worker.embedding.model.golden import load_golden
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import Vectors
from worker.runtime.listening import listen
from worker.runtime.surroundings import Surroundings
from worker.service.embedding_service import EmbeddingService
from worker.serving.server import HttpServer
from worker.serving.worker_view import WorkerView
from worker.settings.settings import Settings

WAIT_S = 20.0
_JUMP_S = 3600.0


class Answered(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The error object, of OpenAI's shape."""
        error: dict[str, Any] = self.document["error"]
        assert self.headers["Content-Type"] == "application/json"
        assert set(error) == {"message", "type", "param", "code"}
        assert error["message"]
        return error

    @property
    def vectors(self) -> Vectors:
        """float32[n, dim]."""
        assert self.status == 200, self.body
        return np.array([one["embedding"] for one in self.document["data"]], dtype=np.float32)


def loaded_with(model: PreparedModel, engine: FakeEngine) -> LoadedModel:
    """Return the model as if it were loaded, with this engine."""
    return LoadedModel(
        prepared=model, space=space_of(model), engine=engine, golden=load_golden(model.golden), new_engine=lambda: engine
    )  # fmt: skip


class JumpingClock:
    """Goes as the monotonic clock does, and once an hour ahead, after some more readings.

    Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings_left: float = float("inf")

    def jump(self, *, after_readings: int = 0) -> None:
        """Go ahead once it has been read so often."""
        with self._lock:
            self._readings_left = after_readings

    def __call__(self) -> float:
        with self._lock:
            self._readings_left -= 1
            return time.monotonic() + (_JUMP_S if self._readings_left < 0 else 0.0)


class EmbeddingServer:
    """Runs until `close`; what crashes fails the test that closes it.

    Thread: the test's.
    """

    def __init__(
        self, model: PreparedModel, serve: Mapping[str, Any] | None = None, *, redis: RedisCache | None = None, **tables: Mapping[str, Any]
    ) -> None:
        settings = Settings.model_validate({"serve": serve or {}, "http": {"port": 0}, **tables})
        self.crashes: list[tuple[str, Exception]] = []
        self.said: list[str] = []
        self.engine = FakeEngine()
        self.clock = JumpingClock()
        self.model = model
        self.service = EmbeddingService(
            settings,
            model.name,
            redis=redis,
            surroundings=Surroundings(say=self.said.append, clock=self.clock),
            on_crash=lambda stage, error: self.crashes.append((stage, error)),
        )
        self.opened = self.service.open_default(loaded_with(model, self.engine))
        self.service.start()
        self.api = self.service.api(self.opened.served)
        self.http = HttpServer(
            listen(settings.http),
            settings.http,
            WorkerView(take_request=lambda _request: False, embeddings=self.api, has_index=False),
            say=self.said.append,
            on_crash=lambda stage, error: self.crashes.append((stage, error)),
        )
        self.http.start()

    def send(self, path: str, body: Any = None, *, method: str = "", **headers: str) -> http.client.HTTPConnection:  # noqa: ANN401 - JSON, or bytes
        """Send a request and do not wait; `headers` with `_` for their `-`."""
        client = http.client.HTTPConnection(self.http.listening.host, self.http.listening.port, timeout=WAIT_S)
        named = {"Content-Type": "application/json"} | {name.replace("_", "-"): content for name, content in headers.items()}
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        client.request(method or ("GET" if body is None else "POST"), path, sent, named)
        return client

    def ask(self, path: str, body: Any = None, *, method: str = "", **headers: str) -> Answered:  # noqa: ANN401 - as send
        """Send a request and wait for the answer."""
        client = self.send(path, body, method=method, **headers)
        try:
            return received(client)
        finally:
            client.close()

    def held(self) -> http.client.HTTPConnection:
        """Hold the engine in the middle of a request of one text, until its `gate` is set; returns that request."""
        self.engine.gate = threading.Event()
        self.engine.entered.clear()
        first = self.send("/v1/embeddings", {"model": self.model.name, "input": "first"})
        assert self.engine.entered.wait(WAIT_S)
        return first

    def release(self) -> None:
        """Let the engine go on."""
        assert self.engine.gate is not None
        self.engine.gate.set()

    def embed(self, inputs: Any, **fields: Any) -> Answered:  # noqa: ANN401 - JSON
        """Ask OpenAI's path for vectors of the default model."""
        return self.ask("/v1/embeddings", {"model": self.model.name, "input": inputs, **fields})

    @property
    def engine_texts(self) -> int:
        """How many texts the engine has computed."""
        return sum(map(len, self.engine.calls))

    def until_waiting(self, texts: int) -> None:
        """Wait until so many texts wait for the engine, beside those that it has."""
        wait_until(lambda: len(self.opened.embedder) >= texts, "texts to wait")

    def until_open(self, requests: int) -> None:
        """Wait until so many requests wait for their vectors."""
        wait_until(lambda: self.api.open_requests == requests, "requests to be open")

    def close(self) -> None:
        """End everything."""
        if self.engine.gate is not None:
            self.engine.gate.set()
        self.http.stop_intake()
        self.opened.close(WAIT_S)
        self.service.close(WAIT_S)
        self.http.close(WAIT_S)
        assert self.crashes == []


def received(client: http.client.HTTPConnection) -> Answered:
    """Wait for the answer."""
    response = client.getresponse()
    return Answered(response.status, response.headers, response.read())
