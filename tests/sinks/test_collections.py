"""A collection that is not what it must be, or not ours, is refused at open, by the name of what differs."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from sinks.index_spaces import VectorSpace
from sinks.milvus.collections import check_collection, check_name, check_owner, check_space, properties
from sinks.milvus.fields import (
    LAYOUT_PROPERTY,
    SPACE_PARTS_PROPERTY,
    SPACE_PROPERTY,
    CollectionFound,
    CollectionLayout,
    Field,
    FieldFound,
    blocks_layout,
    templates_layout,
    templates_name,
)
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.milvus_client import MilvusAddress, MilvusConnection, type_name
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from sinks.sink import SinkBusy, SinkMismatch
from tests.sinks.settings import strong_sink
from tests.sinks.stub_server import StubServer
from tests.world import DIM, SPACE, block, line, template

BLOCKS = blocks_layout("vectail")
TEMPLATES = templates_layout("vectail", SPACE)
OURS = properties(SPACE, "vectail")


def prepare(
    folder: Path,
    layout: CollectionLayout,
    space: str | None = "space-1",
    *,
    index: bool = True,
    rows: int = 0,
    kept: Mapping[str, str] = OURS,
) -> None:
    """Create one collection as somebody else might have; `space` None: with no properties but those in `kept`."""
    local = LocalMilvus(folder)
    client = MilvusConnection(MilvusAddress(local.address), timeout_s=10.0, write_timeout_s=10.0, consistency="Strong")
    client.create(layout, {**kept, SPACE_PROPERTY: space} if space else {one: kept[one] for one in kept if one != SPACE_PROPERTY})
    if index:
        client.index(layout.name, layout.vector, layout.vector.index_type)
    if rows:
        keys = [f"{number}" for number in range(rows)]
        client.upsert(layout, [keys, keys, np.ones((rows, layout.vector.limit), np.float32)])
    client.close()
    local.close()


def changed(layout: CollectionLayout, name: str, field: Field | None) -> CollectionLayout:
    """Return the layout with one field replaced or left out."""
    fields = tuple(field if one.name == name else one for one in layout.fields)
    return CollectionLayout(layout.name, tuple(one for one in fields if one is not None))


TEMPLATES_OF_OTHERS = {
    "dim": (changed(TEMPLATES, "vector", Field("vector", "vector", DIM + 1, metric="COSINE")), "field 'vector': dim is 9, expected 8"),
    "metric": (
        changed(TEMPLATES, "vector", Field("vector", "vector", DIM, metric="L2")),
        "field 'vector': index is L2, expected metric COSINE",
    ),
    "key type": (changed(TEMPLATES, "template", Field("template", "int64", key=True)), "field 'template': type is INT64, expected VARCHAR"),
    "missing": (changed(TEMPLATES, "text", None), "field 'text': field is missing, expected a VARCHAR"),
    "length": (changed(TEMPLATES, "text", Field("text", "varchar", 100)), "field 'text': max_length is 100, expected 65535"),
    "key": (
        changed(changed(TEMPLATES, "template", Field("template", "varchar", 32)), "text", Field("text", "varchar", 65_535, key=True)),
        "field 'template': primary key is no, expected yes",
    ),
    "stranger": (
        CollectionLayout(TEMPLATES.name, (*TEMPLATES.fields[:2], Field("tenant", "varchar", 10), TEMPLATES.vector)),
        "field 'tenant': every row would need it, expected no such field",
    ),
}


@pytest.mark.process
@pytest.mark.parametrize(("layout", "difference"), TEMPLATES_OF_OTHERS.values(), ids=TEMPLATES_OF_OTHERS)
def test_templates_of_others_are_refused_by_field(folder: Path, sink: MilvusSink, layout: CollectionLayout, difference: str) -> None:
    prepare(folder, layout)
    with pytest.raises(SinkMismatch) as error:
        sink.open()
    assert str(error.value) == f"Milvus collection 'vectail_templates_space_1', {difference}"


BLOCKS_OF_OTHERS = {
    "type": (changed(BLOCKS, "first_ms", Field("first_ms", "varchar", 30)), "field 'first_ms': type is VARCHAR, expected INT64"),
    "width": (changed(BLOCKS, "partition", Field("partition", "int64")), "field 'partition': type is INT64, expected INT32"),
    "missing": (changed(BLOCKS, "lines", None), "field 'lines': field is missing, expected a INT32"),
    "items": (changed(BLOCKS, "words", Field("words", "int64s", 4_096)), "field 'words': type is ARRAY<INT64>, expected ARRAY<INT32>"),
    "capacity": (changed(BLOCKS, "words", Field("words", "int32s", 100)), "field 'words': max_capacity is 100, expected 4096"),
    "no array": (changed(BLOCKS, "levels", Field("levels", "varchar", 64)), "field 'levels': type is VARCHAR, expected ARRAY<VARCHAR>"),
    "pad": (changed(BLOCKS, "pad", Field("pad", "vector", 4, metric="L2")), "field 'pad': dim is 4, expected 2"),
}


@pytest.mark.parametrize(("layout", "difference"), BLOCKS_OF_OTHERS.values(), ids=BLOCKS_OF_OTHERS)
def test_blocks_of_others_are_refused_by_field(server: StubServer, layout: CollectionLayout, difference: str) -> None:
    client = MilvusConnection(MilvusAddress(server.uri), timeout_s=10.0, write_timeout_s=10.0, consistency="Strong")
    client.create(layout, OURS)
    client.close()
    with pytest.raises(SinkMismatch) as error:
        strong_sink(MilvusSettings(uri=server.uri)).open()
    assert str(error.value) == f"Milvus collection 'vectail', {difference}"


FIRST_LINES = CollectionLayout(
    "vectail",
    (
        Field("id", "varchar", 400, key=True),
        Field("template", "varchar", 32),
        Field("text", "varchar", 65_535),
        Field("time", "int64"),
        Field("pad", "vector", 2, metric="L2"),
    ),
)


@pytest.mark.process
def test_an_index_of_the_first_layout_is_refused_with_what_to_do_and_left_as_it_is(folder: Path, sink: MilvusSink) -> None:
    prepare(folder, FIRST_LINES, None, kept={})
    with pytest.raises(SinkMismatch) as error:
        sink.open()
    assert str(error.value) == (
        "Milvus collection 'vectail' is an index of the first layout, with a row per line: this version stores blocks of lines; "
        "set milvus.collection to a new name and index again (Kafka still has the lines), then drop the old collection"
    )
    assert [path.name for path in (folder / "collections").iterdir()] == ["vectail"]


@pytest.mark.process
@pytest.mark.parametrize(("kept", "layout"), [({}, "unknown"), ({LAYOUT_PROPERTY: "3"}, "3")])
def test_another_layout_is_refused(folder: Path, sink: MilvusSink, kept: Mapping[str, str], layout: str) -> None:
    prepare(folder, changed(FIRST_LINES, "time", None), None, kept=kept)
    with pytest.raises(
        SinkMismatch, match=f"^Milvus collection 'vectail' has layout {layout}, this version reads and writes layout 2; set"
    ):
        sink.open()


@pytest.mark.process
def test_another_consumer_group_is_refused_unless_it_takes_the_index_over(settings: MilvusSettings, sink: MilvusSink) -> None:
    sink.open()
    sink.write_blocks([block([line(1)])])
    sink.close()
    said: list[str] = []
    other = strong_sink(settings, group="blue", say=said.append)
    for create in (False, True):
        with pytest.raises(SinkMismatch) as error:
            other.open(create=create)
        assert str(error.value) == (
            "Milvus collection 'vectail' is the index of consumer group 'vectail', this worker's group is 'blue' and would store "
            "every line a second time; set milvus.collection to a new name, or take the index over with --adopt"
        )
    other.open(adopt=True)
    assert other.counts().blocks == 1
    other.close()
    assert said == ["consumer group 'blue' has taken the index 'vectail' over from group 'vectail'"]
    with pytest.raises(SinkMismatch, match="is the index of consumer group 'blue'"):
        sink.open()
    other.open()
    other.close()


@pytest.mark.parametrize(("there", "said"), [("space-2", "space-2"), (None, "unknown")])
def test_another_embedding_space_is_refused_and_both_are_named(there: str | None, said: str) -> None:
    kept = {one: value for one, value in OURS.items() if one != SPACE_PROPERTY} | ({} if there is None else {SPACE_PROPERTY: there})
    found = CollectionFound({}, auto_id=False, properties=kept, name="vectail")
    with pytest.raises(SinkMismatch, match=rf"'vectail'.* space {said}, this worker's are of space-1; use another collection"):
        check_owner(found, SPACE, "vectail", adopt=False)


def test_a_space_is_in_the_name_of_the_templates_collection_as_far_as_a_name_can_have_it() -> None:
    assert templates_name("logs", "051b7c9f50f91b86") == "logs_templates_051b7c9f"
    assert templates_name("logs", "space-1") == "logs_templates_space_1"


@pytest.mark.process
def test_what_tells_two_spaces_apart_is_named(settings: MilvusSettings) -> None:
    parts = {"pooling": "mean", "document_prefix": "", "query_prefix": "query: "}
    first = strong_sink(settings, VectorSpace(DIM, "space-1", parts))
    first.open()
    first.close()
    second = strong_sink(settings, VectorSpace(DIM, "space-2", parts | {"document_prefix": "passage: ", "pooling": "cls"}))
    with pytest.raises(SinkMismatch) as refused:
        second.open()
    assert "are of space-2 (pooling is 'mean' there and 'cls' here, document_prefix is '' there and 'passage: ' here); use" in str(
        refused.value
    )


@pytest.mark.parametrize("remembered", ["[]", "{", '"x"', "{}"])
def test_a_collection_that_does_not_remember_what_its_space_was_is_refused_all_the_same(remembered: str) -> None:
    fields = {field.name: FieldFound(type_name(field.kind), field.limit, key=field.key, optional=False) for field in TEMPLATES.fields}
    found = CollectionFound(fields, auto_id=False, properties={SPACE_PROPERTY: "space-2", SPACE_PARTS_PROPERTY: remembered})
    with pytest.raises(SinkMismatch, match="are of space-1; use another"):
        check_space(found, VectorSpace(DIM, "space-1", {"pooling": "mean"}))


@pytest.mark.process
def test_a_refused_folder_is_let_go(folder: Path, sink: MilvusSink, settings: MilvusSettings) -> None:
    prepare(folder, changed(TEMPLATES, "text", None))
    with pytest.raises(SinkMismatch):
        sink.open()
    other = MilvusSink(MilvusSettings(uri=settings.uri, collection="other"), SPACE)
    other.open()
    other.close()


def test_auto_id_is_refused() -> None:
    fields = {"template": FieldFound("INT64", 0, key=True, optional=False)}
    with pytest.raises(SinkMismatch, match="'vectail_templates_space_1', field 'template': auto_id is on, expected off"):
        check_collection(TEMPLATES, CollectionFound(fields, auto_id=True, properties={}))


def test_a_field_that_rows_may_leave_out_is_no_difference() -> None:
    fields = {
        "template": FieldFound("VARCHAR", 32, key=True, optional=False),
        "text": FieldFound("VARCHAR", 65_535, key=False, optional=False),
        "vector": FieldFound("FLOAT_VECTOR", DIM, key=False, optional=False),
        "sparse": FieldFound("SPARSE_FLOAT_VECTOR", 0, key=False, optional=True),
    }
    check_collection(TEMPLATES, CollectionFound(fields, auto_id=False, properties={}))


@pytest.mark.process
def test_an_empty_collection_without_an_index_is_finished(folder: Path, sink: MilvusSink) -> None:
    prepare(folder, TEMPLATES, index=False)
    sink.open()
    sink.templates.upsert([template("a")])
    sink.write_blocks([block([line(1)])])
    assert sink.counts() == (1, 1)


@pytest.mark.process
def test_a_filled_collection_without_an_index_is_refused(folder: Path, sink: MilvusSink) -> None:
    prepare(folder, TEMPLATES, index=False, rows=3)
    with pytest.raises(SinkMismatch, match="'vectail_templates_space_1', field 'vector': index is none, expected metric COSINE"):
        sink.open()


@pytest.mark.parametrize("name", ["", "1st", "my-logs", "a b", "ö", "a" * 300])
def test_a_name_that_no_milvus_takes_is_refused(name: str) -> None:
    with pytest.raises(SinkMismatch, match="a name is letters"):
        check_name(name)


def test_a_server_that_is_away_is_busy_and_a_wrong_address_a_mismatch() -> None:
    with pytest.raises(SinkBusy):
        MilvusSink(MilvusSettings(uri="http://127.0.0.1:1", timeout_s=0.5), SPACE).open()
    with pytest.raises(SinkMismatch, match="is not a Milvus address"):
        MilvusSink(MilvusSettings(uri="ftp://127.0.0.1:1", timeout_s=0.5), SPACE).open()


def test_settings_do_not_show_their_secrets() -> None:
    shown = repr(MilvusSettings(uri="http://h:1", token=SecretStr("hush-1"), password=SecretStr("hush-2")))
    assert "hush" not in shown
