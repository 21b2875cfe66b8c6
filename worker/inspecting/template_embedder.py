"""Embeds the texts of templates outside the stream, as the worker does: same prefix, same tokenizer, same guard of the engine."""

from collections.abc import Iterable, Iterator, Sequence

from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.vectors import Outcome, TokenIds
from worker.embedding.tokenizer import Tokenizer
from worker.inspecting.busy_retry import BusyRetry


class TemplateEmbedder:
    """A guarded engine with its tokenizer.

    Thread: one.
    """

    def __init__(self, model: LoadedModel, busy_retry: BusyRetry) -> None:
        """Take over the engine of `model`; `close` closes it."""
        self._prefix = model.prepared.document_prefix
        self._tokenizer: Tokenizer = model.new_tokenizer()
        self._engine = GuardedEngine(model.engine, model.golden, new_engine=model.new_engine, say=busy_retry.say, clock=busy_retry.clock)

    def embed(self, texts: Sequence[str]) -> Iterator[Outcome]:
        """Return one outcome per template, in order, in batches of what the engine takes. Raises EngineFailed."""
        encoded = self._tokenizer.encode([self._prefix + text for text in texts])
        for batch in _batches([encoded.text(i) for i in range(len(texts))], self._engine):
            yield from self._engine.embed(batch)

    def close(self) -> None:
        """Free the engine and the tokenizer."""
        self._engine.close()
        self._tokenizer.close()


def _batches(texts: Iterable[TokenIds], engine: GuardedEngine) -> Iterator[list[TokenIds]]:
    """Fill batches up to the current limit."""
    batch: list[TokenIds] = []
    tokens = 0
    for ids in texts:
        if batch and tokens + len(ids) > engine.limit_tokens:
            yield batch
            batch, tokens = [], 0
        batch.append(ids)
        tokens += len(ids)
    if batch:
        yield batch
