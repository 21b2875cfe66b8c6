"""`vectail templates`: the kinds of lines in the index, most frequent first, or nearest to a text first.

The running worker is asked, over Kafka: it alone can read a Milvus Lite folder, and its engine is loaded. The index on a Milvus server
can also be read here, without any worker.
"""

import time
from dataclasses import dataclass
from typing import Any

from sinks.milvus.lite import names_server
from sinks.milvus.sink import MilvusSink
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch
from worker.cli.exits import must_change, problem
from worker.cli.search import ask_worker, open_asker
from worker.connections import milvus_settings
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.space import EmbeddingSpace
from worker.embedding.model.vectors import Vector
from worker.query import Query
from worker.querying.query_text import new_query_encoder
from worker.querying.search.search import PreparedQuery
from worker.querying.search.templates import StopWhen, find_templates, templates_document
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings

_MOST_LINES = 10_000_000
"""Read here, nobody else waits: the time-out is the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatesOptions:
    """What the user asked for.

    Thread: main.
    """

    like: str | None
    """A text that they should resemble; None: the most frequent."""
    since_ms: int | None
    k: int
    timeout_s: float
    direct: bool = False
    """Read the index here."""

    def request(self) -> dict[str, Any]:
        """Return it as a query on the wire."""
        text = {} if self.like is None else {"text": self.like, "mode": "dense"}
        filters = {} if self.since_ms is None else {"since_ms": self.since_ms}
        return {**text, "as": "templates", "k": self.k, "filters": filters}


def list_templates(settings: Settings, options: TemplatesOptions) -> dict[str, Any]:
    """Return what `--json` prints and what the screen shows. Raises CommandFailed."""
    started_s = time.monotonic()
    if options.direct:
        if not names_server(settings.milvus.uri):
            raise must_change(f"--direct: {settings.milvus.uri} is a folder, which belongs to its worker; leave --direct out")
        answer = _read(settings, options)
    else:
        with open_asker(settings.kafka) as asker:
            answer = ask_worker(asker, options.request(), timeout_s=options.timeout_s)
    return {
        "like": options.like,
        "since_ms": options.since_ms,
        "seconds": round(time.monotonic() - started_s, 4),
        "complete": answer["complete"],
        "templates": answer["templates"],
    }


def _read(settings: Settings, options: TemplatesOptions) -> dict[str, Any]:
    configure_logs(quiet=True)
    space, vector = _asked(settings, options.like)
    sink = MilvusSink(milvus_settings(settings, space))
    deadline_s = time.monotonic() + options.timeout_s

    def is_over() -> bool:
        return time.monotonic() >= deadline_s

    query = Query.model_validate(options.request())
    try:
        sink.open(create=False)
        return templates_document(
            find_templates(sink, PreparedQuery(query, vector), StopWhen(counted=is_over, all=is_over), most_lines=_MOST_LINES)
        )
    except SinkMismatch as error:
        raise must_change(error) from error
    except (SinkBusy, SinkBroken) as error:
        raise problem(f"Milvus does not answer: {error}") from error
    finally:
        sink.close()


def _asked(settings: Settings, like: str | None) -> tuple[EmbeddingSpace, Vector | None]:
    """Return the space whose index is read, and the vector of the text; without a text no engine is loaded."""
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
        raise must_change(error) from error
