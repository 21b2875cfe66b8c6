"""`/api/doctor` of a running service: it looks from inside, and an index that is away is not the engine's fault."""

import http.client
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sinks.milvus.milvus_settings import MilvusSettings
from tests.services.ports import free_port
from tests.worker.running import World, lines_of, wait_until
from worker.runtime.listening import Listening, listen
from worker.service.doctor_document import doctor_document
from worker.service.service import Service
from worker.service.suggestions_document import OfferedMasks
from worker.settings.serve_tables import ServedModelTable, ServeTable
from worker.settings.service_tables import HttpTable


def checks_of(service: Service, **parameters: str) -> dict[tuple[str, str], Mapping[str, Any]]:
    take_request = take_request_of(service)
    offered = OfferedMasks(service.settings, take_request)
    document: Any = doctor_document(service, take_request, partial(offered.document, {}))(parameters)
    return {(one["group"], one["name"]): one for one in document["checks"]}


def take_request_of(service: Service) -> Callable[..., bool]:
    def take_request(request: Any) -> bool:  # noqa: ANN401 - a QueryRequest
        service.pipeline.querying.take_request(request)
        return True

    return take_request


def test_a_worker_asks_the_engine_and_the_folder_that_it_has(world: World, tmp_path: Path) -> None:
    index = tmp_path / "index"
    index.mkdir(mode=0o700)
    running = world.start(world.settings(milvus=MilvusSettings(uri=str(index)), http=HttpTable(port=free_port()))).opened()
    world.send([*lines_of(20), *(f"parcel handed over to {name}".encode() for name in ("ada", "bob", "carol", "dave", "erin"))])
    wait_until(lambda: running.service.pipeline.indexing.store.tally.lines == 25, "the lines")
    found = checks_of(running.service)
    assert found["milvus", "index"]["state"] == "ok"
    assert "25 lines in" in found["milvus", "size"]["found"]
    assert found["model", "engine"]["state"] == "ok"
    assert found["settings", "suggestions"]["found"].startswith("7 of 8 families")
    assert found["machine", "port"]["found"].startswith("this worker listens on")


def test_a_server_that_is_away_is_the_index_and_not_the_engine(world: World) -> None:
    away = MilvusSettings(uri=f"http://127.0.0.1:{free_port()}")
    running = world.start(world.settings(milvus=away)).opened()
    found = checks_of(running.service, group="milvus") | checks_of(running.service, group="model")
    assert {place for place, one in found.items() if one["state"] == "problem"} == {("milvus", "index")}


def test_a_worker_tells_which_model_of_its_embedding_service_cannot_be_loaded(world: World, tmp_path: Path) -> None:
    world.http = listen(HttpTable(port=0))
    gone = ServedModelTable(name="gone", folder=tmp_path / "gone")
    running = world.start(world.settings(serve=ServeTable(enabled=True, model=(gone,)))).opened()
    assert checks_of(running.service, group="serve")["serve", "loads"]["state"] == "ok"
    assert asked(world.http, "/api/status")["served_models"][1]["state"] == "absent"
    asked(world.http, "/v1/embeddings", b'{"model": "gone", "input": "x"}')
    found = checks_of(running.service, group="serve")
    assert found["serve", "loads"]["found"].startswith("could not be loaded: gone: ")
    default, failed = asked(world.http, "/api/status")["served_models"]
    assert (default["state"], failed["state"], failed["requests"]) == ("ready", "failed", 0)
    assert failed["error"].endswith("there is no such folder")


def asked(listening: Listening, path: str, body: bytes | None = None) -> Any:  # noqa: ANN401 - JSON
    client = http.client.HTTPConnection(listening.host, listening.port, timeout=30)
    try:
        client.request("GET" if body is None else "POST", path, body, {"Content-Type": "application/json"})
        return json.loads(client.getresponse().read())
    finally:
        client.close()
