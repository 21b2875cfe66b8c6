"""Templates with a BM25 function: made when the settings ask for it, taken as it is found, refused where it is missing."""

from pathlib import Path
from typing import Literal

import pytest

from sinks.milvus.fields import CollectionLayout, templates_layout
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.sink import SinkMismatch
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.test_collections import prepare
from tests.world import SPACE, template

Wish = Literal["auto", "on", "off"]
NAME = "vectail_templates_space_1"


def opened(settings: MilvusSettings, bm25: Wish) -> MilvusSink:
    sink = strong_sink(with_settings(settings, bm25=bm25))
    sink.open()
    return sink


@pytest.mark.process
@pytest.mark.parametrize("made", ["on", "off"])
def test_auto_takes_what_is_there_off_leaves_it_unused_and_on_refuses_a_collection_without(settings: MilvusSettings, made: Wish) -> None:
    opened(settings, made).close()
    wishes: tuple[Wish, ...] = ("auto", "off")
    for wish in wishes:
        sink = opened(settings, wish)
        assert sink.templates.capabilities.ranks_words is (wish == "auto" and made == "on")
        sink.templates.upsert([template()])
        assert sink.counts().templates == 1
        sink.close()
    if made == "off":
        with pytest.raises(SinkMismatch) as refused:
            opened(settings, "on")
        assert str(refused.value) == f"Milvus collection '{NAME}', field 'sparse': field is missing, expected a SPARSE_FLOAT_VECTOR"


@pytest.mark.process
def test_a_sparse_column_that_nothing_computes_is_refused(folder: Path, settings: MilvusSettings) -> None:
    layout = templates_layout("vectail", SPACE, bm25=True)
    plain = CollectionLayout(layout.name, (*layout.fields[:-1], layout.fields[-1]._replace(computed_from="", metric="IP")))
    prepare(folder, plain)
    with pytest.raises(SinkMismatch, match=r"field 'sparse': BM25 function is none, expected one of 'text'$"):
        opened(settings, "on")
