"""The embedding API over HTTP: what is answered, what is refused, and that equal texts are computed once."""

import base64
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.fakes.engine import FakeEngine
from tests.worker.running import wait_until
from tests.worker.serving.embeddings.conftest import NewServer
from tests.worker.serving.embeddings.embedding_server import EmbeddingServer, received
from worker.embedding.loaded import space_of
from worker.embedding.model.space import Digester
from worker.embedding.model.vectors import Vectors
from worker.embedding.tokenizer import Tokenizer
from worker.serving.embeddings import embedding_api
from worker.serving.embeddings.served_tally import UNKNOWN_MODEL
from worker.watching.metrics import METRICS, OF_EMBEDDING_SERVICE


def right_vectors(server: EmbeddingServer, texts: list[str]) -> Vectors:
    engine = FakeEngine()
    tokenizer = Tokenizer(server.model)
    encoded = tokenizer.encode(texts)
    tokenizer.close()
    return np.concatenate([engine.embed([encoded.text(row)]) for row in range(len(texts))])


def test_each_text_gets_its_own_vector_and_the_tokens_are_those_of_the_model(server: EmbeddingServer) -> None:
    texts = ["disk full on /dev/sda1", "", "connection refused"] * 100
    answer = server.embed(texts)
    assert np.array_equal(answer.vectors, right_vectors(server, texts))
    tokenizer = Tokenizer(server.model)
    tokens = int(tokenizer.count(texts).sum())
    tokenizer.close()
    assert answer.document["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    assert answer.document["model"] == server.model.name
    assert answer.headers["x-request-id"].startswith("req_")


def test_base64_is_what_openai_clients_read(server: EmbeddingServer) -> None:
    answer = server.embed("disk full", encoding_format="base64")
    vector = np.frombuffer(base64.b64decode(answer.document["data"][0]["embedding"]), dtype="<f4")
    assert np.array_equal(vector[None], right_vectors(server, ["disk full"]))


def test_own_token_ids_give_the_vector_of_their_text_and_others_are_refused(server: EmbeddingServer) -> None:
    tokenizer = Tokenizer(server.model)
    ids = tokenizer.encode(["disk full"]).text(0).tolist()
    tokenizer.close()
    assert np.array_equal(server.embed([ids]).vectors, right_vectors(server, ["disk full"]))
    refused = server.embed([[10, 44, 200]])
    assert refused.status == 400
    assert refused.error["code"] == "token_ids_of_another_tokenizer"
    assert "check_embedding_ctx_length=False" in refused.error["message"]


def test_the_vector_of_a_text_s_beginning_is_never_kept_as_that_of_the_text(server: EmbeddingServer) -> None:
    """Workers that take longer texts of the same model may share the cache."""
    long = "disk " * 400
    cut = server.embed(long, truncate="end")
    assert cut.headers["x-vectail-truncated"] == "0"
    assert server.embed(long).status == 400
    again = server.embed([long], truncate="end")
    assert np.array_equal(again.vectors, cut.vectors)
    assert server.engine_texts == 1
    of_the_whole = Digester(space_of(server.model), "").digest(long)
    assert server.service.memory.get_many([of_the_whole]) == {}


def test_a_text_that_is_too_long_is_refused_with_the_sentence_that_clients_know(server: EmbeddingServer) -> None:
    refused = server.embed(["short"] * 300 + ["disk " * 400])
    assert refused.status == 400
    assert refused.error["code"] == "context_length_exceeded"
    assert refused.error["param"] is not None
    assert "This model's maximum context length is 256 tokens" in refused.error["message"]
    assert "input[300]" in refused.error["message"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "nope", "input": "a"}, 404, "model_not_found"),
        ({"model": "all-MiniLM-L6-v2", "input": []}, 400, "empty_input"),
        ({"model": "all-MiniLM-L6-v2", "input": "a", "dimensions": 128}, 400, "unsupported_dimensions"),
        ({"model": "all-MiniLM-L6-v2", "input": "a", "deadline_ms": 0}, 400, None),
        (b"{", 400, None),
    ],
)
def test_what_is_refused_says_why_in_openai_s_shape(server: EmbeddingServer, body: object, status: int, code: str | None) -> None:
    refused = server.ask("/v1/embeddings", body)
    assert (refused.status, refused.error["code"]) == (status, code)
    assert refused.headers["x-request-id"]
    assert server.engine_texts == 0


def test_every_path_below_v1_refuses_in_openai_s_shape_and_embed_in_tei_s(server: EmbeddingServer) -> None:
    assert server.ask("/v1/nothing").error["code"] == "unknown_url"
    assert server.ask("/v1/embeddings", method="DELETE").status == 405
    assert server.ask("/v1/models/nope").error["code"] == "model_not_found"
    assert server.ask("/v1/embeddings", b"{}", Content_Type="text/plain").status == 415
    assert set(server.ask("/embed", {"inputs": []}).document) == {"error", "error_type"}
    assert server.ask("/api/search", {}).status == 404


def test_without_a_token_any_key_is_accepted_and_with_one_only_that(new_server: NewServer) -> None:
    open_to_all = new_server()
    assert open_to_all.ask("/v1/models", Authorization="Bearer sk-anything").status == 200
    guarded = new_server({"token": "a-secret-of-sixteen"})
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic a-secret-of-sixteen"}):
        refused = guarded.ask("/v1/models", **headers)
        assert (refused.status, refused.error["code"]) == (401, "invalid_api_key")
    assert guarded.ask("/v1/models", Authorization="Bearer a-secret-of-sixteen").status == 200


def test_a_thousand_equal_texts_at_once_cost_one_text_in_the_engine(server: EmbeddingServer) -> None:
    with ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(lambda _number: server.embed(["the same text"] * 10), range(100)))
    expected = right_vectors(server, ["the same text"])[0]
    assert all((answer.vectors == expected).all() for answer in answers)
    assert server.engine_texts == 1


def test_one_text_does_not_wait_behind_two_thousand_of_another(server: EmbeddingServer) -> None:
    """It is in the engine's next batch, whatever waits."""
    first = server.held()
    many = server.send("/v1/embeddings", {"model": server.model.name, "input": [f"line {number} of many" for number in range(2_000)]})
    server.until_waiting(2_000)
    one = server.send("/v1/embeddings", {"model": server.model.name, "input": "one user's text"})
    server.until_waiting(2_001)
    server.release()
    assert received(first).status == received(one).status == received(many).status == 200
    tokenizer = Tokenizer(server.model)
    tokens = len(tokenizer.encode(["one user's text"]).ids)
    tokenizer.close()
    assert tokens in server.engine.calls[1]
    for client in (first, many, one):
        client.close()


def test_a_client_that_hangs_up_costs_the_engine_nothing_more(server: EmbeddingServer) -> None:
    first = server.held()
    gone = server.send("/v1/embeddings", {"model": server.model.name, "input": [f"text {number}" for number in range(500)]})
    server.until_waiting(500)
    gone.close()
    server.until_open(1)
    server.release()
    assert received(first).status == 200
    assert server.embed("after them").status == 200
    assert server.engine_texts == 2
    first.close()


def test_a_deadline_that_passes_is_a_504_and_nothing_is_computed(server: EmbeddingServer) -> None:
    first = server.held()
    late = server.send("/v1/embeddings", {"model": server.model.name, "input": "second", "deadline_ms": 60_000})
    server.until_waiting(1)
    server.clock.jump()
    server.release()
    refused = received(late)
    assert (refused.status, refused.error["code"]) == (504, "timeout")
    assert received(first).status == 200
    assert server.engine_texts == 1
    for client in (first, late):
        client.close()


@pytest.mark.parametrize("readings", range(12))
def test_a_request_is_answered_wherever_its_deadline_passes(new_server: NewServer, readings: int) -> None:
    server = new_server({})
    server.clock.jump(after_readings=readings)
    answered = server.embed("a text", deadline_ms=60_000)
    assert answered.status == 200 or (answered.status, answered.error["code"]) == (504, "timeout")


def test_more_work_than_may_wait_is_a_429_that_says_when_to_come_back(new_server: NewServer) -> None:
    server = new_server({"max_wait_s": 0.001})
    assert server.embed("the pace is known now").status == 200
    server.opened.embedder.pace.observe(100, 10.0)
    first = server.held()
    waiting = server.send("/v1/embeddings", {"model": server.model.name, "input": "second"})
    server.until_waiting(1)
    refused = server.embed("third")
    assert (refused.status, refused.error["type"]) == (429, "rate_limit_error")
    assert int(refused.headers["Retry-After"]) >= 1
    server.release()
    assert received(first).status == received(waiting).status == 200
    for client in (first, waiting):
        client.close()


def test_answers_that_nobody_reads_are_bounded_and_cost_others_nothing(new_server: NewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_api, "_MOST_ANSWERS_BYTES", 40_000_000)  # three that are as large as can be
    server = new_server()
    texts = ["disk full", "connection refused"] * 1_024
    tallies = server.service.tallies
    slow = server.send("/v1/embeddings", {"model": server.model.name, "input": texts})
    wait_until(lambda: tallies[server.model.name].requests[200] == 1, "its answer")
    deaf = [server.send("/v1/embeddings", {"model": server.model.name, "input": texts}) for _ in range(3)]
    wait_until(lambda: tallies[server.model.name].requests[200] == 3, "two more answers")
    wait_until(lambda: tallies[UNKNOWN_MODEL].requests[429] == 1, "a fourth one that is refused")
    assert server.embed(texts).status == 429
    assert np.array_equal(server.embed("disk full").vectors, right_vectors(server, ["disk full"]))
    for client in deaf:
        client.close()
    wait_until(lambda: server.embed(texts).status == 200, "the places of those that have gone")
    assert np.array_equal(received(slow).vectors, right_vectors(server, texts))
    slow.close()


def test_whoever_waits_when_the_service_ends_is_answered(server: EmbeddingServer) -> None:
    first = server.held()
    server.http.stop_intake()
    assert server.embed("too late").status == 503
    server.release()
    assert received(first).status == 200
    first.close()


def test_a_loaded_model_beside_the_default_answers_by_name_and_alias(new_server: NewServer) -> None:
    other = "all-MiniLM-L6-v2-logs"
    server = new_server({"model": [{"name": other, "aliases": ["text-embedding-3-small"]}]}, engine={"name": "llama"})
    states = {one["id"]: one["vectail"]["state"] for one in server.ask("/v1/models").document["data"]}
    assert states == {server.model.name: "ready", other: "absent"}
    by_name = server.ask("/v1/embeddings", {"model": other, "input": "disk full"})
    by_alias = server.ask("/v1/embeddings", {"model": "text-embedding-3-small", "input": "disk full"})
    assert np.array_equal(by_name.vectors, by_alias.vectors)
    assert not np.array_equal(by_name.vectors, server.embed("disk full").vectors)
    assert server.ask(f"/v1/models/{other}").document["vectail"]["state"] == "ready"
    assert {sample.metric.name for sample in server.service.samples(server.opened.served)} == {
        metric.name for metric in METRICS if metric.name.startswith(OF_EMBEDDING_SERVICE)
    }


def test_tei_s_paths_answer_with_the_default_model(server: EmbeddingServer) -> None:
    vectors = np.array(server.ask("/embed", {"inputs": ["disk full", ""]}).document, dtype=np.float32)
    assert np.array_equal(vectors, right_vectors(server, ["disk full", ""]))
    assert server.ask("/info").document["model_id"] == server.model.name


def test_a_small_request_is_taken_however_much_another_client_has_waiting_and_a_second_large_one_is_not(server: EmbeddingServer) -> None:
    """What counts is the work before it in the fair order, and not all that waits."""
    model = server.model.name
    large = {"model": model, "input": [f"line {number} of many" for number in range(2_000)]}
    assert server.embed("the pace is known now").status == 200
    server.opened.embedder.pace.observe(1_000, 10.0)
    first = server.held()
    many = server.send("/v1/embeddings", large)
    server.until_waiting(2_000)
    assert server.ask("/v1/embeddings", large).status == 429
    one = server.send("/v1/embeddings", {"model": model, "input": "one user's text"})
    server.until_waiting(2_001)
    server.release()
    assert [received(client).status for client in (first, many, one)] == [200, 200, 200]
    for client in (first, many, one):
        client.close()
