"""A model with an embedder of its own: one of the embedding service's pool, or the only one of `vectail serve`."""

import time

from worker.embedding.cache.vector_levels import Levels
from worker.embedding.loaded import LoadedModel
from worker.runtime.fair_lock import FairLock
from worker.runtime.stage import Crash
from worker.runtime.surroundings import Surroundings
from worker.service.running_embedder import RunningEmbedder
from worker.serving.embeddings.served_model import ServedModel
from worker.serving.embeddings.served_tally import ServedTally

_CLOSE_S = 60.0


class OpenedModel(RunningEmbedder):
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
        super().__init__(
            name, loaded, levels=levels, slot=slot, target_batch_s=target_batch_s, surroundings=surroundings, on_crash=on_crash
        )
        self.served = ServedModel(name, loaded, self.embedder, levels, tally, surroundings.clock)
        self.stages = [self.served.stage(on_crash), *self.stages]
        self.start()

    def close(self, until_s: float | None = None) -> bool:
        """Answer what was taken, end the threads and free the model; False, and nothing is freed, if a thread still runs at `until_s`."""
        until_s = time.monotonic() + _CLOSE_S if until_s is None else until_s
        self.served.lane.close()
        self.stages[0].join(max(until_s - time.monotonic(), 0.0))
        is_closed = super().close(until_s)
        if is_closed:
            self.served.close()
        return is_closed
