"""The services that `benchmarks.query_latency` queries, each with its own broker, folder and client process.

The worker's own code wires them, on threads of this process as in `vectail demo`. The FIFO side differs in one class: its batcher
treats a query as one more log text. All else, caps included, is the same build.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.own_pipeline import say_nothing
from benchmarks.own_service import KeptEngine, broker_tables, create_topics, in_background
from benchmarks.query_latency_client import Topics
from benchmarks.rivals.own_process import OwnProcess
from producers.feed import FeedProgress
from producers.kafka import EmbeddedBroker
from worker.cli.run import BackgroundService, open_service
from worker.embedding.batcher import Batch, Batcher, Urgency, tokens_of
from worker.embedding.embedder import Computed, Embedder, Waiting
from worker.embedding.loaded import LoadedModel
from worker.runtime.fair_share import FairQueue, FairQueues
from worker.service.service import Service
from worker.settings.settings import Settings, load_settings

_LOOK_S = 0.05
_FILL_S = 300.0
_DRAIN_S = 0.5
"""A service under load is abandoned, not drained: thousands of lines wait in it."""


class BatchTime(NamedTuple):
    """One batch in the engine."""

    started_s: float
    seconds: float
    queries: int
    log_tokens: int


class FifoBatcher(Batcher[Waiting]):
    """A query waits behind the log texts that arrived before it; no batch makes room for queries.

    Thread: one at a time, under its owner's lock.
    """

    def add(self, texts: Iterable[Waiting], urgency: Urgency) -> None:  # noqa: ARG002 - as `Batcher.add`
        """Queue texts of any class as if they were log texts."""
        super().add(texts, "bulk")

    def next_batch(self) -> Batch[Waiting]:
        """Return the next batch in order of arrival."""
        mixed = super().next_batch().others
        return Batch([one for one in mixed if one.text.urgency == "query"], [one for one in mixed if one.text.urgency != "query"])


class WatchedEmbedder(Embedder):
    """Records how long each batch took.

    Thread: as `Embedder`; `batches` any.
    """

    batches: list[BatchTime]

    def _deliver(self, computed: Computed) -> None:
        logs = [one for one in computed.texts if one.text.urgency != "query"]
        self.batches.append(BatchTime(computed.started_s, computed.seconds, len(computed.texts) - len(logs), tokens_of(logs)))
        super()._deliver(computed)


class Side(NamedTuple):
    """A running service and its client."""

    settings: Settings
    service: Service
    client: OwnProcess
    running: BackgroundService
    batches: list[BatchTime]

    @property
    def log_tokens(self) -> int:
        """Return how many tokens of log templates it has embedded."""
        return self.service.pipeline.embedder.tally.tokens

    @property
    def waiting_texts(self) -> int:
        """Return how many texts wait for the engine."""
        return len(self.service.pipeline.embedder)


@contextmanager
def opened(settings: Settings, model: LoadedModel, folder: Path, *, fifo: bool = False) -> Iterator[Side]:
    """Open a service on a new broker and a new folder; abandon it at the end, whatever waits in it."""
    with ExitStack() as stack:
        broker = stack.enter_context(closing(EmbeddedBroker()))
        settings = _settings(settings, broker.bootstrap_servers, folder)
        create_topics(settings)
        service = open_service(settings, replace(model, engine=KeptEngine(model.engine)), say=say_nothing)
        embed = service.pipeline.embedder
        embed.__class__ = WatchedEmbedder
        batches: list[BatchTime] = []
        embed.batches = batches  # type: ignore[attr-defined]  # it is one since the line above
        if fifo:
            embed.batcher.__class__ = FifoBatcher
            queues: dict[Urgency, FairQueue[Waiting]] = {"online": FairQueue(), "bulk": FairQueue(size_of=_tokens)}
            embed.batcher._others = FairQueues(queues, size_of=_tokens)  # noqa: SLF001 - one line for all, in which queries have no topic
        running = stack.enter_context(in_background(service))
        topics = Topics(broker.bootstrap_servers, settings.kafka.query_topic, settings.kafka.reply_topic)
        client = OwnProcess("benchmarks.query_latency_client:open_client", [topics], log=folder.with_suffix(".log"))
        stack.callback(client.close)
        yield Side(settings, service, client, running, batches)


def _tokens(text: Waiting) -> int:
    return len(text.ids)


def _settings(settings: Settings, bootstrap_servers: str, folder: Path) -> Settings:
    broker = load_settings(None, broker_tables(bootstrap_servers))
    milvus = settings.milvus.model_copy(update={"uri": str(folder)})
    limits = settings.limits.model_copy(update={"drain_timeout_s": _DRAIN_S})
    return settings.model_copy(update={"topic": broker.topic, "kafka": broker.kafka, "milvus": milvus, "limits": limits})


def await_committed(lines: int, progress: FeedProgress, side: Side) -> None:
    """Wait until that many lines have been sent and all are committed."""
    ledger = side.service.pipeline.indexing.ledger
    await_that(lambda: sum(ledger.committed().values()) >= lines == progress.sent, side)


def await_that(condition: Callable[[], bool], side: Side) -> None:
    """Wait for the condition. Raises CommandFailed if the service ends, SystemExit if it takes too long."""
    until_s = time.monotonic() + _FILL_S
    while not condition():
        side.running.check()
        if time.monotonic() > until_s:
            raise SystemExit("the service does not get there: is the machine too slow, or has it too little memory?")
        time.sleep(_LOOK_S)
