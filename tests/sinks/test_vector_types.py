"""Index and vector type as the settings say, and refused by name when the collection has others."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sinks.milvus.fields import templates_name
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import BlockFilter, SinkMismatch
from tests.services.milvus import MilvusServer, connected, drop
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.typed_server import TypedServer
from tests.template_ids import id_of
from tests.world import SPACE, block, line, nearest, template, unit


def check_answers(settings: MilvusSettings, near: float = 1e-3) -> None:
    """Store three templates and find them again by cosine."""
    sink = strong_sink(settings)
    sink.open()
    vectors = {"a": unit(1.0), "b": unit(0.6, 0.8), "c": unit(0.0, 0.0, 1.0), "d": unit(-1.0)}
    sink.templates.upsert([template(text, vector) for text, vector in vectors.items()])
    hits = nearest(sink, unit(1.0), 4)
    assert [hit.text for hit in hits] == ["a", "b", "c", "d"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.6, 0.0, -1.0], abs=near)
    assert all(-1 <= hit.score <= 1 for hit in hits)
    assert sink.counts().templates == 4  # after a Strong read a Bounded one misses nothing
    found = sink.templates.vectors([id_of(text) for text in vectors])
    assert all(np.allclose(found[id_of(text)], vector, atol=near) for text, vector in vectors.items())
    sink.write_blocks([block([line(1)])])
    assert sink.find_blocks(BlockFilter(services=("sshd",))).heads.size == 1
    sink.close()


@pytest.mark.process
@pytest.mark.parametrize("index", ["auto", "HNSW", "HNSW_SQ", "FLAT"])
def test_a_local_folder_answers_with_cosines(settings: MilvusSettings, index: Any) -> None:  # noqa: ANN401 (a literal)
    check_answers(with_settings(settings, index=index), near=5e-3)


@pytest.fixture
def remote(milvus: MilvusServer, unique: Callable[[str], str]) -> Iterator[MilvusSettings]:
    settings = MilvusSettings(uri=milvus.uri, collection=unique("types").replace("-", "_"))
    yield settings
    drop(settings.uri, settings.collection, templates_name(settings.collection, SPACE.id))


@pytest.mark.parametrize("index", ["IVF_FLAT", "HNSW"])
def test_a_server_answers_with_cosines(remote: MilvusSettings, index: Any) -> None:  # noqa: ANN401 (a literal)
    check_answers(with_settings(remote, index=index))
    with connected(remote.uri) as client:
        found = client.describe_index(templates_name(remote.collection, SPACE.id), "vector")
    assert (found["index_type"], found["metric_type"]) == (index, "COSINE")


@pytest.mark.parametrize("wish", [{"vector_type": "FLOAT16"}, {"bm25": "on"}, {"index": "IVF_RABITQ"}])
def test_what_a_server_cannot_do_is_refused_before_anything_is_created(remote: MilvusSettings, wish: dict[str, Any]) -> None:
    with pytest.raises(SinkMismatch, match=rf"^milvus.{next(iter(wish))} is .*: Milvus 2.3 has"):
        strong_sink(with_settings(remote, **wish)).open()
    with connected(remote.uri) as client:
        assert not client.has_collection(remote.collection)
        assert not client.has_collection(templates_name(remote.collection, SPACE.id))


@pytest.mark.process
def test_another_index_than_the_one_that_is_there_is_refused_by_field(settings: MilvusSettings) -> None:
    sink = strong_sink(with_settings(settings, index="FLAT"))
    sink.open()
    sink.close()
    with pytest.raises(SinkMismatch) as refused:
        strong_sink(with_settings(settings, index="HNSW")).open()
    assert str(refused.value) == "Milvus collection 'vectail_templates_space_1', field 'vector': index is FLAT, expected HNSW"
    sink.open()
    sink.close()


@pytest.mark.parametrize("vector_type", ["FLOAT16", "BFLOAT16", "INT8"])
def test_vectors_of_fewer_bits_are_written_searched_and_read(tmp_path: Path, settings: MilvusSettings, vector_type: Any) -> None:  # noqa: ANN401 (a literal)
    server = TypedServer(tmp_path / "server")
    server.version = "v2.6.11"
    there = with_settings(settings, uri=server.uri, vector_type=vector_type)
    check_answers(there, near=1e-2)
    assert server.types == {vector_type}
    expected = rf"field 'vector': type is {vector_type}_VECTOR, expected FLOAT_VECTOR$"
    with pytest.raises(SinkMismatch, match=expected):
        strong_sink(with_settings(there, vector_type="FLOAT")).open()
    server.close()
