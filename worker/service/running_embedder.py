"""A model's engine with its embedder and their two threads: of a served model, or of the model that the index changes to."""

import time

from worker.embedding.cache.vector_levels import Levels
from worker.embedding.embedder import Embedder
from worker.embedding.loaded import LoadedModel
from worker.runtime.fair_lock import FairLock
from worker.runtime.stage import Crash, Stage
from worker.runtime.surroundings import Surroundings
from worker.service.embedder_parts import guarded_engine, new_batcher


class RunningEmbedder:
    """Computes from `start` until `close`.

    Thread: `start` and `close` one at a time; two of its own.
    """

    def __init__(
        self,
        name: str,
        loaded: LoadedModel,
        *,
        levels: Levels,
        slot: FairLock | None,
        target_batch_s: float,
        surroundings: Surroundings,
        on_crash: Crash,
    ) -> None:
        """Takes the engine of `loaded` over; `slot` is held while it computes on this machine's processor."""
        self.guarded_engine = guarded_engine(loaded, surroundings)
        self.embedder = Embedder(
            batcher=new_batcher(loaded, target_s=target_batch_s, has_clients=True),
            engine=self.guarded_engine,
            cache=levels,
            memory=levels.memory,
            slot=slot if loaded.engine.on_cpu else None,
            clock=surroundings.clock,
        )
        self.stages = [
            Stage(f"engine-{name}", self.embedder.compute, on_crash),
            Stage(f"embed-{name}", self.embedder.deliver, on_crash),
        ]

    def start(self) -> None:
        """Start its threads."""
        for stage in self.stages:
            stage.start()

    def close(self, until_s: float) -> bool:
        """Deliver what was submitted, end the threads and free the engine; False, and nothing is freed, if one still runs at `until_s`."""
        self.embedder.close()
        for stage in self.stages:
            stage.join(max(until_s - time.monotonic(), 0.0))
        if any(stage.is_alive() for stage in self.stages):
            return False
        self.guarded_engine.close()
        return True
