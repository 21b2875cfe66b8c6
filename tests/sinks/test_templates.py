"""What is read back: no vector that is not one, in bounded pieces, and nothing made by reading."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sinks.index_spaces import VectorSpace
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import CollectionFound, CollectionLayout, Row, templates_layout
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.milvus_client import MilvusAddress, MilvusConnection
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from sinks.sink import SinkMismatch
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.stub_server import StubServer
from tests.template_ids import id_of
from tests.world import DIM, SPACE, template, unit


@pytest.mark.process
def test_a_stored_vector_that_is_not_finite_counts_as_missing(folder: Path, sink: MilvusSink) -> None:
    sink.open()
    sink.templates.upsert([template("good"), template("bad")])
    sink.close()
    good, bad, worse = (id_of(text) for text in ("good", "bad", "worse"))
    vectors = np.stack([np.full(DIM, np.nan, np.float32), np.full(DIM, np.inf, np.float32)])
    _write_as_others_might(folder, templates_layout("vectail", SPACE), [bad, worse], vectors)
    sink.open()
    assert sink.templates.vectors([good, bad, worse]).keys() == {good}
    assert np.array_equal(sink.templates.vectors([good])[good], unit(1.0))
    assert sink.templates.texts([good, worse]) == {good: "good", worse: worse}


@pytest.mark.process
def test_the_nearest_of_many_files_are_those_of_all_vectors_however_often_each_was_written(sink: MilvusSink) -> None:
    sink.open()
    random, stored = np.random.default_rng(7), dict[str, NDArray[np.float32]]()
    for turn, texts in enumerate((range(400), range(300, 700), range(700, 1_300), range(295), range(5))):
        rows = [template(f"number {text}", unit(*random.normal(size=DIM) + 3 * np.eye(DIM)[turn % DIM])) for text in texts]
        sink.templates.upsert(rows)
        stored |= {row.template: row.vector for row in rows}
        asked = np.stack([unit(1.0), unit(*random.normal(size=DIM))])
        similar = asked @ np.stack(list(stored.values())).T
        for hits, scores in zip(sink.templates.nearest(asked, 12), similar, strict=True):
            expected = np.argsort(-scores)[:12]
            assert [hit.template for hit in hits] == [list(stored)[place] for place in expected.tolist()]
            assert np.allclose([hit.score for hit in hits], scores[expected], atol=1e-5)
        assert sink.templates.count() == len(stored)


def _write_as_others_might(folder: Path, layout: CollectionLayout, templates: list[str], vectors: NDArray[np.float32]) -> None:
    local = LocalMilvus(folder)
    client = MilvusConnection(MilvusAddress(local.address), timeout_s=10.0, write_timeout_s=10.0, consistency="Strong")
    client.load(layout.name)
    client.upsert(layout, [templates, templates, vectors])
    client.close()
    local.close()


def test_long_vectors_are_asked_for_in_bounded_pieces(folder: Path) -> None:
    server = StubServer(folder)
    sink = MilvusSink(MilvusSettings(uri=server.uri), VectorSpace(32_768, "space-1"))
    sink.open()
    rows = [template(f"{number}", np.full(32_768, number + 1, np.float32)) for number in range(40)]
    sink.templates.upsert(rows)
    server.queries = 0
    vectors = sink.templates.vectors([row.template for row in rows])
    sink.close()
    server.close()
    assert [float(vectors[row.template][0]) for row in rows] == [number + 1 for number in range(40)]
    assert server.queries == 2  # 32 vectors are 4 MiB


@pytest.mark.process
@pytest.mark.parametrize("most_rows", [10**9, 40], ids=["one answer", "small answers"])
def test_a_folders_templates_are_read_with_few_questions(sink: MilvusSink, monkeypatch: pytest.MonkeyPatch, most_rows: int) -> None:
    sink.open()
    rows = {row.template: row.text for row in (template(f"text {number}") for number in range(300))}
    sink.templates.upsert([template(text) for text in rows.values()])
    asked = list[str]()
    query = MilvusConnection.query

    def bounded(client: MilvusConnection, collection: str, expression: str, columns: list[str]) -> list[Row]:
        asked.append(expression)
        if len(found := query(client, collection, expression, columns)) > most_rows:
            raise MilvusFault("query", -1, "RESOURCE_EXHAUSTED: Received message larger than max")
        return found

    monkeypatch.setattr(MilvusConnection, "query", bounded)
    assert sink.templates.all_above("", 1_000) == sorted(rows.items())
    assert (len(asked) == 1) == (most_rows > 300)
    first, *_ = sorted(rows.items())
    asked.clear()
    assert sink.templates.all_above("", 1) == [first]
    assert len(asked) <= 4


@pytest.mark.parametrize("there", [False, True], ids=["no folder", "an empty folder"])
def test_reading_makes_no_index(folder: Path, sink: MilvusSink, *, there: bool) -> None:
    if there:
        folder.mkdir()
    with pytest.raises(SinkMismatch, match=f"^Milvus folder {folder} holds no index yet$"):
        sink.open(create=False)
    assert folder.exists() == there
    assert not there or list(folder.iterdir()) == []


@pytest.mark.process
def test_reading_makes_no_collection_beside_others(settings: MilvusSettings, sink: MilvusSink, folder: Path) -> None:
    sink.open()
    sink.close()
    there = {path.name for path in (folder / "collections").iterdir()}
    other = strong_sink(with_settings(settings, collection="other"))
    for _ in range(2):
        with pytest.raises(SinkMismatch, match=r"^Milvus collection 'other\w*' does not exist; nothing has been indexed yet$"):
            other.open(create=False)
    assert {path.name for path in (folder / "collections").iterdir()} == there


@pytest.mark.parametrize(("said", "ttl_s"), [("3600", 3_600), ("0", 0), ("-1", 0), ("soon", 0), (None, 0)])
def test_a_collections_own_lifetime_is_read_as_milvus_means_it(said: str | None, ttl_s: int) -> None:
    properties = {} if said is None else {"collection.ttl.seconds": said}
    assert CollectionFound({}, auto_id=False, properties=properties).ttl_s == ttl_s
