"""The space of an index is known before it is opened, and is unknown where there is no index or nobody answers."""

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from sinks.index_spaces import StoredSpace, VectorSpace
from sinks.milvus.filled_space import filled_space
from sinks.milvus.milvus_settings import MilvusSettings
from tests.services.ports import free_port
from tests.sinks.settings import strong_sink
from tests.sinks.test_lite_texts import FOLDER
from tests.world import SPACE


@pytest.mark.process
def test_a_folder_says_its_space_while_a_worker_holds_it_and_afterwards(tmp_path: Path) -> None:
    settings = MilvusSettings(uri=str(tmp_path / "index"), collection="logs")
    assert filled_space(settings) is None
    sink = strong_sink(settings, SPACE)
    sink.open()
    assert filled_space(settings) == SPACE.id
    sink.close()
    assert filled_space(settings) == SPACE.id
    assert filled_space(settings.model_copy(update={"collection": "others"})) is None


@pytest.mark.process
def test_a_folder_whose_model_has_changed_says_the_new_space(tmp_path: Path) -> None:
    settings = MilvusSettings(uri=str(tmp_path / "index"))
    sink = strong_sink(settings, SPACE)
    sink.open()
    other = VectorSpace(4, "space-2")
    sink.open_view(other, create=True)
    before = sink.spaces()
    both = before.with_view(other.id, StoredSpace(dim=4, model="other", state="ready", since_ms=0))
    assert sink.change_spaces(before, replace(both, preferred=other.id))
    sink.close()
    assert filled_space(settings) == other.id


def test_a_folder_of_0_1_says_its_space(tmp_path: Path) -> None:
    with tarfile.open(FOLDER) as packed:
        packed.extractall(tmp_path, filter="data")
    (folder,) = {schema.parents[2] for schema in tmp_path.rglob("collections/*/schema.json")}
    assert filled_space(MilvusSettings(uri=str(folder))) == SPACE.id


@pytest.mark.parametrize("content", ["", "[]", '{"properties": {}}', '{"properties": 1}', "\xff"])
def test_a_damaged_folder_says_nothing(tmp_path: Path, content: str) -> None:
    schema = tmp_path / "collections" / "vectail" / "schema.json"
    schema.parent.mkdir(parents=True)
    schema.write_text(content, encoding="latin-1")
    assert filled_space(MilvusSettings(uri=str(tmp_path))) is None


@pytest.mark.parametrize("uri", ["localhost:19530", "http://127.0.0.1:{port}"])
def test_where_nobody_answers_nothing_is_known(uri: str) -> None:
    assert filled_space(MilvusSettings(uri=uri.format(port=free_port()), timeout_s=0.2)) is None
