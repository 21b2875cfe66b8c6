"""Two roles on real servers: a worker that only answers goes on while the one that indexes is killed and comes back."""

import json
from typing import Any

from tests.faults.pages import Pages
from tests.faults.scene import Scene

ANSWERS = {"kafka__index": "false", "status__refresh_s": "0.5"}


def asked(scene: Scene) -> Any:  # noqa: ANN401 - JSON
    number = scene.topics.ask(b'{"text": "socket refused voucher", "k": 3}')
    return scene.topics.replies_to([number])[number]


def test_a_worker_that_only_answers_does_so_while_nobody_indexes_and_says_how_far_the_index_is(server_scene: Scene) -> None:
    scene, topics = server_scene, server_scene.topics
    topics.send(300)
    indexing = scene.start()
    scene.wait_all_committed(indexing)
    answering = scene.start(**ANSWERS)
    pages = Pages(answering)
    pages.wait_until("readiness", lambda: pages.readiness().status == "ready")
    indexing.kill()
    committed = topics.committed()
    topics.send(50)
    pages.wait_until("a look at the log group", lambda: asked(scene)["behind_records"] == 50)
    assert asked(scene)["hits"]
    assert topics.committed() == committed, "it reads no log line"
    status = json.loads(pages.get("/api/status")[1])
    assert (status["indexes"], status["savings"]) == (False, [])
    assert not any(topic == topics.logs for topic, _ in pages.offsets("vectail_consumer_lag_records"))
    again = scene.start()
    scene.wait_all_committed(again)
    pages.wait_until("the rest", lambda: asked(scene)["behind_records"] == 0)
    for worker in (answering, again):
        worker.terminate()
    assert (answering.wait(), again.wait()) == (0, 0)
    scene.judge_end()
