"""The engine in another process: right vectors, the right model or none, and patience while it is away."""

import socket

import numpy as np
import pytest

from tests.fakes.engine import FakeEngine
from tests.services.proxy import Proxy
from tests.worker.serving.embeddings.conftest import NewServer, new_server  # noqa: F401 - a fixture
from tests.worker.serving.embeddings.embedding_server import EmbeddingServer
from worker.embedding.engine.engine import EngineAway
from worker.embedding.engine.remote import RemoteEngine
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.golden import Golden
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import TokenIds
from worker.embedding.tokenizer import Tokenizer
from worker.runtime.stage import Abandoned

TEXTS = ["disk full", "", "connection to 10.0.0.1 refused"] * 20


def engine_of(server: EmbeddingServer, url: str = "", token: str = "") -> RemoteEngine:
    model = server.model
    return RemoteEngine(model, space=space_of(model).id, url=url or server.http.listening.url, token=token)


def ids_of(model: PreparedModel) -> list[TokenIds]:
    tokenizer = Tokenizer(model)
    encoded = tokenizer.encode(TEXTS)
    tokenizer.close()
    return [encoded.text(row) for row in range(len(TEXTS))]


def test_each_text_gets_the_vector_that_the_service_s_own_engine_gives_it(new_server: NewServer) -> None:  # noqa: F811
    server = new_server()
    ids = ids_of(server.model)
    engine = engine_of(server)
    found = engine.embed(ids)
    engine.close()
    for row, text in enumerate(ids):
        assert np.allclose(found[row], FakeEngine().embed([text])[0], atol=1e-6)


def test_a_service_without_the_model_s_space_is_refused_by_name(new_server: NewServer) -> None:  # noqa: F811
    server = new_server()
    with pytest.raises(ModelError, match=r"no model of the space 0000.*it has all-MiniLM-L6-v2 \("):
        RemoteEngine(server.model, space="0000", url=server.http.listening.url)


def test_a_service_that_is_not_there_or_wants_another_token_is_one_line(new_server: NewServer) -> None:  # noqa: F811
    server = new_server({"token": "a-secret-of-sixteen"})
    with pytest.raises(ModelError, match="401: Send the API key as a bearer token"):
        engine_of(server)
    engine_of(server, token="a-secret-of-sixteen").close()  # noqa: S106 - of this test
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with pytest.raises(ModelError, match=f"http://127.0.0.1:{port}: .*refused"):
        RemoteEngine(server.model, space="", url=f"http://127.0.0.1:{port}")


def test_a_service_that_goes_away_is_waited_for_and_nothing_is_rejected(new_server: NewServer) -> None:  # noqa: F811
    server = new_server()
    ids = ids_of(server.model)
    with Proxy(server.http.listening.port) as proxy:
        engine, said, pauses = engine_of(server, f"http://127.0.0.1:{proxy.port}"), list[str](), list[float]()
        here = engine.embed(ids)
        proxy.refuse()
        with pytest.raises(EngineAway):
            engine.embed(ids)

        def pause(seconds: float) -> bool:
            pauses.append(seconds)
            if len(pauses) == 3:
                proxy.release()
            return False

        guarded = GuardedEngine(engine, golden_of(ids), new_engine=no_engine, say=said.append, clock=lambda: 0.0, pause=pause)
        outcomes = guarded.embed(ids)
        engine.close()
    assert np.array_equal(np.array(outcomes), here)
    assert pauses == [0.1, 0.2, 0.5]
    assert [line.split(" (")[0] for line in said] == ["the engine is away", "the engine answers again"]
    assert guarded.is_up


def test_a_busy_service_says_when_it_may_be_asked_again(new_server: NewServer) -> None:  # noqa: F811
    server = new_server()
    engine = engine_of(server)
    server.http.stop_intake()
    with pytest.raises(EngineAway, match="503: The server is starting or stopping") as away:
        engine.embed(ids_of(server.model))
    engine.close()
    assert away.value.retry_s == 5


def test_a_service_that_stops_hard_does_not_wait_for_an_engine_that_is_away(new_server: NewServer) -> None:  # noqa: F811
    server = new_server()
    engine = engine_of(server)
    server.http.stop_intake()
    guarded = GuardedEngine(engine, golden_of([]), new_engine=no_engine, say=lambda _line: None, clock=lambda: 0.0, pause=lambda _s: True)
    with pytest.raises(Abandoned):
        guarded.embed(ids_of(server.model))
    engine.close()
    assert not guarded.is_up


def golden_of(ids: list[TokenIds]) -> Golden:
    return Golden(ids=ids, vectors=np.zeros((len(ids), 384), dtype=np.float32))


def no_engine() -> FakeEngine:
    raise AssertionError("an engine that is away is not broken")
