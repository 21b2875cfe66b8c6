"""An unreachable broker, or one that refuses the password: the worker waits for ever, and logs a line, not a flood."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.scene import Scene
from tests.faults.topics import PARTITIONS, Topics
from tests.faults.worker_process import WorkerProcess
from tests.services.kafka import OwnKafka
from tests.services.local_kafka import LocalKafka
from tests.services.missing import ServerMissing, skip_or_fail
from tests.services.proxy import Proxy
from worker.embedding.model.prepared import PreparedModel

AWAY_S = 5.0
MOST_LINES = 4
NAME, RIGHT, WRONG, NEXT = "worker", "hunter2-is-right", "hunter2-is-wrong", "hunter2-is-next"
REFUSED_S = 10.0
MOST_TRIES_A_S = 60
"""Six clients, each some three times a second: librdkafka 2.16 begins its back-off anew whenever no broker is left to try."""


@pytest.fixture
def kafka(own_kafka: OwnKafka) -> OwnKafka:
    """A broker that these tests stop, and that all their fixtures speak to."""
    return own_kafka


def _check_complaints(worker: WorkerProcess) -> None:
    complaints = Counter(event["event"] for event in worker.events("warning"))
    assert [line for line, times in complaints.items() if times > 1] == []
    assert len(complaints) <= MOST_LINES, complaints
    assert worker.events("error") == []
    assert worker.words() == []


@pytest.mark.long
def test_a_broker_that_is_not_there_at_the_start_is_waited_for(scene: Scene, kafka: OwnKafka) -> None:
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


def test_sigterm_ends_a_worker_that_waits_for_a_broker(scene: Scene, kafka: OwnKafka) -> None:
    kafka.stop()
    worker = scene.start()
    worker.wait_for("is away; waiting for it")
    scene.drain(worker)


def test_a_broker_that_is_killed_or_stopped_in_mid_run_costs_nothing(scene: Scene, kafka: OwnKafka, *, long: bool) -> None:
    worker = scene.start(limits__max_in_flight_records="100")
    for end in (kafka.kill, kafka.stop) if long else (kafka.kill,):
        scene.topics.send(400)
        scene.wait_progress(worker)
        end()
        worker.wait_for(f"kafka at {kafka.bootstrap} is away; waiting for it")
        kafka.start()
        assert scene.topics.committed() != scene.topics.ends(), "it did not end in mid-run"
        scene.wait_all_committed(worker)
        scene.fresh_record_flows(worker)
    answer = scene.topics.ask(b'{"text": "socket refused voucher"}')
    assert scene.topics.replies_to([answer])[answer]["hits"]
    scene.drain(worker)
    scene.judge_end()


def test_a_topic_that_is_made_after_the_start_is_read(scene: Scene, kafka: OwnKafka, unique: Callable[[str], str]) -> None:
    scene.topics.logs = unique("later")
    worker = scene.start()
    worker.wait_for(f"topic {scene.topics.logs} does not exist yet; waiting for it")
    kafka.create_topic(scene.topics.logs, PARTITIONS)
    scene.topics.send(100)
    scene.wait_all_committed(worker)
    scene.drain(worker)
    _check_complaints(worker)
    scene.judge_end()


@pytest.mark.long
def test_a_wrong_password_is_one_line_without_the_secret_and_no_storm_and_the_right_one_works_until_it_is_changed(
    unique: Callable[[str], str], tmp_path: Path, model: PreparedModel
) -> None:
    try:
        secured = LocalKafka(logins={NAME: RIGHT})
    except ServerMissing as missing:
        skip_or_fail(str(missing))
    scene = Scene(Topics(secured, unique), tmp_path, model)
    try:
        scene.topics.send(100)
        with Proxy(int(secured.secured.rpartition(":")[2])) as door:
            refused = scene.start(**_with_password(f"127.0.0.1:{door.port}", WRONG), milvus__uri=str(tmp_path / "unused"))
            refused.wait_for("refuses the credentials")
            worker = scene.start(**_with_password(secured.secured, RIGHT))
            tries = door.accepted
            assert refused.stays_alive(REFUSED_S), refused.lines
            assert door.accepted - tries < MOST_TRIES_A_S * REFUSED_S, "it storms"
            _check_complaints(refused)
            assert [line for line in refused.lines if WRONG in line] == []
            scene.drain(refused)
        scene.wait_all_committed(worker)
        secured.stop()
        secured.logins = {NAME: NEXT}
        secured.start()
        worker.wait_for("refuses the credentials")
        scene.topics.send(100)
        _check_complaints(worker)
        assert [line for line in worker.lines if RIGHT in line] == []
        scene.drain(worker)
        worker = scene.start(**_with_password(secured.secured, NEXT))
        scene.wait_all_committed(worker)
        scene.drain(worker)
        scene.judge_end()
    finally:
        scene.close()
        secured.close()


def _with_password(bootstrap: str, password: str) -> dict[str, str]:
    plain = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": NAME, "sasl.password": password}
    return {"kafka__bootstrap_servers": bootstrap, "kafka__librdkafka": json.dumps(plain)}
