"""Templates with a BM25 function: made when the settings ask for it, taken as it is found, refused where it is missing."""

from pathlib import Path
from typing import Literal

import pytest

from sinks.milvus.fields import Layout, templates_layout
from sinks.milvus.settings import MilvusSettings
from sinks.milvus.sink import MilvusSink
from sinks.sink import SinkMismatch
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.test_collections import prepare
from tests.world import DIM, SPACE, template

Wish = Literal["auto", "on", "off"]
NAME = "vectail_templates_space_1"


def opened(settings: MilvusSettings, bm25: Wish) -> MilvusSink:
    sink = strong_sink(with_settings(settings, bm25=bm25))
    sink.open()
    return sink


@pytest.mark.process
@pytest.mark.parametrize("made", ["on", "off"])
def test_auto_takes_what_is_there(settings: MilvusSettings, made: Wish) -> None:
    opened(settings, made).close()
    for _ in range(2):
        sink = opened(settings, "auto")
        assert sink.has_bm25 is (made == "on")
        sink.upsert_templates([template()])
        sink.close()


@pytest.mark.process
@pytest.mark.parametrize(
    ("made", "wish", "difference"),
    [
        ("off", "on", "field 'sparse': field is missing, expected a SPARSE_FLOAT_VECTOR"),
        ("on", "off", None),
    ],
)
def test_a_function_that_is_missing_is_refused_and_one_that_is_not_asked_for_is_left_unused(
    settings: MilvusSettings, made: Wish, wish: Wish, difference: str | None
) -> None:
    opened(settings, made).close()
    if difference is None:
        sink = opened(settings, wish)
        assert not sink.has_bm25
        sink.upsert_templates([template()])
        assert sink.counts().templates == 1
        sink.close()
        return
    with pytest.raises(SinkMismatch) as refused:
        opened(settings, wish)
    assert str(refused.value) == f"Milvus collection '{NAME}', {difference}"


@pytest.mark.process
def test_a_sparse_column_that_nothing_computes_is_refused(folder: Path, settings: MilvusSettings) -> None:
    layout = templates_layout("vectail", SPACE.id, DIM, bm25=True)
    plain = Layout(layout.name, (*layout.fields[:-1], layout.fields[-1]._replace(computed_from="", metric="IP")))
    prepare(folder, plain)
    with pytest.raises(SinkMismatch, match=r"field 'sparse': BM25 function is none, expected one of 'text'$"):
        opened(settings, "on")
