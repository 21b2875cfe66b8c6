"""What is told of the embedding service's models: metrics, and the figures of `/api/status`."""

from pathlib import Path

from tests.worker.running import wait_until
from tests.worker.serving.embeddings.conftest import NewServer
from tests.worker.serving.embeddings.embedding_server import EmbeddingServer, received
from worker.asking.worker_answers import ServedModelJson
from worker.runtime.histogram import HistogramSnapshot

OTHER = "all-MiniLM-L6-v2-logs"


def values(server: EmbeddingServer) -> dict[tuple[str, ...], float]:
    """Return the metrics that are numbers, by name and labels."""
    samples = server.service.samples(server.opened.served)
    return {(one.metric.name, *one.labels): one.value for one in samples if not isinstance(one.value, HistogramSnapshot)}


def figures(server: EmbeddingServer, name: str) -> ServedModelJson:
    (found,) = (one for one in server.service.figures(server.opened.served) if one["name"] == name)
    return found


def test_what_waits_for_a_model_of_the_pool_is_told_as_that_of_the_default_one_is(new_server: NewServer) -> None:
    server = new_server({"model": [{"name": OTHER}], "max_wait_s": 100}, engine={"name": "llama"})
    assert values(server)["vectail_serve_max_wait_seconds",] == 100
    assert figures(server, OTHER) == {"name": OTHER, "state": "absent", "bytes": 0, "requests": 0, "backlog_s": 0.0, "error": ""}
    assert server.embed("the pace is known now", model=OTHER).status == 200
    loaded = figures(server, OTHER)
    assert (loaded["state"], loaded["requests"], loaded["backlog_s"]) == ("ready", 1, 0.0)
    assert (loaded["bytes"] or 0) > 10_000_000
    with server.service.slot:  # while another model computes
        many = server.send("/v1/embeddings", {"model": OTHER, "input": [f"line {number} of many" for number in range(600)]})
        wait_until(lambda: values(server)["vectail_serve_backlog_seconds", OTHER] > 0, "the backlog")
        assert figures(server, OTHER)["backlog_s"] > 0
        assert values(server)["vectail_serve_backlog_seconds", server.model.name] == 0
    assert received(many).status == 200
    many.close()


def test_a_model_that_cannot_be_loaded_says_why_and_the_default_one_goes_on(new_server: NewServer, tmp_path: Path) -> None:
    server = new_server({"model": [{"name": "gone", "folder": str(tmp_path / "gone")}]})
    assert server.embed("x", model="gone").status == 503
    failed = figures(server, "gone")
    assert (failed["state"], failed["requests"], failed["bytes"]) == ("failed", 0, 0)
    assert failed["error"].endswith("there is no such folder")
    assert server.embed("x").status == 200
    found = values(server)
    assert (found["vectail_model_loads_total", "gone", "failed"], found["vectail_model_state", "gone", "failed"]) == (1, 1)
    assert figures(server, server.model.name) == {
        "name": server.model.name, "state": "ready", "bytes": None, "requests": 1, "backlog_s": 0.0, "error": ""
    }  # fmt: skip
