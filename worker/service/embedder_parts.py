"""What an embedder is made of, the same for the index's model, its queries and the models of the embedding service."""

from collections.abc import Callable

from worker.embedding.batcher import Batcher, floor_tokens
from worker.embedding.embedder import Waiting
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import LoadedModel
from worker.runtime.surroundings import Surroundings


def guarded_engine(loaded: LoadedModel, surroundings: Surroundings) -> GuardedEngine:
    """Return the guard of the model's engine, which becomes its own."""
    return GuardedEngine(
        loaded.engine,
        loaded.golden,
        new_engine=loaded.new_engine,
        say=surroundings.say,
        clock=surroundings.clock,
        pause=surroundings.pause,
    )


def new_batcher(
    loaded: LoadedModel, *, target_s: float, has_clients: bool, weight_of: Callable[[str], float] = lambda _topic: 1.0
) -> Batcher[Waiting]:
    """Return the batcher in front of the model's engine. `has_clients`: whether online texts may come, which then have a floor."""
    floor = floor_tokens(loaded.engine.batch_tokens)
    return Batcher(
        budget_tokens=loaded.engine.batch_tokens,
        bulk_floor_tokens=floor,
        online_floor_tokens=floor if has_clients else 0,
        target_s=target_s,
        topic_of=lambda waiting: waiting.text.topic,
        weight_of=weight_of,
    )
