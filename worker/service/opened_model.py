"""A model with an embedder of its own: one of the embedding service's pool, or the only one of `vectail serve`."""

import time

from worker.embedding.cache.vector_levels import Levels
from worker.embedding.embedder import Embedder
from worker.embedding.loaded import LoadedModel
from worker.runtime.fair_lock import FairLock
from worker.runtime.stage import Crash, Stage
from worker.runtime.surroundings import Surroundings
from worker.service.embedder_parts import guarded_engine, new_batcher
from worker.serving.embeddings.served_model import ServedModel
from worker.serving.embeddings.served_tally import ServedTally

_CLOSE_S = 60.0


class OpenedModel:
    """Answers requests from its making until `close`.

    Thread: `close` the pool's, or main; three of its own.
    """

    def __init__(
        self,
        name: str,
        loaded: LoadedModel,
        *,
        levels: Levels,
        tally: ServedTally,
        slot: FairLock,
        target_batch_s: float,
        surroundings: Surroundings,
        on_crash: Crash,
    ) -> None:
        """Takes the engine of `loaded` over. Raises ModelError, having taken nothing."""
        self.guarded_engine = guarded_engine(loaded, surroundings)
        self.embedder = Embedder(
            batcher=new_batcher(loaded, target_s=target_batch_s, has_clients=True),
            engine=self.guarded_engine,
            cache=levels,
            memory=levels.memory,
            slot=slot,
        )
        self.served = ServedModel(name, loaded, self.embedder, levels, tally, surroundings.clock)
        self.stages = [
            self.served.stage(on_crash),
            Stage(f"engine-{name}", self.embedder.compute, on_crash),
            Stage(f"embed-{name}", self.embedder.deliver, on_crash),
        ]
        for stage in self.stages:
            stage.start()

    def close(self, within_s: float = _CLOSE_S) -> None:
        """Answer what was taken, end the threads and free the model; nothing is freed that a thread still uses after `within_s`."""
        until_s = time.monotonic() + within_s
        self.served.lane.close()
        self.stages[0].join(within_s)
        self.embedder.close()
        for stage in self.stages:
            stage.join(max(until_s - time.monotonic(), 0.0))
        if not any(stage.is_alive() for stage in self.stages):
            self.served.close()
            self.guarded_engine.close()
