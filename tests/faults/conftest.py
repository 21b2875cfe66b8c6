"""Fixtures of the fault tests: a scene for each test, and the model, prepared before the tests measure anything."""

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
    """The prepared model of all fault tests."""
    model = shallow_model()
    yield model
    if truth_of.cache_info().currsize:
        truth_of(model).close()
        truth_of.cache_clear()


@pytest.fixture
def scene(kafka: KafkaServer, unique: Callable[[str], str], tmp_path: Path, model: PreparedModel) -> Iterator[Scene]:
    """Topics, groups and a Milvus folder, without a worker yet."""
    scene = Scene(Topics(kafka, unique), tmp_path, model)
    yield scene
    scene.close()


@pytest.fixture
def server_scene(
    kafka: KafkaServer, milvus: MilvusServer, unique: Callable[[str], str], tmp_path: Path, model: PreparedModel
) -> Iterator[Scene]:
    """Topics, groups and collections on a Milvus server, without a worker yet."""
    scene = Scene(Topics(kafka, unique), tmp_path, model, milvus)
    yield scene
    scene.close()
