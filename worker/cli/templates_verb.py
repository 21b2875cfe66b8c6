"""`vectail templates --direct`: reads the templates of an index on a Milvus server itself, without any worker.

Only a worker can read its Milvus Lite folder.
"""

import json
import time
from collections.abc import Mapping
from typing import NamedTuple

from sinks.milvus.lite import names_server
from sinks.reading.reader import BlockReader
from sinks.row import Vector
from worker.asking.question import Query
from worker.cli.exits import user_error
from worker.cli.opened_index import failures_in_one_line
from worker.connections import open_sink, vector_space, with_index_model
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.nearness import Nearness
from worker.embedding.model.space import EmbeddingSpace
from worker.querying.forms import parse_query
from worker.querying.query_text import new_query_encoder
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.querying.template_groups import TemplateGroups
from worker.querying.template_index import TemplateIndex
from worker.querying.template_listing import answer_templates
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings


def read_directly(settings: Settings, request: Mapping[str, object], timeout_s: float) -> dict[str, object]:
    """Return what a worker would answer, with the text of the question and the seconds that it took. Raises CommandFailed."""
    started_s = time.monotonic()
    if not names_server(settings.milvus.uri):
        raise user_error(f"--direct: {settings.milvus.uri} is a folder, which only its worker can read; leave --direct out")
    configure_logs(quiet=True)
    query = parse_query(json.dumps(request).encode())
    with failures_in_one_line(settings, "the templates cannot be read"):
        return {"text": request.get("text"), **_read(settings, query, started_s, timeout_s)}


def _read(settings: Settings, query: Query, started_s: float, timeout_s: float) -> dict[str, object]:
    model = _model_for(with_index_model(settings), query.text)

    def is_over() -> bool:
        return time.monotonic() - started_s >= timeout_s

    with open_sink(settings, vector_space(model.space), strong=False) as sink:
        templates = TemplateIndex(lambda: sink.templates, time.monotonic, TemplateGroups(settings.template))
        index = Index(sink, BlockReader(sink), templates, model.nearness)
        answer = answer_templates(index, PreparedQuery(query, model.vector), is_over)
    return {**answer, "seconds": round(time.monotonic() - started_s, 4)}


class _AskedModel(NamedTuple):
    """What a question needs of the model that filled the index."""

    space: EmbeddingSpace
    vector: Vector | None = None
    """Of the text that was asked for; None: there is none."""
    nearness: Nearness | None = None


def _model_for(settings: Settings, like: str | None) -> _AskedModel:
    """Embed `like`; without it no engine is loaded."""
    if like is None:
        return _AskedModel(space_of(model_of(settings), settings.model.dims))
    model = load_model(settings)
    encoder = new_query_encoder(settings, model)
    try:
        (vector,) = model.engine.embed([encoder.encode(encoder.treat([like])[0]).ids])
        return _AskedModel(model.space, vector, model.nearness)
    finally:
        encoder.tokenizer.close()
        model.engine.close()
