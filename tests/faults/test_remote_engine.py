"""A worker whose engine is `vectail serve`: the service is killed, frozen and away, and nothing of the index is lost or wrong."""

from collections.abc import Iterator

import pytest

from tests.faults.records import strange
from tests.faults.scene import Scene
from tests.faults.worker_process import WorkerProcess
from tests.services.ports import free_port
from worker.embedding.model.prepared import PreparedModel

BACKLOG = 400
FROZEN_S = 3.0


class Service:
    """`vectail serve` on one port, as often as it is started."""

    def __init__(self, model: PreparedModel) -> None:
        self.port = free_port()
        self._settings = {
            "http.port": f"{self.port}",
            "engine.name": "llama",
            "engine.threads": "1",
            "model.folder": str(model.folder),
            "cache.memory_bytes": "0",
        }
        self.processes: list[WorkerProcess] = []

    def start(self) -> WorkerProcess:
        self.processes.append(WorkerProcess(self._settings, verb="serve"))
        self.processes[-1].wait_for('"event": "ready"')
        return self.processes[-1]

    def close(self) -> None:
        for process in self.processes:
            process.close()


@pytest.fixture
def service(model: PreparedModel) -> Iterator[Service]:
    service = Service(model)
    yield service
    service.close()


def test_a_service_that_is_killed_frozen_and_drained_loses_nothing_of_the_index(scene: Scene, service: Service) -> None:
    process = service.start()
    worker = scene.start(engine__name="remote", engine__url=f"http://127.0.0.1:{service.port}")
    worker.wait_for('"event": "model ready"')
    for end in ("kill", "freeze", "drain"):
        scene.topics.send(BACKLOG, strange)
        scene.wait_progress(worker)
        if end == "freeze":
            process.pause()
            assert worker.stays_alive(FROZEN_S), worker.lines
            process.resume()
            continue
        if end == "kill":
            process.kill()
        else:
            process.terminate()
            assert process.wait() == 0, process.lines
        scene.topics.send(BACKLOG, strange)
        assert worker.stays_alive(FROZEN_S), worker.lines
        process = service.start()
    scene.wait_all_committed(worker)
    scene.fresh_record_flows(worker)
    assert sum("the engine is away" in line for line in worker.lines) >= 1
    scene.drain(worker)
    scene.judge_end()
