"""What is read back from a local folder: no vector that is not one, nothing made by reading, and no retention."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from sinks.milvus.client import Client
from sinks.milvus.fields import CollectionFound, Layout, templates_layout
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.searching import MOST_ROWS
from sinks.milvus.settings import VectorSpace
from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.sink import LineFilter, SinkMismatch, TemplateCount
from tests.sinks.rows import DIGEST, DIM, SPACE, line, template, unit
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.stub_server import StubServer


def test_a_stored_vector_that_is_not_finite_counts_as_missing(folder: Path, sink: MilvusSink) -> None:
    sink.open()
    sink.upsert_templates([template("good"), template("bad")])
    sink.close()
    vectors = np.stack([np.full(DIM, np.nan, np.float32), np.full(DIM, np.inf, np.float32)])
    _write_as_others_might(folder, templates_layout("vectail", DIM), ["bad", "worse"], vectors)
    sink.open()
    assert sink.template_vectors(["good", "bad", "worse"]).keys() == {"good"}
    assert np.array_equal(sink.template_vectors(["good"])["good"], unit(1.0))
    assert sink.template_texts(["good", "worse"]) == {"good": "failed password for <user>", "worse": "worse"}


def _write_as_others_might(
    folder: Path, layout: Layout, digests: list[str], vectors: "np.ndarray[tuple[int, int], np.dtype[np.float32]]"
) -> None:
    local = LocalMilvus(folder)
    client = Client(local.address, token="", db="", timeout_s=10.0, write_timeout_s=10.0, consistency="Strong")
    client.load(layout.name)
    client.upsert(layout, [digests, digests, vectors])
    client.close()
    local.close()


def test_long_vectors_are_asked_for_in_bounded_pieces(folder: Path) -> None:
    server = StubServer(folder)
    sink = MilvusSink(MilvusSettings(uri=server.uri), VectorSpace(32_768, "space-1"))
    sink.open()
    rows = [template(f"{number}", np.full(32_768, number + 1, np.float32)) for number in range(40)]
    for part in (rows[:20], rows[20:]):
        sink.upsert_templates(part)
    server.queries = 0
    vectors = sink.template_vectors([row.digest for row in rows])
    sink.close()
    server.close()
    assert [float(vectors[f"{number}"][0]) for number in range(40)] == [number + 1 for number in range(40)]
    assert server.queries == 2  # 32 vectors are 4 MiB


def test_time_that_is_up_ends_the_search_for_the_newest_line_of_a_count(folder: Path) -> None:
    server = StubServer(folder)
    sink = MilvusSink(MilvusSettings(uri=server.uri), SPACE)
    sink.open()
    sink.upsert_lines([line(offset) for offset in range(MOST_ROWS)])
    asked = itertools.count()
    server.queries = 0
    answer = sink.count_templates(LineFilter(), templates=None, most_rows=1 << 20, deadline_passed=lambda: next(asked) > 0)
    assert answer == ([TemplateCount(DIGEST, MOST_ROWS, 0, 1_000 * (MOST_ROWS - 1))], False)
    assert server.queries == 1
    sink.close()
    server.close()


def test_a_local_folder_keeps_everything_and_says_so(settings: MilvusSettings) -> None:
    sink = strong_sink(with_settings(settings, retention_days=1 / 86_400))
    assert sink.retention_s is None
    sink.open()
    sink.upsert_lines([line(1)])
    assert sink.retention_s is None
    sink.close()


@pytest.mark.parametrize("there", [False, True], ids=["no folder", "an empty folder"])
def test_reading_makes_no_index(folder: Path, sink: MilvusSink, *, there: bool) -> None:
    if there:
        folder.mkdir()
    with pytest.raises(SinkMismatch, match=f"^Milvus folder {folder} holds no index yet$"):
        sink.open(create=False)
    assert folder.exists() == there
    assert not there or list(folder.iterdir()) == []


def test_reading_makes_no_collection_beside_others(settings: MilvusSettings, sink: MilvusSink) -> None:
    sink.open()
    sink.close()
    other = strong_sink(with_settings(settings, collection="other"))
    with pytest.raises(SinkMismatch, match=r"^Milvus collection 'other_templates' does not exist; nothing has been indexed yet$"):
        other.open(create=False)
    with pytest.raises(SinkMismatch, match="'other_templates' does not exist"):
        other.open(create=False)


@pytest.mark.parametrize(("said", "ttl_s"), [("3600", 3_600), ("0", 0), ("-1", 0), ("soon", 0), (None, 0)])
def test_a_collections_own_lifetime_is_read_as_milvus_means_it(said: str | None, ttl_s: int) -> None:
    properties = {} if said is None else {"collection.ttl.seconds": said}
    assert CollectionFound({}, auto_id=False, properties=properties).ttl_s == ttl_s
