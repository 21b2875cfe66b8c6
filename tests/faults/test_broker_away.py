"""A broker that is not there: waited for, for ever, and said so in a line, not in a flood."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.faults.scene import Scene
from tests.faults.topics import PARTITIONS
from tests.faults.worker_process import WorkerProcess
from tests.services.kafka import ADDRESS_VARIABLE, KafkaServer

AWAY_S = 5.0
MOST_LINES = 4


@pytest.fixture(autouse=True)
def _only_a_broker_of_ours(kafka: KafkaServer) -> None:
    if not kafka.can_restart:
        pytest.skip(f"the broker that {ADDRESS_VARIABLE} names is not ours to stop")


def _check_complaints(worker: WorkerProcess) -> None:
    complaints = Counter(event["event"] for event in worker.events("warning"))
    assert [line for line, times in complaints.items() if times > 1] == []
    assert len(complaints) <= MOST_LINES, complaints
    assert worker.events("error") == []
    assert worker.words() == []


def test_a_broker_that_is_not_there_at_the_start_is_waited_for(scene: Scene, kafka: KafkaServer) -> None:
    scene.topics.send(400)
    kafka.stop()
    worker = scene.start()
    worker.wait_for(f"kafka at {kafka.bootstrap} is away; waiting for it")
    assert worker.stays_alive(AWAY_S), worker.lines
    _check_complaints(worker)
    kafka.start()
    scene.wait_all_committed(worker)
    scene.drain(worker)
    _check_complaints(worker)
    scene.judge_end()


def test_sigterm_ends_a_worker_that_waits_for_a_broker(scene: Scene, kafka: KafkaServer) -> None:
    kafka.stop()
    worker = scene.start()
    worker.wait_for("is away; waiting for it")
    scene.drain(worker)


def test_a_broker_that_is_killed_in_mid_run_costs_nothing(scene: Scene, kafka: KafkaServer) -> None:
    scene.topics.send(1_200)
    worker = scene.start(cap__records="100")
    scene.wait_progress(worker)
    kafka.kill()
    worker.wait_for(f"kafka at {kafka.bootstrap} is away; waiting for it")
    kafka.start()
    assert scene.topics.committed() != scene.topics.ends(), "it was not killed in mid-run"
    scene.topics.send(200)
    scene.wait_all_committed(worker)
    answer = scene.topics.ask(b'{"text": "socket refused voucher"}')
    assert scene.topics.replies_to([answer])[answer]["hits"]
    scene.drain(worker)
    scene.judge_end()


def test_a_topic_that_is_made_after_the_start_is_read(scene: Scene, kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    scene.topics.logs = unique("later")
    worker = scene.start()
    worker.wait_for(f"topic {scene.topics.logs} does not exist yet; waiting for it")
    kafka.create_topic(scene.topics.logs, PARTITIONS)
    scene.topics.send(100)
    scene.wait_all_committed(worker)
    scene.drain(worker)
    _check_complaints(worker)
    scene.judge_end()
