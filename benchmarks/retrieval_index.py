"""An index of lines in a running service, and a way to query it, for benchmarks of answers rather than of time.

A hit's partition and offset identify its line: line i of the feed goes to partition i modulo their number, as `producers.feed` promises.
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
"""Partitions of a topic of the embedded broker."""
_ANSWER_S = 60.0

Ask = Callable[[Mapping[str, object]], list[dict[str, Any]]]
"""Takes a request, returns its hits. Raises SystemExit for an error, or for an answer that a bound cut short."""


@contextmanager
def indexed(settings: Settings, model: LoadedModel, folder: Path, lines: Sequence[str]) -> Iterator[Ask]:
    """Index the lines in a new folder and yield a way to query it; an empty line is not stored."""
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
    """Return the number of a hit's line, from 0."""
    return int(hit["offset"]) * _PARTITIONS + int(hit["partition"])
