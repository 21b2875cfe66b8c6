"""The doctor's judgements of Milvus on planted facts, and its questions to a real server and to a real folder of Milvus Lite."""

import fcntl
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from sinks.milvus.backend import backend
from sinks.milvus.fields import CollectionFound, FieldFound, Layout, blocks_layout, templates_layout
from sinks.milvus.settings import MilvusSettings, VectorSpace
from sinks.milvus.sink import MilvusSink
from tests.services.ports import free_port
from tests.worker.audit.judged import says
from worker.audit.doctor import Check
from worker.audit.doctor_lite import (
    MOST_LINES,
    FolderFacts,
    judge_disk,
    judge_folder,
    judge_size,
    look_at_folder,
    look_at_open_sink,
)
from worker.audit.doctor_milvus import ServerFacts, judge_answer, judge_server, look_at_server
from worker.embedding.model.errors import ModelError
from worker.settings.service_tables import HttpTable
from worker.settings.settings import Settings
from worker.settings.tables import IndexTable, KafkaTable

SPACE = VectorSpace(4, "abcdef0123456789")
SETTINGS = Settings()
GIB = 1 << 30
_TYPES = {
    "varchar": "VARCHAR",
    "int64": "INT64",
    "int32": "INT32",
    "vector": "FLOAT_VECTOR",
    "varchars": "ARRAY<VARCHAR>",
    "int64s": "ARRAY<INT64>",
    "int32s": "ARRAY<INT32>",
}


def collection(layout: Layout, **properties: str) -> CollectionFound:
    kept = {"vectail.layout": "2", "vectail.space": SPACE.id, "vectail.group": "vectail"}
    return CollectionFound(
        {field.name: FieldFound(_TYPES[field.kind], field.limit, key=field.key, optional=False) for field in layout.fields},
        auto_id=False,
        properties=kept | {name.replace("__", "."): value for name, value in properties.items()},
        name=layout.name,
    )


BLOCKS = collection(blocks_layout("vectail"))
TEMPLATES = collection(templates_layout("vectail", SPACE.id, SPACE.dim))
FACTS = ServerFacts("v2.6.1", BLOCKS, TEMPLATES, {"vectail": 12})


def judged(facts: ServerFacts, settings: Settings = SETTINGS, space: VectorSpace | None = SPACE, error: str = "") -> Mapping[str, Check]:
    return {one.name: one for one in judge_server(settings, facts, space, error)}


def test_an_index_of_this_version_model_and_group_is_well() -> None:
    checks = judged(FACTS)
    assert [one for one in checks.values() if one.state != "ok"] == []
    says(checks["version"], "version", "ok", "Milvus 2.6.1")
    says(checks["size"], "size", "ok", "12 rows in vectail")
    says(judge_answer("http://m", 0.1), "index", "ok")
    says(judge_answer("http://m", 3.0), "index", "warning", "3 s")


def test_an_index_that_does_not_exist_yet_is_a_warning() -> None:
    says(judged(FACTS._replace(blocks=None))["schema"], "schema", "warning", "does not exist", "vectail run")
    says(judged(FACTS._replace(templates=None))["schema"], "schema", "warning", "vectail_templates_abcdef01")


def test_another_layout_and_a_column_that_differs_are_problems() -> None:
    old = collection(blocks_layout("vectail"), vectail__layout="1")
    says(judged(FACTS._replace(blocks=old))["schema"], "schema", "problem", "layout 1, not 2")
    narrow = BLOCKS._replace(fields={**BLOCKS.fields, "places": FieldFound("VARCHAR", 9, key=False, optional=False)})
    says(judged(FACTS._replace(blocks=narrow))["schema"], "schema", "problem", "'places': max_length is 9")


def test_another_model_and_another_group_are_problems() -> None:
    other = collection(blocks_layout("vectail"), vectail__space="0000", vectail__group="others")
    checks = judged(FACTS._replace(blocks=other))
    says(checks["space"], "space", "problem", "0000", SPACE.id)
    says(checks["owner"], "owner", "problem", "'others'", "--adopt")
    says(judged(FACTS, space=None, error="no such folder")["space"], "space", "warning", "no such folder")


def test_what_is_not_indexed_cannot_be_used_and_what_is_not_loaded_only_after_a_start() -> None:
    says(judged(FACTS._replace(no_index=("vectail",)))["loaded"], "loaded", "problem", "no index")
    says(judged(FACTS._replace(not_loaded=("vectail",)))["loaded"], "loaded", "warning", "vectail is not loaded")


def test_a_wish_that_the_server_cannot_fulfil_is_a_problem_and_an_old_server_a_warning() -> None:
    halves = Settings(milvus=MilvusSettings(vector_type="FLOAT16"))
    assert backend("v2.3.5", local=False).version == (2, 3)
    says(judged(FACTS._replace(version="v2.3.5"), halves)["version"], "version", "problem", "milvus.vector_type is FLOAT16")
    says(judged(FACTS._replace(version="v2.3.5"))["version"], "version", "ok", "no BM25 and no indexes on arrays")
    says(judged(FACTS._replace(version="v2.2.9"))["version"], "version", "warning", "2.2.9")


def test_a_retention_that_is_not_the_settings_is_a_warning() -> None:
    week = Settings(index=IndexTable(retention_days=7))
    kept = collection(blocks_layout("vectail"), **{"collection.ttl.seconds": str(7 * 86_400)})
    says(judged(FACTS._replace(blocks=kept), week)["retention"], "retention", "ok", "7 d")
    says(judged(FACTS, week)["retention"], "retention", "warning", "for ever", "retention_days is 7")
    says(judged(FACTS)["retention"], "retention", "ok", "for ever")


def test_a_folder_that_others_may_read_a_full_disk_and_too_many_lines_are_found() -> None:
    facts = FolderFacts(Path("/index"), 0o700, 100 * GIB, GIB, is_held=False)
    says(judge_folder(facts), "folder", "ok")
    says(judge_folder(facts._replace(mode=0o755)), "folder", "warning", "0755", "chmod 700 /index")
    says(judge_disk(facts), "disk", "ok", "100 GiB free")
    says(judge_disk(facts._replace(free_bytes=GIB // 2)), "disk", "warning")
    says(judge_disk(facts._replace(free_bytes=10 * GIB, used_bytes=30 * GIB)), "disk", "warning", "the folder has 30 GiB")
    says(judge_disk(facts._replace(free_bytes=GIB // 100)), "disk", "problem", "ends the worker")
    says(judge_size(1_000, 1, 1), "size", "ok", "1,000 lines in 1 block,")
    says(judge_size(MOST_LINES // 2 + 1, 1, 1), "size", "warning", "server")
    says(judge_size(MOST_LINES + 1, 1, 1), "size", "problem")


def in_folder(folder: Path, *, is_served: bool = True) -> Settings:
    return Settings(milvus=MilvusSettings(uri=str(folder)), http=HttpTable(port=free_port(), enabled=is_served))


def looked(settings: Settings, new_space: Callable[[], VectorSpace] = lambda: SPACE) -> Mapping[str, Check]:
    return {one.name: one for one in look_at_folder(settings, new_space)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an empty index, closed."""
    sink = MilvusSink(MilvusSettings(uri=str(tmp_path / "index")), SPACE)
    sink.open()
    sink.close()
    return tmp_path / "index"


@pytest.mark.process
def test_a_folder_that_nobody_uses_is_opened_and_found_well(folder: Path) -> None:
    checks = looked(in_folder(folder))
    assert [one for one in checks.values() if one.state != "ok"] == []
    says(checks["index"], "index", "ok", "no worker uses it")
    says(checks["size"], "size", "ok", "0 lines in 0 blocks")


@pytest.mark.process
def test_a_folder_of_another_model_or_group_is_a_problem(folder: Path) -> None:
    says(looked(in_folder(folder), lambda: SPACE._replace(id="0" * 16))["space"], "space", "problem", SPACE.id)
    other = in_folder(folder).model_copy(update={"kafka": KafkaTable(group="others")})
    says(looked(other)["owner"], "owner", "problem", "'vectail'", "'others'")


@pytest.mark.process
def test_a_folder_in_use_is_not_opened_and_its_holder_is_asked(folder: Path) -> None:
    with (folder / "LOCK").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        settings = in_folder(folder)
        says(looked(settings)["index"], "index", "warning", f"no worker answers on 127.0.0.1 port {settings.http.port}")
        says(looked(in_folder(folder, is_served=False))["index"], "index", "ok", "in use by another process")


@pytest.mark.process
def test_the_worker_that_holds_a_folder_looks_through_its_own_sink(folder: Path) -> None:
    settings = in_folder(folder)
    sink = MilvusSink(settings.milvus, SPACE)
    (closed,) = look_at_open_sink(settings, sink)
    says(closed, "index", "problem", "not open")
    sink.open()
    try:
        checks = {one.name: one for one in look_at_open_sink(settings, sink)}
    finally:
        sink.close()
    assert [one for one in checks.values() if one.state != "ok"] == []
    says(checks["index"], "index", "ok", "open in this worker")


@pytest.mark.process
def test_no_folder_is_a_warning_and_a_model_that_cannot_be_read_leaves_the_folder_alone(tmp_path: Path, folder: Path) -> None:
    says(looked(in_folder(tmp_path / "nothing"))["index"], "index", "warning", "holds no index yet", "vectail run")
    assert not (tmp_path / "nothing").exists()

    def no_space() -> VectorSpace:
        raise ModelError("it is damaged")

    says(looked(in_folder(folder), no_space)["space"], "space", "warning", "it is damaged")


def test_a_server_that_does_not_answer_is_one_problem() -> None:
    settings = Settings(milvus=MilvusSettings(uri=f"http://127.0.0.1:{free_port()}"))
    (check,) = look_at_server(settings, lambda: SPACE)
    says(check, "index", "problem", "cannot be used", "workers wait for it")
