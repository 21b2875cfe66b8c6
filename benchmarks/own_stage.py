"""Our embed stage with ready token ids, and the bare engine beneath it; their difference is the cost of the stage.

Both use one loaded engine, so that nothing else differs and the weights are in memory once. The stage uses its lanes, guarded engine and
threads; the bare loop calls what the adapter calls, with the same texts in the same batches.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from worker.embedding.batcher import Batcher, floor_tokens
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.embedder import Embedder, Waiting
from worker.embedding.encoded_text import Embedded, EncodedText
from worker.embedding.engine.engine import Engine
from worker.embedding.engine.packed_batch import packed
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.space import CacheKey
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.runtime.lane import Lane
from worker.runtime.stage import Stage
from worker.settings.settings import Settings

_TAKE = 4096


class BareResult(NamedTuple):
    """The bare engine's unchanged results; `rows` converts them to float32[n, dim], outside the timed part."""

    rows: Callable[[], Vectors]


class EmbedStage:
    """The stages `embed` and `engine`, wired as in `worker.service.pipeline`; they run until `close`.

    Thread: the caller's feeds it; it has two of its own.
    """

    def __init__(self, settings: Settings, model: LoadedModel) -> None:
        """Start both threads."""
        engine = model.engine
        self._crash: Exception | None = None
        self._out: Lane[Embedded] = Lane("store")
        guarded = GuardedEngine(engine, model.golden, new_engine=model.new_engine, say=lambda _line: None, clock=time.monotonic)
        memory = MemoryCache(settings.cache.memory_bytes)
        nothing = MemoryCache(0)  # every round brings the same texts, which are to be computed again
        self.embedder = Embedder(batcher=new_batcher(engine), engine=guarded, cache=memory, memory=nothing)
        self._stages = [
            Stage("embed", self.embedder.deliver, self._on_crash),
            Stage("engine", self.embedder.compute, self._on_crash),
        ]
        for stage in self._stages:
            stage.start()

    def run(self, chunks: Sequence[EncodedText]) -> Vectors:
        """Submit all chunks at once; return their vectors, in the same order. Raises RuntimeError if a stage or a text fails."""
        found: list[Embedded] = []
        self.embedder.submit(chunks, self._out.put)
        while len(found) < len(chunks):
            taken = self._out.take(_TAKE)
            if taken is None:
                raise RuntimeError("a stage has failed") from self._crash
            found += taken
        vectors = [one.outcome for one in sorted(found, key=lambda one: one.place) if isinstance(one.outcome, np.ndarray)]
        if len(vectors) < len(chunks):
            raise RuntimeError("a text has no vector")
        return np.stack(vectors)

    def close(self) -> None:
        """End both threads."""
        self.embedder.close()
        for stage in self._stages:
            stage.join()

    def _on_crash(self, _stage: str, error: Exception) -> None:
        self._crash = error
        self._out.abandon()


def new_batcher(engine: Engine) -> Batcher[Waiting]:
    """Return a batcher with the budgets that the service gives it."""
    budget = engine.batch_tokens
    return Batcher(budget_tokens=budget, bulk_floor_tokens=floor_tokens(budget))


def encoded_templates(model: LoadedModel, texts: Sequence[str]) -> list[EncodedText]:
    """Return what the prepare stage makes of texts that are all new templates."""
    with closing(model.new_tokenizer()) as tokenizer:
        encoded = tokenizer.encode(texts)
        return [EncodedText(encoded.text(row), CacheKey(f"{row:032x}"), "logs") for row in range(len(texts))]


def batches_of(engine: Engine, chunks: Sequence[EncodedText]) -> list[list[TokenIds]]:
    """Return the token ids of the batches that the stage would form."""
    batcher: Batcher[EncodedText] = Batcher(budget_tokens=engine.batch_tokens, bulk_floor_tokens=floor_tokens(engine.batch_tokens))
    batcher.add(chunks, "bulk")
    batches = []
    while len(batcher):
        batches.append([chunk.ids for chunk in batcher.next_batch().others])
    return batches


def bare_loop(engine: Engine, chunks: Sequence[EncodedText]) -> Callable[[], BareResult]:
    """Return a function that embeds all chunks with the engine beneath the adapter, in the batches that the stage would form."""
    bare = {"vllm": _bare_vllm, "onnx": _bare_onnx, "llama.cpp": _bare_llama}[engine.name]
    return bare(engine, batches_of(engine, chunks))


def number_format_of(engine: Engine) -> str:
    """Return in which numbers the engine computes or has its weights."""
    return str(getattr(engine, "number_format", {"onnx": "float32"}.get(engine.name, "float16 weights")))


def _bare_vllm(engine: Any, batches: list[list[TokenIds]]) -> Callable[[], BareResult]:  # noqa: ANN401 - below the adapter
    """Call vLLM's own add_request and step. Tensors stay as they are: neither stacked nor checked against the requests."""
    inner, pooling = engine._engine, engine._pooling  # noqa: SLF001 - what is measured lies beneath the adapter
    lists = [[ids.tolist() for ids in batch] for batch in batches]

    def run() -> BareResult:
        names: list[str] = []
        outputs: list[Any] = []
        for batch in lists:
            for ids in batch:
                name = f"bare-{len(names)}"
                names.append(inner.add_request(name, {"prompt_token_ids": ids}, pooling) or name)
            while inner.has_unfinished_requests():
                outputs += inner.step()

        def rows() -> Vectors:
            by_name = {output.request_id: output.outputs.data.float().numpy() for output in outputs}
            return np.stack([by_name[name] if name in by_name else by_name[f"bare-{row}"] for row, name in enumerate(names)])

        return BareResult(rows)

    return run


def _bare_onnx(engine: Any, batches: list[list[TokenIds]]) -> Callable[[], BareResult]:  # noqa: ANN401 - below the adapter
    """Call ONNX Runtime's session with inputs that are laid out already; vectors are not normalised."""
    session, pooling = engine._session, engine._pooling  # noqa: SLF001 - as above
    laid_out = [packed(batch, np.array([len(ids) for ids in batch], dtype=np.int64), pooling) for batch in batches]

    def run() -> BareResult:
        found = [session.run(None, inputs)[0] for inputs in laid_out]
        return BareResult(lambda: np.concatenate(found))

    return run


def _bare_llama(engine: Any, batches: list[list[TokenIds]]) -> Callable[[], BareResult]:  # noqa: ANN401 - below the adapter
    """Call llama.cpp's context: ids into its array, vectors into an array of ours, not normalised."""
    context, most = engine._context, engine._sequences  # noqa: SLF001 - as above
    parts = [batch[start : start + most] for batch in batches for start in range(0, len(batch), most)]
    joined = [(np.concatenate(part), np.array([len(ids) for ids in part], dtype=np.int64)) for part in parts]

    def run() -> BareResult:
        found = []
        for ids, lengths in joined:
            context.tokens[: len(ids)] = ids
            vectors = np.empty((len(lengths), engine.dim), dtype=np.float32)
            context.encode(lengths, vectors)
            found.append(vectors)
        return BareResult(lambda: np.concatenate(found))

    return run
