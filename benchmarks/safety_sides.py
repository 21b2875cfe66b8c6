"""The differences between the two sides of `benchmarks.safety`, their instrumentation, and an engine that is not the bottleneck.

Unsafe is a source whose client commits by itself what it has delivered, and a sink that does not say
what is stored already; all else is the worker's own on both sides.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consumers.kafka.kafka_source import KafkaSource
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.kafka.subscription import Subscription
from consumers.record import Partition, Records
from consumers.source import Rebalance
from sinks.heads import join_heads
from sinks.milvus.milvus_sink import MilvusSink
from sinks.sink import BlockFilter, FoundBlocks
from worker.embedding.engine.engine import Engine
from worker.embedding.loaded import LoadedModel, model_of, space_of
from worker.embedding.model.golden import Golden, load_golden
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.settings.settings import Settings

AUTO_COMMIT = {"enable.auto.commit": "true", "enable.auto.offset.store": "true"}
"""Commit everything handed out, every 5 seconds: the client's own default."""
NOTHING = FoundBlocks(join_heads([]), is_all=True)


class MadeUpEngine:
    """Vectors depend on nothing but the token ids of their own text, and cost next to nothing.

    Thread: one.
    """

    name = "made up"
    on_cpu = True
    batch_tokens = 8_192

    def __init__(self, dim: int, max_tokens: int) -> None:
        self.dim = dim
        self.max_tokens = max_tokens

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """Return float32[n, dim], of length 1."""
        digests = [hashlib.blake2b(np.asarray(ids, np.int32).tobytes(), digest_size=8).digest() for ids in batch]
        drawn = [np.random.default_rng(int.from_bytes(digest)).standard_normal(self.dim, np.float32) for digest in digests]
        vectors = np.stack(drawn)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def close(self) -> None:
        """Do nothing: it holds no resources."""


def made_up_model(settings: Settings) -> LoadedModel:
    """Return the prepared model with an engine that is not its own; its tokenizer is."""
    prepared = model_of(settings)
    engine: Engine = MadeUpEngine(prepared.dim, prepared.max_tokens)
    ids = load_golden(prepared.golden).ids
    golden = Golden(ids, engine.embed(ids))
    return LoadedModel(prepared=prepared, space=space_of(prepared), engine=engine, golden=golden, new_engine=lambda: engine)


class Moment(NamedTuple):
    """A point in time, on both clocks."""

    wall_s: float
    cpu_s: float
    """Processor time of all threads of this process."""

    @staticmethod
    def now() -> "Moment":
        """Read both."""
        return Moment(time.perf_counter(), time.process_time())


class Watched(KafkaSource):
    """Records when its first records arrived; `commits=False` leaves commits to its client.

    Thread: one, the poller's.
    """

    def __init__(self, settings: KafkaSourceSettings, subscription: Subscription, *, commits: bool) -> None:
        super().__init__(settings, subscription, say=lambda _line: None)
        self._is_committing = commits
        self.subscribed = Moment.now()
        self.began: Moment | None = None
        self.accepted: dict[Partition, int] = {}
        """Next offsets that the worker has committed."""
        self.commit_s = 0.0
        """How long the latest commit took."""

    def subscribe(self, rebalance: Rebalance) -> None:
        """Join the group."""
        self.subscribed = Moment.now()
        self._told = rebalance
        super().subscribe(self)

    def on_assign(self, partitions: Sequence[Partition]) -> None:
        """Pass it on."""
        self._told.on_assign(partitions)

    def on_revoke(self, partitions: Sequence[Partition]) -> None:
        """Pass it on."""
        self._told.on_revoke(partitions)

    def on_lost(self, partitions: Sequence[Partition]) -> None:
        """Pass it on."""
        self._told.on_lost(partitions)

    def on_committed(self, accepted: Mapping[Partition, int], refused: Mapping[Partition, tuple[int, str]]) -> None:
        """Remember what the worker has committed, and pass it on; what the client commits by itself is told here, too."""
        if self._is_committing:
            self.accepted.update(accepted)
            self._told.on_committed(accepted, refused)

    def fetch(self, max_records: int, timeout_s: float) -> list[Records]:
        """Poll."""
        records = super().fetch(max_records, timeout_s)
        if self.began is None and records:
            self.began = Moment.now()
        return records

    def commit(self, next_offsets: Mapping[Partition, int], *, is_last: bool = False) -> dict[Partition, int]:
        """Commit what is settled, or leave it to the client, which has not waited for it."""
        if not self._is_committing:
            return {}
        began_s = time.perf_counter()
        begun = super().commit(next_offsets, is_last=is_last)
        self.commit_s = time.perf_counter() - began_s
        return begun


class WithoutResume(MilvusSink):
    """The worker's sink, but it does not say what earlier runs have stored, so nothing that is read again is recognised.

    Inherits, so that nothing else can differ.

    Thread: any.
    """

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        """Return nothing to whoever asks before it writes; those who ask afterwards name no partition."""
        return super().find_blocks(only, limit=limit, strong=strong) if only.partition is None else NOTHING
