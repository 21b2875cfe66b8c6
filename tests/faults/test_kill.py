"""SIGKILL at any moment: the next start finds everything, loses nothing, and stores nothing twice.

All workers share one scene with a Milvus folder: each must cope with what the previous one left. Each is judged before the next starts.
"""

import random
import uuid
from collections.abc import Iterator

import pytest

from tests.faults.lives import Lives
from tests.faults.scene import Scene
from tests.faults.topics import Topics
from tests.services.kafka import KafkaServer
from worker.embedding.model.prepared import PreparedModel
from worker.runtime.fail_point import POINTS

SEEDS = (20_261, 20_262, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(20_263, 20_281)))


@pytest.fixture(scope="module")
def lives(kafka: KafkaServer, tmp_path_factory: pytest.TempPathFactory, model: PreparedModel) -> Iterator[Lives]:
    scene = Scene(Topics(kafka, lambda stem: f"{stem}-{uuid.uuid4().hex[:12]}"), tmp_path_factory.mktemp("lives"), model)
    yield Lives(scene)
    scene.close()


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_boundary_it_has_lost_nothing(lives: Lives, point: str) -> None:
    lives.killed_at(point)


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_a_random_moment_it_has_lost_nothing(lives: Lives, seed: int) -> None:
    lives.killed_after(random.Random(seed))


def test_after_many_deaths_every_record_is_accounted_for_and_none_twice(lives: Lives) -> None:
    if not lives.scene.topics.sent:  # it runs alone
        lives.killed_at(POINTS[0])
    lives.end(vectors=False)


@pytest.mark.long
@pytest.mark.timeout(900)  # computes the vectors of a thousand templates: minutes on a busy machine
def test_after_many_deaths_every_template_has_its_own_vector(lives: Lives) -> None:
    if not lives.scene.topics.sent:
        lives.killed_at("after_blocks")
    lives.scene.check_vectors()
