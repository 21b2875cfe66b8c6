"""What a Milvus can do is decided from its version, and a wish beyond it is refused by the setting's name before anything is created."""

from pathlib import Path
from typing import Any

import pytest

from sinks.milvus.backend import Backend, backend, build_params, choose, has_bm25, search_params
from sinks.milvus.fields import CollectionFound, FieldFound
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import SinkMismatch
from tests.rows import rows
from tests.sinks.settings import strong_sink, with_settings

PLAIN = MilvusSettings(uri="http://127.0.0.1:1")


def server(version: str) -> Backend:
    return backend(version, local=version.startswith("milvus_lite"))


@pytest.mark.parametrize(("version", "wishes", "choice"), rows("milvus/choices"))
def test_a_wish_that_can_be_fulfilled_is(version: str, wishes: dict[str, Any], choice: list[object]) -> None:
    assert list(choose(with_settings(PLAIN, **wishes), server(version))) == choice


@pytest.mark.parametrize(("version", "wishes", "reason"), rows("milvus/refused_wishes"))
def test_a_wish_beyond_it_is_refused_by_its_name(version: str, wishes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SinkMismatch) as refused:
        choose(with_settings(PLAIN, **wishes), server(version))
    assert str(refused.value).startswith(reason.removesuffix("…"))


@pytest.mark.process
def test_a_refused_wish_creates_nothing(settings: MilvusSettings, folder: Path) -> None:
    for wish in ({"index": "DISKANN"}, {"vector_type": "INT8"}):
        with pytest.raises(SinkMismatch, match="Milvus Lite has"):
            strong_sink(with_settings(settings, **wish)).open()
        assert not any((folder / "collections").iterdir())


SPARSE = CollectionFound({"sparse": FieldFound("SPARSE_FLOAT_VECTOR", 0, key=False, optional=True)}, auto_id=False, properties={})
PAD = CollectionFound({"pad": FieldFound("FLOAT_VECTOR", 2, key=False, optional=False)}, auto_id=False, properties={})


@pytest.mark.parametrize(("wish", "version", "found", "has"), rows("milvus/bm25"))
def test_templates_have_bm25_as_the_settings_the_server_and_what_is_there_say(
    wish: str, version: str, found: str | None, *, has: bool
) -> None:  # fmt: skip
    there = None if found is None else {"sparse": SPARSE, "pad": PAD}[found]
    assert has_bm25(with_settings(PLAIN, bm25=wish), server(version), there) is has


def test_bm25_from_a_server_that_has_none_is_refused() -> None:
    with pytest.raises(SinkMismatch, match=r"^milvus.bm25 is on: Milvus 2.4 has no BM25, servers have it from 2.5 on$"):
        has_bm25(with_settings(PLAIN, bm25="on"), server("v2.4.17"), None)


@pytest.mark.parametrize(("version", "maps"), [("v2.4.17", False), ("v2.5.0", True), ("v3.0.1", True)])
def test_columns_are_mapped_from_files_where_a_server_can_do_it(version: str, maps: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    assert server(version).maps_files is maps
    assert not server("milvus_lite-3.2.2").maps_files


def test_an_index_is_built_and_searched_with_what_its_type_needs() -> None:
    assert build_params("IVF_PQ", 384) == {"nlist": 1_024, "m": 48, "nbits": 8}
    assert build_params("HNSW_PRQ", 7) == {"M": 16, "efConstruction": 200, "m": 7, "nbits": 8, "nrq": 2}
    assert build_params("AUTOINDEX", 384) == search_params("AUTOINDEX", 10) == build_params("FLAT", 3) == {}
    assert search_params("HNSW_SQ", 10_000) == {"ef": 10_000}
    assert search_params("IVF_RABITQ", 5) == {"nprobe": 64}
    assert search_params("DISKANN", 5) == {"search_list": 128}
