"""What clients sent when it was recorded (`tests/golden/make/embedding_clients.py`) is answered as each of them reads it.

The vectors are those of the texts, whatever form they came in. `docs/serving.md` has the code that sent each request.
"""

import base64
import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.worker.serving.embeddings.conftest import NewServer
from tests.worker.serving.embeddings.embedding_server import WAIT_S, Answered, EmbeddingServer, received
from tests.worker.serving.embeddings.test_embedding_api import right_vectors
from worker.embedding.engine.matryoshka import truncated
from worker.embedding.model.vectors import Vectors
from worker.serving.embeddings.openai_tokens import OpenAITokens

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "tests" / "golden" / "clients"
MODEL = "all-MiniLM-L6-v2"
ANY_CUT = {"model": [{"name": MODEL, "allow_cut": True}]}
LANGCHAIN_TEXTS = ["disk sda1 is full", "capteur à l'étage 語"]


class Recorded(NamedTuple):
    """A request, and how its client reads the answer."""

    client: str
    version: str
    snippet: str
    """What a user writes; empty for a variant that a setting of the same code sends."""
    takes: str
    method: str
    path: str
    headers: dict[str, str]
    body: str

    @property
    def inputs(self) -> list[Any]:
        """What is to be embedded."""
        asked = json.loads(self.body)
        inputs = asked["input"] if "input" in asked else asked["inputs"]
        return [inputs] if isinstance(inputs, str) else inputs

    @property
    def has_ids(self) -> bool:
        """Whether it has the token ids of OpenAI's tokenizer instead of texts."""
        return self.method == "POST" and not isinstance(self.inputs[0], str)

    def sent_to(self, server: EmbeddingServer) -> Answered:
        """Send it as it was recorded."""
        client = http.client.HTTPConnection(server.http.listening.host, server.http.listening.port, timeout=WAIT_S)
        try:
            client.request(self.method, self.path, self.body.encode() or None, self.headers)
            return received(client)
        finally:
            client.close()


def recorded() -> list[Recorded]:
    files = sorted(FOLDER.glob("*.jsonl"))
    return [Recorded(**json.loads(line)) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def param(one: Recorded) -> Any:  # noqa: ANN401 - pytest's own type is private
    return pytest.param(one, id=f"{one.client} {one.method} {one.path} {one.body[-50:]}")


REQUESTS = recorded()
WITH_TEXTS = [param(one) for one in REQUESTS if one.method == "POST" and not one.has_ids]
(WITH_IDS,) = [one for one in REQUESTS if one.has_ids]


def base64_rows(answer: Answered) -> Vectors:
    """As openai-python, which reads them into numpy's float32."""
    assert all(isinstance(one["embedding"], str) for one in answer.document["data"])
    return np.stack([np.frombuffer(base64.b64decode(one["embedding"]), dtype="float32") for one in answer.document["data"]])


def float_rows(answer: Answered) -> Vectors:
    """As Milvus' OpenAI provider and pgai: numbers, in the order of `index`."""
    rows = sorted(answer.document["data"], key=lambda one: one["index"])
    assert all(isinstance(number, float) for one in rows for number in one["embedding"])
    return np.array([one["embedding"] for one in rows], dtype=np.float32)


def plain_rows(answer: Answered) -> Vectors:
    """As TEI's clients: a list of lists and nothing around it."""
    assert isinstance(answer.document, list)
    return np.array(answer.document, dtype=np.float32)


READERS: dict[str, Callable[[Answered], Vectors]] = {"base64": base64_rows, "float": float_rows, "lists": plain_rows}


def test_there_is_a_request_of_every_client_that_the_docs_name() -> None:
    assert {one.client for one in REQUESTS} >= {
        "openai",
        "langchain-openai",
        "llama-index-embeddings-openai-like",
        "llama-index-embeddings-text-embeddings-inference",
        "haystack-ai",
        "huggingface-hub",
        "pgai",
        "milvus",
    }


@pytest.mark.parametrize("one", WITH_TEXTS)
def test_a_client_reads_the_vectors_of_the_texts_that_it_sent(new_server: NewServer, one: Recorded) -> None:
    server = new_server(ANY_CUT)
    answer = one.sent_to(server)
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Content-Encoding"] is None
    form, _, also = one.takes.partition(" ")
    right = right_vectors(server, one.inputs)
    dimensions = json.loads(one.body).get("dimensions", right.shape[1])
    wanted = right if dimensions == right.shape[1] else truncated(right, dimensions)
    assert np.allclose(READERS[form](answer), wanted, atol=1e-7)
    if form != "lists":
        check_openai_fields(answer, one)
    if also:
        assert answer.document["usage"]["prompt_tokens"] >= 2 * len(one.inputs)


def check_openai_fields(answer: Answered, one: Recorded) -> None:
    """The fields that pydantic's models and Go's structs have; openai-python's answer has an id of its own."""
    document = answer.document
    assert (document["object"], document["model"]) == ("list", MODEL)
    assert [row["index"] for row in document["data"]] == list(range(len(one.inputs)))
    assert {row["object"] for row in document["data"]} == {"embedding"}
    assert set(document["usage"]) == {"prompt_tokens", "total_tokens"}
    assert all(isinstance(count, int) for count in document["usage"].values())
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("one", [param(one) for one in REQUESTS if one.method == "GET"])
def test_a_client_finds_the_model(server: EmbeddingServer, one: Recorded) -> None:
    document = one.sent_to(server).document
    models = document["data"] if one.path == "/v1/models" else [document]
    assert [(model["id"], model["object"]) for model in models] == [(MODEL, "model")]
    assert all(isinstance(model["created"], int) and isinstance(model["owned_by"], str) for model in models)


def test_langchain_s_defaults_are_refused_with_the_setting_that_helps(server: EmbeddingServer) -> None:
    refused = WITH_IDS.sent_to(server)
    assert (refused.status, refused.error["code"]) == (400, "token_ids_of_another_tokenizer")
    assert "check_embedding_ctx_length=False" in refused.error["message"]
    assert server.engine_texts == 0


def test_langchain_s_defaults_get_the_vectors_of_their_texts_with_openai_s_ranks(
    new_server: NewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = {int(rank): base64.b64decode(token) for rank, token in json.loads((FOLDER / "cl100k_tokens.json").read_text()).items()}
    tokens = [ranks.get(rank, b"?") for rank in range(max(ranks) + 1)]
    monkeypatch.setattr("worker.service.embedding_service.read_openai_tokens", lambda _file: OpenAITokens(tokens))
    server = new_server({"openai_tokens": "cl100k_base.tiktoken"})
    answer = WITH_IDS.sent_to(server)
    assert answer.status == 200, answer.body
    assert np.array_equal(base64_rows(answer), right_vectors(server, LANGCHAIN_TEXTS))


def test_the_docs_show_the_code_that_sent_each_request() -> None:
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    assert [one.snippet for one in REQUESTS if one.snippet not in page] == []
