"""Starts that fail until the user changes something: exit code 2, and one line that names it."""

from sinks.index_spaces import VectorSpace
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from tests.faults.scene import COLLECTION, Scene
from worker.connections import vector_space
from worker.embedding.loaded import space_of

USER_ERROR = 2
DIM = 384


def _refusal(scene: Scene) -> str:
    """Start a worker, which must refuse; return its one line."""
    worker = scene.start()
    assert worker.wait() == USER_ERROR, worker.lines
    assert worker.events("warning") == worker.events("error") == []
    assert len(worker.words()) == 1, worker.words()
    assert sum(scene.topics.committed().values()) == 0
    return worker.words()[0]


def _collections_of(scene: Scene, space: VectorSpace, *, group: str = "") -> None:
    sink = MilvusSink(MilvusSettings(uri=str(scene.milvus), collection=COLLECTION), space, consumer_group=group or scene.topics.group)
    sink.open()
    sink.close()


def test_a_milvus_folder_in_use_by_another_process_is_refused(scene: Scene) -> None:
    scene.topics.send(10)
    taken = LocalMilvus(scene.milvus)
    try:
        assert _refusal(scene) == f"vectail: Milvus folder {scene.milvus} is in use by another process"
    finally:
        taken.close()


def test_a_collection_of_another_dimension_is_refused(scene: Scene) -> None:
    scene.topics.send(10)
    space = vector_space(space_of(scene.model))
    _collections_of(scene, VectorSpace(8, space.id))
    templates = f"{COLLECTION}_templates_{space.id[:8]}"
    assert _refusal(scene) == f"vectail: Milvus collection '{templates}', field 'vector': dim is 8, expected {DIM}"


def test_a_collection_of_another_embedding_space_is_refused(scene: Scene) -> None:
    scene.topics.send(10)
    _collections_of(scene, VectorSpace(DIM, "0123456789abcdef"))
    line = _refusal(scene)
    assert line.startswith(f"vectail: Milvus collection '{COLLECTION}': its vectors are of embedding space 0123456789abcdef, ")


def test_a_collection_of_another_consumer_group_is_refused(scene: Scene) -> None:
    scene.topics.send(10)
    _collections_of(scene, vector_space(space_of(scene.model)), group="others")
    line = _refusal(scene)
    assert "'others'" in line
    assert "--adopt" in line
