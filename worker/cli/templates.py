"""`vectail templates`: the families of templates in the index, or its templates, most frequent first, or nearest to a text first.

It asks the running worker, over Kafka: only the worker can read its Milvus Lite folder, and its engine is loaded. With `--direct` it
reads the index on a Milvus server itself, without any worker.
"""

import time
from dataclasses import dataclass
from typing import Any

from sinks.milvus.lite import names_server
from sinks.milvus.sink import MilvusSink
from sinks.reading.reader import BlockReader
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch
from worker.cli.exclusions import NO_EXCLUSIONS, Exclusions
from worker.cli.exits import failure, user_error
from worker.cli.filter_values import given, values_by_name
from worker.cli.search import ask_worker, open_query_client
from worker.connections import vector_space
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.space import EmbeddingSpace
from worker.embedding.model.vectors import Vector
from worker.query import Query
from worker.querying.families import TemplateGroups
from worker.querying.family_listing import families_document, find_families
from worker.querying.query_text import new_query_encoder
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.querying.template_index import TemplateIndex
from worker.querying.templates import find_templates, templates_document
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatesOptions:
    """The options of `vectail templates`."""

    like: str | None
    """A text that the templates should resemble; None: list by frequency."""
    since_ms: int | None
    k: int
    timeout_s: float
    until_ms: int | None = None
    expand: bool = False
    """List templates one by one, not as families."""
    families: tuple[str, ...] = ()
    """Ids: only templates of these."""
    services: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    """Names and values."""
    excluded: Exclusions = NO_EXCLUSIONS
    direct: bool = False
    """Read the index without a worker."""

    def request(self) -> dict[str, Any]:
        """Return the options as a query on the wire."""
        text = {} if self.like is None else {"text": self.like, "mode": "dense"}
        expand = {"expand": True} if self.expand else {}
        filters = given(
            {
                "since_ms": self.since_ms,
                "until_ms": self.until_ms,
                "service": list(self.services),
                "level": list(self.levels),
                "topic": list(self.topics),
                "family": list(self.families),
                "fields": values_by_name(self.fields),
                **self.excluded.filters(),
            }
        )
        return {**text, "as": "templates", "k": self.k, **expand, "filters": filters}


def list_templates(settings: Settings, options: TemplatesOptions) -> dict[str, Any]:
    """Return what `--json` prints and what the screen shows. Raises CommandFailed."""
    started_s = time.monotonic()
    if options.direct:
        if not names_server(settings.milvus.uri):
            raise user_error(f"--direct: {settings.milvus.uri} is a folder, which only its worker can read; leave --direct out")
        answer = _read_directly(settings, options)
    else:
        with open_query_client(settings.kafka) as client:
            answer = ask_worker(client, options.request(), timeout_s=options.timeout_s)
    return {
        "like": options.like,
        "since_ms": options.since_ms,
        "seconds": round(time.monotonic() - started_s, 4),
        "complete": answer["complete"],
        "templates": answer["templates"],
    }


def _read_directly(settings: Settings, options: TemplatesOptions) -> dict[str, Any]:
    configure_logs(quiet=True)
    space, vector = _space_and_vector(settings, options.like)
    sink = MilvusSink(settings.milvus, vector_space(space), consumer_group=settings.kafka.group)
    deadline_s = time.monotonic() + options.timeout_s

    def is_over() -> bool:
        return time.monotonic() >= deadline_s

    query = Query.model_validate(options.request())
    try:
        sink.open(create=False)
        index = Index(sink, BlockReader(sink), TemplateIndex(sink, time.monotonic, TemplateGroups(settings.template)))
        sought = PreparedQuery(query, vector)
        if query.expand:
            return templates_document(find_templates(index, sought, is_over))
        return families_document(find_families(index, sought, is_over))
    except SinkMismatch as error:
        raise user_error(error) from error
    except (SinkBusy, SinkBroken) as error:
        raise failure(f"Milvus does not answer: {error}") from error
    finally:
        sink.close()


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
