"""What a Milvus can do is decided from its version, and a wish beyond it is refused by the setting's name before anything is created."""

from pathlib import Path
from typing import Any

import pytest

from sinks.milvus.backend import Backend, backend, build_params, choose, has_bm25, search_params
from sinks.milvus.fields import CollectionFound, FieldFound
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import SinkMismatch
from tests.sinks.settings import strong_sink, with_settings

PLAIN = MilvusSettings(uri="http://127.0.0.1:1")
LITE = backend("milvus_lite-3.2.2", local=True)


def server(version: str) -> Backend:
    return backend(version, local=False)


@pytest.mark.parametrize(
    ("capable", "wishes", "choice"),
    [
        (server("v2.3.5"), {}, ("vector", "AUTOINDEX", True)),
        (LITE, {}, ("vector", "FLAT", True)),
        (LITE, {"index": "HNSW"}, ("vector", "HNSW", False)),
        (server("v2.6.0"), {"vector_type": "INT8"}, ("int8", "HNSW", True)),
        (server("2.6.11-dev"), {"index": "IVF_RABITQ", "vector_type": "BFLOAT16"}, ("bfloat16", "IVF_RABITQ", False)),
        (server("?"), {"index": "AISAQ", "vector_type": "FLOAT16"}, ("float16", "AISAQ", False)),
    ],
)
def test_a_wish_that_can_be_fulfilled_is(capable: Backend, wishes: dict[str, Any], choice: tuple[str, str, bool]) -> None:
    assert choose(with_settings(PLAIN, **wishes), capable) == choice


@pytest.mark.parametrize(
    ("capable", "wishes", "reason"),
    [
        (LITE, {"index": "DISKANN"}, "milvus.index is DISKANN: Milvus Lite has auto, FLAT, IVF_FLAT, IVF_SQ8, HNSW, HNSW_SQ"),
        (LITE, {"vector_type": "FLOAT16"}, "milvus.vector_type is FLOAT16: Milvus Lite has FLOAT"),
        (server("v2.3.5"), {"vector_type": "BFLOAT16"}, "milvus.vector_type is BFLOAT16: Milvus 2.3 has FLOAT"),
        (server("v2.5.9"), {"vector_type": "INT8"}, "milvus.vector_type is INT8: Milvus 2.5 has FLOAT, FLOAT16, BFLOAT16"),
        (
            server("v2.3.5"),
            {"index": "HNSW_PQ"},
            "milvus.index is HNSW_PQ: Milvus 2.3 has auto, FLAT, IVF_FLAT, IVF_SQ8, IVF_PQ, HNSW, DISKANN, SCANN",
        ),
        (
            server("2.6"),
            {"vector_type": "INT8", "index": "FLAT"},
            "milvus.index is FLAT: INT8 vectors have auto, HNSW, HNSW_SQ, HNSW_PQ, HNSW_…",
        ),
    ],
)
def test_a_wish_beyond_it_is_refused_by_its_name(capable: Backend, wishes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SinkMismatch) as refused:
        choose(with_settings(PLAIN, **wishes), capable)
    assert str(refused.value).startswith(reason.removesuffix("…"))


@pytest.mark.process
def test_a_refused_wish_creates_nothing(settings: MilvusSettings, folder: Path) -> None:
    for wish in ({"index": "DISKANN"}, {"vector_type": "INT8"}):
        with pytest.raises(SinkMismatch, match="Milvus Lite has"):
            strong_sink(with_settings(settings, **wish)).open()
        assert not any((folder / "collections").iterdir())


SPARSE = CollectionFound({"sparse": FieldFound("SPARSE_FLOAT_VECTOR", 0, key=False, optional=True)}, auto_id=False, properties={})
PAD = CollectionFound({"pad": FieldFound("FLOAT_VECTOR", 2, key=False, optional=False)}, auto_id=False, properties={})


@pytest.mark.parametrize(
    ("wish", "capable", "found", "has"),
    [
        ("auto", server("v2.4.9"), None, False),
        ("auto", server("v2.5.0"), None, True),
        ("auto", server("v2.6.1"), PAD, False),
        ("auto", server("v2.6.1"), SPARSE, True),
        ("auto", LITE, None, False),
        ("auto", LITE, SPARSE, True),
        ("on", LITE, None, True),
        ("on", server("v2.5.0"), PAD, True),
        ("off", server("v2.6.0"), None, False),
        ("off", server("v2.6.0"), SPARSE, False),
    ],
)
def test_templates_have_bm25_as_the_settings_the_server_and_what_is_there_say(
    wish: Any,  # noqa: ANN401 (a literal)
    capable: Backend,
    found: CollectionFound | None,
    has: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    assert has_bm25(with_settings(PLAIN, bm25=wish), capable, found) is has


def test_bm25_from_a_server_that_has_none_is_refused() -> None:
    with pytest.raises(SinkMismatch, match=r"^milvus.bm25 is on: Milvus 2.4 has no BM25, servers have it from 2.5 on$"):
        has_bm25(with_settings(PLAIN, bm25="on"), server("v2.4.17"), None)


@pytest.mark.parametrize(("version", "maps"), [("v2.4.17", False), ("v2.5.0", True), ("v3.0.1", True)])
def test_columns_are_mapped_from_files_where_a_server_can_do_it(version: str, maps: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    assert server(version).maps_files is maps
    assert not LITE.maps_files


def test_an_index_is_built_and_searched_with_what_its_type_needs() -> None:
    assert build_params("IVF_PQ", 384) == {"nlist": 1_024, "m": 48, "nbits": 8}
    assert build_params("HNSW_PRQ", 7) == {"M": 16, "efConstruction": 200, "m": 7, "nbits": 8, "nrq": 2}
    assert build_params("AUTOINDEX", 384) == search_params("AUTOINDEX", 10) == build_params("FLAT", 3) == {}
    assert search_params("HNSW_SQ", 10_000) == {"ef": 10_000}
    assert search_params("IVF_RABITQ", 5) == {"nprobe": 64}
    assert search_params("DISKANN", 5) == {"search_list": 128}
