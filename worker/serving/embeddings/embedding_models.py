"""Which model answers a request: by name, the default one or one of the pool; asked on the event loop, where nothing may wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from worker.embedding.pool.lease import Lease, PoolRefused
from worker.serving.embeddings.embedding_errors import unavailable
from worker.serving.embeddings.models_document import ServedFacts
from worker.serving.embeddings.served_model import ServedModel
from worker.serving.embeddings.served_tally import ServedTally


class PooledModel(Protocol):
    """A model of the pool."""

    @property
    def served(self) -> ServedModel:
        """What answers requests."""


AskPool = Callable[[str, Callable[[Lease[PooledModel]], None], Callable[[PoolRefused], None]], None]
"""`ModelPool.ask`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRules:
    """What requests may ask of a model."""

    dimensions: tuple[int, ...]
    """Besides all components of its vectors."""
    allow_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModels:
    """Every name and alias is that of one model.

    Thread: the event loop; the callables may be called from any.
    """

    default: ServedModel
    """Always loaded; that of the index, where there is one."""
    names: Mapping[str, str]
    """The model that each name and alias means."""
    rules: Mapping[str, ModelRules]
    """By model."""
    tallies: Mapping[str, ServedTally]
    """By model, and of requests that were refused."""
    ask_pool: AskPool
    facts: Callable[[], Sequence[ServedFacts]]

    @asynccontextmanager
    async def leased(self, name: str) -> AsyncIterator[ServedModel]:
        """Hold the model of that name or alias; it is loaded if it is not. Raises EmbeddingRefused: it cannot be had now."""
        model = self.names[name]
        if model == self.default.name:
            yield self.default
            return
        lease = await self._lease(model)
        try:
            yield lease.model.served
        finally:
            lease.release()

    async def _lease(self, model: str) -> Lease[PooledModel]:
        loop = asyncio.get_running_loop()
        leased: asyncio.Future[Lease[PooledModel]] = loop.create_future()

        def take(lease: Lease[PooledModel]) -> None:
            def settle() -> None:
                if leased.done():  # the client has gone
                    lease.release()
                else:
                    leased.set_result(lease)

            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:  # the loop has ended
                lease.release()

        def refuse(why: PoolRefused) -> None:
            def settle() -> None:
                if not leased.done():
                    leased.set_exception(unavailable(f"The model cannot be had now: {why.reason}.", retry_after_s=why.retry_s))

            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle)

        self.ask_pool(model, take, refuse)
        return await leased
