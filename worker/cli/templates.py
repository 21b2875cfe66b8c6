"""`vectail templates --direct`: reads the templates of an index on a Milvus server itself, without any worker.

Only a worker can read its Milvus Lite folder.
"""

import time
from collections.abc import Mapping
from typing import Any

from sinks.milvus.lite import names_server
from sinks.reading.reader import BlockReader
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch
from worker.asking.question import Query
from worker.cli.exits import failure, user_error
from worker.connections import open_sink, vector_space
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.space import EmbeddingSpace
from worker.embedding.model.vectors import Vector
from worker.querying.families import TemplateGroups
from worker.querying.query_text import new_query_encoder
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.querying.template_index import TemplateIndex
from worker.querying.templates import answer_templates
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings


def read_directly(settings: Settings, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
    """Return what a worker would answer, with the text of the question and the seconds that it took. Raises CommandFailed."""
    started_s = time.monotonic()
    if not names_server(settings.milvus.uri):
        raise user_error(f"--direct: {settings.milvus.uri} is a folder, which only its worker can read; leave --direct out")
    configure_logs(quiet=True)
    query = Query.model_validate(request)
    space, vector = _space_and_vector(settings, query.text)

    def is_over() -> bool:
        return time.monotonic() - started_s >= timeout_s

    try:
        with open_sink(settings, vector_space(space), strong=False) as sink:
            index = Index(sink, BlockReader(sink), TemplateIndex(sink.templates, time.monotonic, TemplateGroups(settings.template)))
            answer = answer_templates(index, PreparedQuery(query, vector), is_over)
        return {"text": query.text, **answer, "seconds": round(time.monotonic() - started_s, 4)}
    except SinkMismatch as error:
        raise user_error(error) from error
    except (SinkBusy, SinkBroken) as error:
        raise failure(f"Milvus does not answer: {error}") from error


def _space_and_vector(settings: Settings, like: str | None) -> tuple[EmbeddingSpace, Vector | None]:
    """Return the embedding space of the index, and the vector of `like`; without `like` no engine is loaded."""
    try:
        if like is None:
            return space_of(model_of(settings), settings.model.dims), None
        model = load_model(settings)
        encoder = new_query_encoder(settings, model)
        try:
            return model.space, model.engine.embed([encoder.encode(encoder.treat([like])[0]).ids])[0]
        finally:
            encoder.tokenizer.close()
            model.engine.close()
    except ModelError as error:
        raise user_error(error) from error
