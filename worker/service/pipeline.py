"""Everything between the pollers and the outside: ledgers, lanes, flights and the steps between them, wired once.

`worker.service.service` makes one and starts its stages; `worker.service.shutdown` closes their inlets in order. Nothing here knows
signals, or when a thread begins and ends.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sinks.reading.reader import BlockReader
from worker.connections import Connections
from worker.embedding.cache.index_level import IndexLevel
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.embedder import Embedder
from worker.embedding.guarded_engine import GuardedEngine
from worker.runtime.lane import Inlet
from worker.runtime.stage import Crash, Meter, Stage
from worker.runtime.surroundings import Surroundings
from worker.service.embedder_parts import guarded_engine, new_batcher
from worker.service.indexing_pipeline import IndexingPipeline
from worker.service.querying_pipeline import QueryingPipeline
from worker.service.shared_parts import DeadLetterPost, SharedParts
from worker.settings.settings import Settings
from worker.watching.index_reach import IndexReach

if TYPE_CHECKING:
    from worker.service.embedding_service import EmbeddingService


class StageGroup(NamedTuple):
    """Stages that end together, and the lanes whose closing ends them."""

    inlets: Sequence[Inlet]
    stages: list[Stage]


class Pipeline:
    """The way of the logs, the way of the queries, and the embedder that they share.

    Thread: main wires it; each part says which thread owns it.
    """

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        redis: VectorCache | None,
        surroundings: Surroundings,
        *,
        embeddings: "EmbeddingService | None" = None,
    ) -> None:
        """`embeddings` asks the index's model for vectors, too, and shares the memory of the cache."""
        model, sink = connections.model, connections.sink
        say, clock, fail_point = surroundings.say, surroundings.clock, surroundings.fail_point
        index = IndexLevel(sink.templates.vectors, say=say, clock=clock, draw=random.SystemRandom().random)
        memory = MemoryCache(settings.cache.memory_bytes) if embeddings is None else embeddings.memory
        self.levels = Levels(memory=memory, redis=redis, index=index.find, fail_point=fail_point)
        self.guarded_engine = guarded_engine(model, surroundings)
        target_s = settings.query.target_batch_s
        slot = None if embeddings is None else embeddings.slot
        self.embedder = Embedder(
            batcher=new_batcher(model, target_s=target_s, has_clients=embeddings is not None, weight_of=settings.weight_of),
            engine=self.guarded_engine,
            cache=self.levels,
            memory=memory,
            slot=None if settings.engine.name == "remote" else slot,  # it computes elsewhere, and may be away for long
            fail_point=fail_point,
        )
        self.query_embedder = self.embedder
        """The same, or one of their own."""
        self._query_engine: GuardedEngine | None = None
        if connections.query_model is not None:
            self._query_engine = guarded_engine(connections.query_model, surroundings)
            batcher = new_batcher(connections.query_model, target_s=target_s, has_clients=False)
            self.query_embedder = Embedder(batcher=batcher, engine=self._query_engine, cache=self.levels, memory=memory, slot=slot)
        self.served = None if embeddings is None else embeddings.served_of(model, self.embedder, self.levels)
        """The index's model, as clients of the embedding API see it."""
        self.reader = BlockReader(sink, clock=clock)
        self.dead_letters = DeadLetterPost(connections=connections, topic=settings.kafka.dead_letter_topic)
        parts = SharedParts(
            settings=settings,
            connections=connections,
            surroundings=surroundings,
            reader=self.reader,
            levels=self.levels,
            submit=self.embedder.submit,
            dead_letter=self.dead_letters.send,
            reach=IndexReach(flush_s=settings.index.flush_s, look_every_s=settings.status.refresh_s),
        )
        self.indexing = IndexingPipeline(parts)
        self.querying = QueryingPipeline(replace(parts, submit=self.query_embedder.submit))
        self.reach = parts.reach
        self.reach.follow(self.indexing.ledger.committed)

    @property
    def guarded_engines(self) -> Sequence[GuardedEngine]:
        """The engine, and that of the queries if they have one."""
        return [self.guarded_engine, *([] if self._query_engine is None else [self._query_engine])]

    @property
    def busy(self) -> dict[str, Meter]:
        """How long each stage has worked, but for the engine's."""
        return self.indexing.busy | self.querying.busy

    def stages(self, on_crash: Crash) -> list[StageGroup]:
        """Return the stages in the order in which they must end."""
        indexing, querying, embedder = self.indexing, self.querying, self.embedder
        embedders = [embedder]
        embed_stages = [Stage("embed", embedder.deliver, on_crash), Stage("engine", embedder.compute, on_crash)]
        if self.query_embedder is not embedder:
            embedders.append(self.query_embedder)
            embed_stages += [
                Stage("embed-queries", self.query_embedder.deliver, on_crash),
                Stage("engine-queries", self.query_embedder.compute, on_crash),
            ]
        prepare_lanes: list[Inlet] = [indexing.prepare_lane, querying.prepare_lane]
        prepare_stages = [indexing.prepare_stage(on_crash), querying.prepare_stage(on_crash)]
        if self.served is not None:
            prepare_lanes.append(self.served.lane)
            prepare_stages.append(self.served.stage(on_crash))
        return [
            StageGroup(prepare_lanes, prepare_stages),
            StageGroup(embedders, embed_stages),
            StageGroup([indexing.store_lane, querying.answer_lane], [*indexing.store_stages(on_crash), querying.answer_stage(on_crash)]),
        ]

    def side_stages(self, on_crash: Crash) -> list[Stage]:
        """Return the stages that nothing waits for at the end: they end by themselves after `abandon`."""
        lookup = self.indexing.schema_lookup
        return [] if lookup is None else [Stage("schemas", lookup.body, on_crash)]

    def abandon(self) -> None:
        """Drop what is in the lanes: its receipts stay open, so it will be read again."""
        self.indexing.abandon()
        if self.served is not None:
            self.served.lane.abandon()
        self.embedder.abandon()
        self.query_embedder.abandon()
        self.querying.abandon()

    def close(self) -> None:
        """Free the engine and the tokenizers; only after every stage has ended."""
        self.guarded_engine.close()
        if self._query_engine is not None:
            self._query_engine.close()
        self.indexing.close()
        self.querying.close()
        if self.served is not None:
            self.served.close()
