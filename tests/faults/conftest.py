"""Fixtures of the fault tests: a scene of its own for each, and the model prepared before anything is measured."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.scene import Scene
from tests.faults.shallow import shallow_model
from tests.faults.topics import Topics
from tests.faults.truth import truth_of
from tests.services.kafka import KafkaServer
from tests.services.milvus import MilvusServer
from worker.embedding.model.prepared import PreparedModel


@pytest.fixture(scope="session")
def model() -> Iterator[PreparedModel]:
    """Prepared before anything is measured."""
    model = shallow_model()
    yield model
    if truth_of.cache_info().currsize:
        truth_of(model).close()
        truth_of.cache_clear()


@pytest.fixture
def scene(kafka: KafkaServer, unique: Callable[[str], str], tmp_path: Path, model: PreparedModel) -> Iterator[Scene]:
    """Topics, groups, a Milvus folder, and nobody at work yet."""
    scene = Scene(Topics(kafka, unique), tmp_path, model)
    yield scene
    scene.close()


@pytest.fixture
def server_scene(
    kafka: KafkaServer, milvus: MilvusServer, unique: Callable[[str], str], tmp_path: Path, model: PreparedModel
) -> Iterator[Scene]:
    """Topics, groups, collections on a Milvus server, and nobody at work yet."""
    scene = Scene(Topics(kafka, unique), tmp_path, model, milvus)
    yield scene
    milvus.start()  # and goes on, if the test has left it otherwise
    scene.close()
