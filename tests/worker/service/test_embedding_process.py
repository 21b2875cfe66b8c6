"""`vectail serve` as a process: what it judges of itself, for Prometheus' alerts."""

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from tests.fakes.engine import FakeEngine
from tests.worker.running import wait_until
from tests.worker.serving.embeddings.embedding_server import WAIT_S, loaded_with
from worker.embedding.model.prepared import PreparedModel
from worker.runtime.listening import Listening, listen
from worker.service.embedding_process import EmbeddingProcess
from worker.settings.settings import Settings


@pytest.fixture
def listening(plain_model: PreparedModel, tmp_path: Path) -> Iterator[Listening]:
    """The port of a process whose only other model cannot be loaded."""
    stop = threading.Event()
    settings = Settings.model_validate({"http": {"port": 0}, "serve": {"model": [{"name": "gone", "folder": str(tmp_path / "gone")}]}})
    listening = listen(settings.http)
    process = EmbeddingProcess(
        settings, loaded_with(plain_model, FakeEngine()), listening, connect_redis=None, say=lambda _line: None, stop=stop
    )
    thread = threading.Thread(target=process.run)
    thread.start()
    yield listening
    stop.set()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert process.crash is None


def asked(listening: Listening, path: str, body: bytes | None = None) -> tuple[int, str]:
    client = http.client.HTTPConnection(listening.host, listening.port, timeout=WAIT_S)
    try:
        client.request("GET" if body is None else "POST", path, body, {"Content-Type": "application/json"})
        answer = client.getresponse()
        return answer.status, answer.read().decode()
    finally:
        client.close()


def held(listening: Listening) -> set[tuple[str, str]]:
    """Return the conditions that hold, with what they are about."""
    _, text = asked(listening, "/metrics")
    found = [sample for family in parsed(text) for sample in family.samples if sample.name == "vectail_condition"]
    assert {"VectailEmbeddingBacklog", "VectailModelFailed"} <= {one.labels["name"] for one in found}
    return {(one.labels["name"], one.labels["about"]) for one in found if one.value}


def test_a_model_that_cannot_be_loaded_is_an_alert_of_vectail_serve(listening: Listening) -> None:
    assert held(listening) == set()
    assert asked(listening, "/v1/embeddings", b'{"model": "gone", "input": "x"}')[0] == 503
    wait_until(lambda: held(listening) == {("VectailModelFailed", "gone")}, "the condition")
