"""The doctor's judgements of Milvus on planted facts, and its questions to a real server and to a real folder of Milvus Lite."""

import fcntl
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from sinks.index_spaces import IndexSpaces, SpaceState, StoredSpace, VectorSpace, encode_spaces
from sinks.milvus.fields import CollectionFound, CollectionLayout, FieldFound, blocks_layout, templates_layout
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from tests.services.ports import free_port
from tests.worker.inspecting.judged import judge, says
from worker.embedding.model.errors import ModelError
from worker.inspecting.doctor import State, Verdict, judge_all
from worker.inspecting.doctor_lite import (
    FOLDER_CHECKS,
    INDEX_CHECKS,
    MOST_LINES,
    FolderFacts,
    IndexFacts,
    look_at_folder,
    look_at_open_sink,
)
from worker.inspecting.doctor_milvus import SERVER_CHECKS, ServerFacts, look_at_server
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


def collection(layout: CollectionLayout, **properties: str) -> CollectionFound:
    kept = {"vectail.layout": "2", "vectail.space": SPACE.id, "vectail.group": "vectail"}
    return CollectionFound(
        {field.name: FieldFound(_TYPES[field.kind], field.limit, key=field.key, optional=False) for field in layout.fields},
        auto_id=False,
        properties=kept | {name.replace("__", "."): value for name, value in properties.items()},
        name=layout.name,
    )


BLOCKS = collection(blocks_layout("vectail"))
TEMPLATES = collection(templates_layout("vectail", SPACE))
FACTS = ServerFacts(SETTINGS, 0.1, SPACE, "", "v2.6.1", BLOCKS, TEMPLATES, {"vectail": 12})
NARROW = BLOCKS._replace(fields={**BLOCKS.fields, "places": FieldFound("VARCHAR", 9, key=False, optional=False)})
OTHER = FACTS._replace(blocks=collection(blocks_layout("vectail"), vectail__space="0000", vectail__group="others"))


def _changing(state: SpaceState, *, since_ms: int, preferred: str = SPACE.id) -> ServerFacts:
    """Return an index whose model changes from or to another one."""
    own = StoredSpace(dim=4, model="", state="ready", since_ms=0)
    other = StoredSpace(dim=6, model="bge-small", state=state, since_ms=since_ms)
    spaces = IndexSpaces(preferred=preferred, views={SPACE.id: own, "0123": other})
    return FACTS._replace(blocks=collection(blocks_layout("vectail"), vectail__spaces=encode_spaces(spaces)))


HALVES = FACTS._replace(settings=Settings(milvus=MilvusSettings(vector_type="FLOAT16")))
WEEK = FACTS._replace(settings=Settings(index=IndexTable(retention_days=7)))
KEPT = collection(blocks_layout("vectail"), **{"collection.ttl.seconds": str(7 * 86_400)})


def test_an_index_of_this_version_model_and_group_is_well() -> None:
    assert {one.state for one in judge_all(SERVER_CHECKS, FACTS).values()} == {"ok"}
    assert set(judge_all(SERVER_CHECKS, FACTS._replace(blocks=None))) == {"index", "version", "schema", "consistency"}


@pytest.mark.parametrize(
    ("name", "facts", "state", "words"),
    [
        ("index", FACTS._replace(seconds=3.0), "warning", "3 s"),
        ("version", FACTS, "ok", "Milvus 2.6.1"),
        ("space", _changing("old", since_ms=0), "ok", "a second view, of bge-small, which is old"),
        ("space", _changing("building", since_ms=int(time.time() * 1000)), "ok", "is building for 0."),
        ("space", _changing("building", since_ms=0), "warning", "reindex --status"),
        ("space", _changing("ready", since_ms=0, preferred="0123"), "warning", "prefers another model, bge-small"),
        ("version", HALVES._replace(version="v2.3.5"), "problem", "milvus.vector_type is FLOAT16"),
        ("version", FACTS._replace(version="v2.3.5"), "ok", "no BM25 and no indexes on arrays"),
        ("version", FACTS._replace(version="v2.2.9"), "warning", "2.2.9"),
        ("schema", FACTS._replace(blocks=None), "warning", "does not exist|vectail run"),
        ("schema", FACTS._replace(templates=None), "warning", "vectail_templates_abcdef01"),
        ("schema", FACTS._replace(blocks=collection(blocks_layout("vectail"), vectail__layout="1")), "problem", "layout 1, not 2"),
        ("schema", FACTS._replace(blocks=NARROW), "problem", "'places': max_length is 9"),
        ("space", OTHER, "problem", f"0000|{SPACE.id}"),
        ("space", FACTS._replace(space=None, space_error="no such folder"), "warning", "no such folder"),
        ("owner", OTHER, "problem", "'others'|--adopt"),
        ("loaded", FACTS._replace(no_index=("vectail",)), "problem", "no index"),
        ("loaded", FACTS._replace(not_loaded=("vectail",)), "warning", "vectail is not loaded"),
        ("retention", WEEK._replace(blocks=KEPT), "ok", "7 d"),
        ("retention", WEEK, "warning", "for ever|retention_days is 7"),
        ("retention", FACTS, "ok", "for ever"),
        ("size", FACTS, "ok", "12 rows in vectail"),
    ],
)
def test_what_a_server_says_is_judged(name: str, facts: ServerFacts, state: State, words: str) -> None:
    says(judge(SERVER_CHECKS, name, facts), state, words)


FOLDER = FolderFacts(SETTINGS, Path("/index"), 0o700, 100 * GIB, GIB)
INDEX = IndexFacts(SETTINGS, "/index is open", 0.1, 1_000, 1, 1)


@pytest.mark.parametrize(
    ("name", "facts", "state", "words"),
    [
        ("folder", FOLDER, "ok", "/index"),
        ("folder", FOLDER._replace(mode=0o755), "warning", "0755|chmod 700 /index"),
        ("disk", FOLDER, "ok", "100 GiB free"),
        ("disk", FOLDER._replace(free_bytes=GIB // 2), "warning", "make room"),
        ("disk", FOLDER._replace(free_bytes=10 * GIB, used_bytes=30 * GIB), "warning", "the folder has 30 GiB"),
        ("disk", FOLDER._replace(free_bytes=GIB // 100), "problem", "ends the worker"),
    ],
)
def test_what_the_file_system_says_of_a_folder_is_judged(name: str, facts: FolderFacts, state: State, words: str) -> None:
    says(judge(FOLDER_CHECKS, name, facts), state, words)


def test_too_many_lines_for_milvus_lite_are_found() -> None:
    says(judge(INDEX_CHECKS, "size", INDEX), "ok", "1,000 lines in 1 block,")
    says(judge(INDEX_CHECKS, "size", INDEX._replace(lines=MOST_LINES // 2 + 1)), "warning", "server")
    says(judge(INDEX_CHECKS, "size", INDEX._replace(lines=MOST_LINES + 1)), "problem", "server")


def in_folder(folder: Path, *, is_served: bool = True) -> Settings:
    return Settings(milvus=MilvusSettings(uri=str(folder)), http=HttpTable(port=free_port(), enabled=is_served))


def looked(settings: Settings, new_space: Callable[[], VectorSpace] = lambda: SPACE) -> Mapping[str, Verdict]:
    return look_at_folder(settings, new_space)


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
    assert {one.state for one in checks.values()} == {"ok"}
    says(checks["index"], "ok", "no worker uses it")
    says(checks["size"], "ok", "0 lines in 0 blocks")


@pytest.mark.process
def test_a_folder_of_another_model_or_group_is_a_problem(folder: Path) -> None:
    says(looked(in_folder(folder), lambda: SPACE._replace(id="0" * 16))["space"], "problem", SPACE.id)
    other = in_folder(folder).model_copy(update={"kafka": KafkaTable(group="others")})
    says(looked(other)["owner"], "problem", "'vectail'|'others'")


@pytest.mark.process
def test_a_folder_in_use_is_not_opened_and_its_holder_is_asked(folder: Path) -> None:
    with (folder / "LOCK").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        settings = in_folder(folder)
        says(looked(settings)["index"], "warning", f"no worker answers on 127.0.0.1 port {settings.http.port}")
        says(looked(in_folder(folder, is_served=False))["index"], "ok", "in use by another process")


@pytest.mark.process
def test_the_worker_that_holds_a_folder_looks_through_its_own_sink(folder: Path) -> None:
    settings = in_folder(folder)
    sink = MilvusSink(settings.milvus, SPACE)
    says(look_at_open_sink(settings, sink, lambda: SPACE)["index"], "problem", "not open")
    sink.open()
    try:
        alone = sink.spaces()
        slow = StoredSpace(dim=6, model="bge-small", state="building", since_ms=int(time.time() * 1000), refused="not preferred: speed")
        assert sink.change_spaces(alone, alone.with_view("0123", slow))
        says(look_at_open_sink(settings, sink, lambda: SPACE)["space"], "warning", "of bge-small|not preferred: speed|--drop")
        assert sink.change_spaces(sink.spaces(), alone)
        checks = look_at_open_sink(settings, sink, lambda: SPACE)
    finally:
        sink.close()
    assert {one.state for one in checks.values()} == {"ok"}
    says(checks["index"], "ok", "open in this worker")


@pytest.mark.process
def test_no_folder_is_a_warning_and_a_model_that_cannot_be_read_leaves_the_folder_alone(tmp_path: Path, folder: Path) -> None:
    says(looked(in_folder(tmp_path / "nothing"))["index"], "warning", "holds no index yet|vectail run")
    assert not (tmp_path / "nothing").exists()

    def no_space() -> VectorSpace:
        raise ModelError("it is damaged")

    says(looked(in_folder(folder), no_space)["space"], "warning", "it is damaged")


def test_a_server_that_does_not_answer_is_one_problem() -> None:
    settings = Settings(milvus=MilvusSettings(uri=f"http://127.0.0.1:{free_port()}"))
    verdicts = look_at_server(settings, lambda: SPACE)
    assert list(verdicts) == ["index"]
    says(verdicts["index"], "problem", "cannot be used|workers wait for it")
