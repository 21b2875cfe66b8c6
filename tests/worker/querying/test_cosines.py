"""Scores by meaning are cosines, with a filter and without, whether or not the model's own files normalise its vectors."""

import time
from pathlib import Path

import numpy as np
import pytest

from sinks.index_spaces import VectorSpace
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.reading.reader import BlockReader
from sinks.row import TemplateRow, TemplateText, Vector
from sinks.sink import Sink
from tests.sinks.settings import strong_sink
from tests.template_ids import id_of
from tests.worker.embedding.model.tiny import Tiny, make_folder
from tests.world import blocks, line
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.embedding.engine.llama import LlamaEngine
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.model.golden import load_golden
from worker.embedding.model.prepared import prepare_model
from worker.embedding.model.vectors import Vectors
from worker.querying.dense import MOST_TEMPLATES
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery, search
from worker.querying.template_index import TemplateIndex

FARTHEST = 6
"""Templates that are not among those that a search tries first: under a filter they are ranked by their stored vectors."""


def embedded(folder: Path, tiny: Tiny, texts: int) -> Vectors:
    """Return vectors of so many texts as the worker would store them: float32[texts, dim]."""
    model = prepare_model(make_folder(folder / "hf", tiny), folder / "cache")
    engine = LlamaEngine(model, threads=1)
    guarded = GuardedEngine(engine, load_golden(model.golden), new_engine=lambda: engine, say=print, clock=time.monotonic)
    draw = np.random.default_rng(1)
    batches = [[draw.integers(5, model.vocabulary_size, length, np.int32)] for length in draw.integers(3, 8, texts)]
    vectors = np.stack([np.asarray(guarded.embed(batch)[0]) for batch in batches])
    guarded.close()
    return vectors


def scores(sink: Sink, vector: Vector, *, k: int, filters: Filters) -> dict[str, float]:
    """Return the scores of the `k` best templates that have lines under the filters."""
    index = Index(sink, BlockReader(sink), TemplateIndex(lambda: sink.templates, time.monotonic))
    query = Query(text="x", mode="dense", k=k, filters=filters)
    found = search(index, PreparedQuery(query, vector), deadline_passed=lambda: False)
    return {hit.line.template: hit.score or 0.0 for hit in found.hits}


@pytest.mark.process
@pytest.mark.parametrize("normalize", [True, False])
def test_a_template_has_the_same_cosine_with_a_filter_and_without(tmp_path: Path, normalize: bool) -> None:  # noqa: FBT001 (a parameter)
    query, *stored = embedded(tmp_path, Tiny(normalize=normalize), 1 + MOST_TEMPLATES + FARTHEST)
    texts = [TemplateText(f"template {number}") for number in range(len(stored))]
    ids = [id_of(text) for text in texts]
    cosines = [float(vector @ query / (np.linalg.norm(vector) * np.linalg.norm(query))) for vector in stored]
    right = dict(zip(ids, cosines, strict=True))
    farthest = sorted(ids, key=lambda template: right[template])[:FARTHEST]
    sink = strong_sink(MilvusSettings(uri=str(tmp_path / "milvus")), VectorSpace(len(query), "space-1"))
    sink.open()
    sink.templates.upsert([TemplateRow(*row) for row in zip(ids, stored, texts, strict=True)])
    services = ["far" if template in farthest else "near" for template in ids]
    lines = enumerate(zip(texts, services, strict=True))
    sink.write_blocks(blocks([line(number, template_text=text, service=service) for number, (text, service) in lines], 10))

    unfiltered = scores(sink, query, k=len(ids), filters=Filters())
    filtered = scores(sink, query, k=FARTHEST, filters=Filters(service=["far"]))
    sink.close()

    assert unfiltered == pytest.approx(right, abs=1e-5)
    assert filtered == pytest.approx({template: right[template] for template in farthest}, abs=1e-5)
    assert list(filtered) == [template for template in unfiltered if template in farthest]
