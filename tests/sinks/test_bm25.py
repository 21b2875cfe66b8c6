"""Lines with a BM25 function: made when the settings ask for it, taken as it is found, refused where it is missing."""

from pathlib import Path
from typing import Literal

import pytest

from sinks.milvus.fields import Layout, lines_layout
from sinks.milvus.settings import MilvusSettings
from sinks.milvus.sink import MilvusSink
from sinks.sink import LineFilter, SinkMismatch
from tests.sinks.rows import DIGEST, line, newest, offsets
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.stub_server import StubServer
from tests.sinks.test_collections import prepare

Wish = Literal["auto", "on", "off"]


def opened(settings: MilvusSettings, bm25: Wish) -> MilvusSink:
    sink = strong_sink(with_settings(settings, bm25=bm25))
    sink.open()
    return sink


def test_lines_with_bm25_are_found_by_their_words_and_have_no_pad(settings: MilvusSettings) -> None:
    sink = opened(settings, "on")
    assert sink.has_bm25
    sink.upsert_lines([line(offset, text=f"disk {'full' if offset == 7 else 'fine'} {offset}") for offset in range(50)])
    assert [hit.line.offset for hit in sink.matching_lines("full", 5, LineFilter())] == [7]
    with sink._lent.calls() as client:  # noqa: SLF001 (what was made is nobody else's to see)
        described = client.describe("vectail")
    assert described
    assert described.fields["sparse"].computed_from == "text"
    assert "pad" not in described.fields
    assert offsets(newest(sink, DIGEST, 2, LineFilter())) == [49, 48]
    sink.close()


@pytest.mark.parametrize("made", ["on", "off"])
def test_auto_takes_what_is_there(settings: MilvusSettings, made: Wish) -> None:
    opened(settings, made).close()
    for _ in range(2):
        sink = opened(settings, "auto")
        assert sink.has_bm25 is (made == "on")
        sink.upsert_lines([line(1)])
        sink.close()


@pytest.mark.parametrize(
    ("made", "wish", "difference"),
    [
        ("off", "on", "field 'sparse': field is missing, expected a SPARSE_FLOAT_VECTOR"),
        ("on", "off", "field 'pad': field is missing, expected a FLOAT_VECTOR"),
    ],
)
def test_another_wish_than_what_is_there_is_refused_by_field(settings: MilvusSettings, made: Wish, wish: Wish, difference: str) -> None:
    opened(settings, made).close()
    with pytest.raises(SinkMismatch) as refused:
        opened(settings, wish)
    assert str(refused.value) == f"Milvus collection 'vectail', {difference}"


def test_a_sparse_column_that_nothing_computes_is_refused(folder: Path, settings: MilvusSettings) -> None:
    layout = lines_layout("vectail", bm25=True)
    plain = Layout(layout.name, (*layout.fields[:-1], layout.vector._replace(computed_from="", metric="IP")))
    prepare(folder, plain)
    with pytest.raises(SinkMismatch, match=r"field 'sparse': BM25 function is none, expected one of 'text'$"):
        opened(settings, "on")


@pytest.mark.parametrize(("version", "has"), [("v2.4.17", False), ("v2.5.0", True), ("v2.6.11", True)])
def test_a_new_collection_on_a_server_has_bm25_where_its_version_can(
    tmp_path: Path,
    settings: MilvusSettings,
    version: str,
    has: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    server = StubServer(tmp_path / "server")
    server.version = version
    sink = opened(with_settings(settings, uri=server.uri), "auto")
    assert sink.has_bm25 is has
    sink.close()
    server.version = "v2.4.17"
    with pytest.raises(SinkMismatch, match=r"^milvus.bm25 is on: Milvus 2.4 has no BM25"):
        opened(with_settings(settings, uri=server.uri), "on")
    server.close()
