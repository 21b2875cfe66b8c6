"""A rebalance storm: members join and leave every two seconds; work continues, and no position moves back."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from tests.faults.scene import Scene, client_of
from tests.faults.stranger import Protocol, Stranger
from tests.faults.topics import Topics
from tests.faults.watch import CommitWatch
from tests.faults.worker_process import WorkerProcess
from tests.services.kafka import KafkaServer
from worker.embedding.model.prepared import PreparedModel

STORM_S = 20.0
STORM_LONG_S = 120.0
TURN_S = 2.0
STRANGERS = 2
A_TURN_RECORDS = 60
MOST_REST_S = 30.0
"""Every interval of this length within the storm must see a commit."""


@pytest.fixture
def scenes(kafka: KafkaServer, unique: Callable[[str], str], tmp_path: Path, model: PreparedModel) -> Iterator[dict[Protocol, Scene]]:
    """A scene for each protocol: both storms run at once."""
    scenes: dict[Protocol, Scene] = {}
    for protocol in get_args(Protocol):
        (folder := tmp_path / protocol).mkdir()
        scenes[protocol] = Scene(Topics(kafka, unique), folder, model)
    yield scenes
    for scene in scenes.values():
        scene.close()


def _blow(scenes: dict[Protocol, Scene], workers: dict[Protocol, WorkerProcess], storm_s: float) -> int:
    """In each turn one stranger joins and the oldest leaves; return how often partitions were taken away."""
    strangers: list[Stranger] = []
    taken = 0
    until_s = time.monotonic() + storm_s
    try:
        while (now_s := time.monotonic()) < until_s:
            for protocol, scene in scenes.items():
                scene.topics.send(A_TURN_RECORDS)
                strangers.append(stranger := scene.topics.stranger(protocol))
                stranger.stay()
            while len(strangers) > STRANGERS * len(scenes):
                stranger = strangers.pop(0)
                stranger.leave()
                taken += stranger.taken
            for worker in workers.values():
                assert worker.stays_alive(max(0.0, now_s + TURN_S - time.monotonic())), worker.lines
    finally:
        for stranger in strangers:
            stranger.leave()
            taken += stranger.taken
    return taken


def test_members_come_and_go_every_two_seconds_and_the_work_goes_on(scenes: dict[Protocol, Scene], *, long: bool) -> None:
    workers = {protocol: scene.start(limits__max_in_flight_records="40", **client_of(protocol)) for protocol, scene in scenes.items()}
    for protocol, scene in scenes.items():
        scene.topics.send(A_TURN_RECORDS)
        scene.wait_progress(workers[protocol])
    storm_s = STORM_LONG_S if long else STORM_S
    classic, consumer = (CommitWatch(scene.topics) for scene in scenes.values())
    with classic, consumer:
        taken = _blow(scenes, workers, storm_s)
        longest_rest_s = max(classic.longest_rest_s, consumer.longest_rest_s)
        for protocol, scene in scenes.items():
            scene.wait_all_committed(workers[protocol])  # the backlog may take longer than the time limit of a fresh record
            scene.fresh_record_flows(workers[protocol])
    assert longest_rest_s < MOST_REST_S
    assert taken > storm_s / TURN_S, "too few rebalances for a storm"
    for protocol, scene in scenes.items():
        scene.drain(workers[protocol])
        scene.judge_end()
