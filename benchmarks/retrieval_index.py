"""Lines in an index of a running service, and who asks it: for the benchmarks that look at answers and not at time.

A hit is told by its place: line i of those that were fed lies in partition i modulo their number, as `producers.feed` promises.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.query_latency_sides import await_that, fed, opened
from worker.cli.query_client import QueryClient
from worker.embedding.loaded import LoadedModel
from worker.settings.settings import Settings

_PARTITIONS = 4
"""Of a topic of the embedded broker."""
_ANSWER_S = 60.0

Ask = Callable[[Mapping[str, object]], list[dict[str, Any]]]
"""Takes a request, returns its hits. Raises SystemExit when there are none to speak of: an error, or an answer that a bound cut."""


@contextmanager
def indexed(settings: Settings, model: LoadedModel, folder: Path, lines: Sequence[str]) -> Iterator[Ask]:
    """Index the lines in a new folder, with full-text search, and lend out who asks; a line that is empty has no row."""
    settings = settings.model_copy(update={"milvus": settings.milvus.model_copy(update={"bm25": "on"})})
    with opened(settings, model, folder) as side:
        with fed(side, (line.encode() for line in lines)) as count:
            await_that(lambda: sum(side.service.pipeline.log_ledger.committed().values()) >= len(lines) == count.sent, side)
        client = QueryClient(side.settings.kafka)

        def ask(request: Mapping[str, object]) -> list[dict[str, Any]]:
            reply = client.ask(request, timeout_s=_ANSWER_S)
            if "hits" not in reply:
                raise SystemExit(f"{request}: {reply}")
            hits: list[dict[str, Any]] = reply["hits"]
            return hits

        try:
            yield ask
        finally:
            client.close()


def line_of(hit: Mapping[str, Any]) -> int:
    """Return which of the lines a hit is, counted from 0."""
    return int(hit["offset"]) * _PARTITIONS + int(hit["partition"])
