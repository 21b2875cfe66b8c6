"""The worker behind `benchmarks.page`: the whole service in this process, as in `vectail demo`, over an index that is there already."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.own_pipeline import say_nothing
from benchmarks.own_service import broker_tables, create_topics, in_background
from producers.kafka import EmbeddedBroker
from worker.cli.options import worker_settings_or_fail
from worker.cli.run import load_or_fail, open_service
from worker.connections import vector_space
from worker.runtime.listening import listen
from worker.service.service import Service
from worker.settings.settings import Settings

INDEX = "index.db"

FillIndex = Callable[[Path, str], None]
"""Makes an index at a path, whose vectors are of the space with that name."""


class Running(NamedTuple):
    """A worker that answers."""

    url: str
    service: Service
    settings: Settings
    folder: Path

    @property
    def lines(self) -> int:
        """How many lines it has indexed so far."""
        return self.service.pipeline.indexing.store.tally.lines


@contextmanager
def opened(folder: Path, fill_index: FillIndex) -> Iterator[Running]:
    """Let `fill_index` make the index in a new folder, start a worker on it, and drain it at the end."""
    with closing(EmbeddedBroker()) as broker:
        tables = broker_tables(broker.bootstrap_servers) | {"milvus": {"uri": str(folder / INDEX)}, "http": {"port": 0}}
        settings = worker_settings_or_fail(None, tables)
        model = load_or_fail(settings)
        fill_index(folder / INDEX, vector_space(model.space).id)
        create_topics(settings)
        http = listen(settings.http)
        service = open_service(settings, model, say=say_nothing, http=http)
        with in_background(service) as background:
            yield Running(http.url, service, settings, folder)
            background.check()
