"""Everything between the pollers and the outside: ledgers, lanes, flights and the steps between them, wired once.

`worker.service.service` makes one and starts its stages; `worker.service.shutdown` closes their inlets in order. Nothing here knows
signals, or when a thread begins and ends.
"""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sinks.reading.reader import BlockReader
from sinks.sink import TemplateView
from worker.connections import Connections
from worker.embedding.cache.index_level import IndexLevel
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.device_router import DeviceRouter
from worker.embedding.embedder import Embedder
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import LoadedModel
from worker.runtime.fair_lock import FairLock
from worker.runtime.lane import Inlet
from worker.runtime.stage import Crash, Meter, Stage
from worker.runtime.surroundings import Surroundings
from worker.service.embedder_parts import guarded_engine, new_batcher
from worker.service.indexing_pipeline import IndexingPipeline
from worker.service.querying_pipeline import QueryingPipeline
from worker.service.running_embedder import RunningEmbedder
from worker.service.serving_space import ServingSpace
from worker.service.shared_parts import DeadLetterPost, SharedParts
from worker.settings.settings import Settings
from worker.watching.index_reach import IndexReach

if TYPE_CHECKING:
    from worker.service.embedding_service import EmbeddingService


class StageGroup(NamedTuple):
    """Stages that end together, and the lanes whose closing ends them."""

    inlets: list[Inlet]
    stages: list[Stage]


class Pipeline:
    """The way of the logs, the way of the queries, and the embedder that they share.

    Thread: main wires it; each part says which thread owns it.
    """

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        redis: RedisCache | None,
        surroundings: Surroundings,
        *,
        embeddings: "EmbeddingService | None" = None,
    ) -> None:
        """`embeddings` asks the index's model for vectors, too, and shares the memory of the cache."""
        model, sink, fail_point = connections.model, connections.sink, surroundings.fail_point
        self._settings, self._surroundings, self._redis = settings, surroundings, redis
        self.memory = MemoryCache(settings.cache.memory_bytes) if embeddings is None else embeddings.memory
        self.levels = self._levels(sink.templates, redis)
        self.guarded_engine = guarded_engine(model, surroundings)
        target_s = settings.query.target_batch_s
        self.slot = FairLock() if embeddings is None else embeddings.slot
        """Held by whichever model computes on this machine's cores."""
        self.embedder = Embedder(
            batcher=new_batcher(model, target_s=target_s, has_clients=embeddings is not None, weight_of=settings.weight_of),
            engine=self.guarded_engine,
            cache=self.levels,
            memory=self.memory,
            slot=self.slot if model.engine.on_cpu else None,  # elsewhere it takes no turns, and may be away for long
            clock=surroundings.clock,
            fail_point=fail_point,
        )
        self.query_embedder = self.embedder
        """The same, or one of their own."""
        self._query_engine: GuardedEngine | None = None
        if connections.query_model is not None:
            self._query_engine = guarded_engine(connections.query_model, surroundings)
            is_shared = settings.query.device == "either" and embeddings is not None
            batcher = new_batcher(connections.query_model, target_s=target_s, has_clients=is_shared)
            self.query_embedder = Embedder(
                batcher=batcher,
                engine=self._query_engine,
                cache=self.levels,
                memory=self.memory,
                slot=self.slot,
                clock=surroundings.clock,
            )
        nearest = DeviceRouter((self.embedder, self.query_embedder)) if settings.query.device == "either" else None
        self.served = None if embeddings is None else embeddings.served_of(model, nearest or self.embedder, self.levels)
        """The index's model, as clients of the embedding API see it."""
        self.reader = BlockReader(sink, clock=surroundings.clock)
        self.dead_letters = DeadLetterPost(connections=connections, topic=settings.kafka.dead_letter_topic)
        submit, submit_queries = self.embedder.submit, (nearest or self.query_embedder).submit
        home = ServingSpace(settings, model, sink.templates, levels=self.levels, submit=submit, submit_queries=submit_queries)
        self.space = home
        """Of the model that embeds now; replaced as a whole."""
        self._spaces = [home]
        self._beside: dict[str, RunningEmbedder] = {}
        """Of models besides the settings' own, by their spaces."""
        parts = SharedParts(
            settings=settings,
            connections=connections,
            surroundings=surroundings,
            reader=self.reader,
            home=home,
            space=lambda: self.space,
            dead_letter=self.dead_letters.send,
            reach=IndexReach(flush_s=settings.index.flush_s, look_every_s=settings.status.refresh_s),
        )
        self.indexing = IndexingPipeline(parts)
        self.querying = QueryingPipeline(parts)
        self.reach = parts.reach
        self.reach.follow(self.indexing.ledger.committed)

    @property
    def guarded_engines(self) -> Sequence[GuardedEngine]:
        """The engine, that of the queries if they have one, and that of another model beside them."""
        queries = [] if self._query_engine is None else [self._query_engine]
        return [self.guarded_engine, *queries, *(one.guarded_engine for one in list(self._beside.values()))]

    def open_space(self, loaded: LoadedModel, view: TemplateView, on_crash: Crash) -> ServingSpace:
        """Start the embedder of another model beside the worker's own, and return its space; takes the engine of `loaded` over."""
        redis = None if self._redis is None else self._redis.for_space(loaded.space)
        levels = self._levels(view, redis)
        running = RunningEmbedder(
            loaded.prepared.name,
            loaded,
            levels=levels,
            slot=self.slot,
            target_batch_s=self._settings.query.target_batch_s,
            surroundings=self._surroundings,
            on_crash=on_crash,
        )
        space = ServingSpace(self._settings, loaded, view, levels=levels, submit=running.embedder.submit)
        self._beside[space.id] = running
        self._spaces.append(space)
        self._embedding.inlets.append(running.embedder)
        self._embedding.stages.extend(running.stages)
        running.start()
        return space

    def close_space(self, space: ServingSpace, within_s: float) -> None:
        """End the embedder of a space that is not in use."""
        running = self._beside.pop(space.id)
        self._embedding.inlets.remove(running.embedder)
        for stage in running.stages:
            self._embedding.stages.remove(stage)
        if running.close(self._surroundings.clock() + within_s):
            self._spaces.remove(space)
            space.close()

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
        self._embedding = StageGroup([*embedders], embed_stages)
        prepare_lanes: list[Inlet] = [indexing.prepare_lane, querying.prepare_lane]
        prepare_stages = [*indexing.prepare_stages(on_crash), querying.prepare_stage(on_crash)]
        if self.served is not None:
            prepare_lanes.append(self.served.lane)
            prepare_stages.append(self.served.stage(on_crash))
        return [
            StageGroup(prepare_lanes, prepare_stages),
            self._embedding,
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
        for beside in list(self._beside.values()):
            beside.embedder.abandon()
        self.querying.abandon()

    def close(self) -> None:
        """Free the engine and the tokenizers; only after every stage has ended."""
        self.guarded_engine.close()
        if self._query_engine is not None:
            self._query_engine.close()
        for beside in list(self._beside.values()):
            beside.guarded_engine.close()
        for space in self._spaces:
            space.close()
        if self.served is not None:
            self.served.close()

    def _levels(self, view: TemplateView, redis: VectorCache | None) -> Levels:
        surroundings = self._surroundings
        index = IndexLevel(view.vectors, say=surroundings.say, clock=surroundings.clock, draw=random.SystemRandom().random)
        return Levels(memory=self.memory, redis=redis, index=index.find, fail_point=surroundings.fail_point)
