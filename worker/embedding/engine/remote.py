"""The engine of another process, over HTTP: `vectail serve`, or another server with OpenAI's `/v1/embeddings` that takes token ids.

Token ids go out, so the text is decoded, masked and tokenised here and nowhere else; float32 comes back as bytes (from other servers in
base64). The service is found by its embedding space, so that a worker never gets vectors of another model, and golden texts are compared at
the start as with every engine. A service that is away, busy or too slow is the world's fault: `EngineAway`, which is waited for.
"""

import base64
import contextlib
import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
import orjson

from worker.embedding.engine.engine import EngineAway, OutOfMemory, checked_lengths, normalized
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import TokenIds, Vectors

BATCH_TOKENS: Final = 4_096
"""Default budget, where the service says nothing: its own batches are as long as they should be, and it needs something to make them of."""
_CONNECT_S: Final = 5.0
_ANSWER_S: Final = 60.0
_ACCEPT: Final = "application/octet-stream, application/json"
_OK, _TOO_LARGE = 200, 413
_AWAY: Final = frozenset({408, 429, 500, 502, 503, 504})
_SHOWN_CHARACTERS: Final = 200


class RemoteEngine:
    """Implements `Engine`: every vector is of the embedding space that was asked for.

    Thread: one, the engine stage's.
    """

    name = "remote"
    on_cpu = False

    def __init__(self, model: PreparedModel, *, space: str, url: str, token: str = "", batch_tokens: int | None = None) -> None:
        """Find the model with that `space` id at `url` (`http://HOST:PORT`). Raises ModelError: it is away, or has no such model."""
        self.dim = model.dim
        self.max_tokens = model.max_tokens
        self._place = urlsplit(url)
        self._headers = {"Content-Type": "application/json", "Accept": _ACCEPT} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._connection: http.client.HTTPConnection | None = None
        try:
            self._model = self._find(space, model.name)
        except (EngineAway, RuntimeError, ValueError) as error:
            self.close()
            raise ModelError(f"engine.url {url}: {error}") from error
        self.batch_tokens = max(batch_tokens or BATCH_TOKENS, model.max_tokens)

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """See `Engine`. Raises EngineAway as well."""
        checked_lengths(batch, max_tokens=self.max_tokens, batch_tokens=self.batch_tokens)
        if not len(batch):
            return np.empty((0, self.dim), dtype=np.float32)
        asked = {"model": self._model, "input": [ids.tolist() for ids in batch], "encoding_format": "base64"}
        status, headers, body = self._ask("POST", "/v1/embeddings", orjson.dumps(asked))
        if status == _TOO_LARGE:
            raise OutOfMemory(_reason(body))
        if status != _OK:
            raise RuntimeError(f"the embedding service refuses the batch ({status}): {_reason(body)}")
        return normalized(_vectors(headers, body, len(batch), self.dim))

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _find(self, space: str, name: str) -> str:
        """Return what the service calls the model: of vectail's by its space, of others' by its name."""
        status, _, body = self._ask("GET", "/v1/models", None)
        if status != _OK:
            raise RuntimeError(f"{status}: {_reason(body)}")
        models = orjson.loads(body)["data"]
        for model in models:
            if model.get("vectail", {}).get("space") == space or ("vectail" not in model and model["id"] == name):
                return str(model["id"])
        there = ", ".join(f"{model['id']} ({model.get('vectail', {}).get('space', 'unknown')})" for model in models)
        raise ValueError(f"it has no model of the space {space} of {name}; it has {there or 'none'}")

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of an answer. Raises EngineAway."""
        try:
            connection = self._connected()
            connection.request(method, f"{self._place.path.rstrip('/')}{path}", body, self._headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise EngineAway(str(error) or type(error).__name__) from None
        if response.status in _AWAY:
            raise EngineAway(f"{response.status}: {_reason(answer)}", retry_s=_seconds(response.getheader("Retry-After")))
        return response.status, {name.lower(): value for name, value in response.getheaders()}, answer

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._place.scheme == "https" else http.client.HTTPConnection
            self._connection = kind(self._place.hostname or "", self._place.port, timeout=_CONNECT_S)
            self._connection.connect()
            self._connection.sock.settimeout(_ANSWER_S)
        return self._connection


def _vectors(headers: Mapping[str, str], body: bytes, texts: int, dim: int) -> Vectors:
    """Return float32[texts, dim]. Raises RuntimeError for an answer of another shape."""
    try:
        if headers.get("content-type") == "application/octet-stream":
            found = np.frombuffer(body, dtype="<f4")
        else:
            rows = sorted(orjson.loads(body)["data"], key=lambda row: row["index"])
            found = np.frombuffer(b"".join(base64.b64decode(row["embedding"]) for row in rows), dtype="<f4")
        return found.reshape(texts, dim).astype(np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise RuntimeError(f"the embedding service's answer is not {texts} vectors of {dim} components: {error}") from error


def _reason(body: bytes) -> str:
    """Return what an error's body says, in one line."""
    shown: Any = body.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        shown = json.loads(body)["error"]["message"]
    return " ".join(str(shown).split())[:_SHOWN_CHARACTERS] or "no reason given"


def _seconds(retry_after: str | None) -> float:
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() else 0.0
