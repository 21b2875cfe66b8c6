"""Wraps vLLM and torch: the only module that imports them and sets the environment variables that they read.

`worker.embedding.engine.vllm` uses it. Importing takes seconds and a gigabyte, so it happens when the engine is loaded.
"""

import contextlib
import functools
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

NumberFormat = Literal["auto", "float32", "bfloat16", "float16"]

_ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork would copy the locks of all our threads
}
"""What vLLM takes only from the environment: no log, no telemetry, no downloads, listen on loopback."""


class Library(NamedTuple):
    """The parts of vLLM and torch that we use."""

    torch: Any
    platform: Any
    engine_args: Any
    llm_engine: Any
    pooler_config: Any
    pooling_params: Any


@functools.cache
def load_library() -> Library:
    """Import vLLM (15 s), once per process."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.getLogger("vllm").setLevel(logging.ERROR)  # for messages from before it reads the environment
    with silent():
        import torch  # noqa: PLC0415 - seconds and a gigabyte: only when this engine is chosen
        from vllm import PoolingParams  # noqa: PLC0415 - as torch
        from vllm.config import PoolerConfig  # noqa: PLC0415 - as torch
        from vllm.engine.arg_utils import EngineArgs  # noqa: PLC0415 - as torch
        from vllm.platforms import current_platform  # noqa: PLC0415 - as torch
        from vllm.v1.engine.llm_engine import LLMEngine  # noqa: PLC0415 - as torch
    return Library(torch, current_platform, EngineArgs, LLMEngine, PoolerConfig, PoolingParams)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Suppress Python warnings: those of vLLM and torch are for their developers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def set_environment(*, threads: int, cache: Path) -> None:
    """Set the environment variables that vLLM reads whenever it loads an engine."""
    os.environ.setdefault("VLLM_CACHE_ROOT", str(cache))
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # in a process of its own it starts 20 s later and was never faster
    os.environ["OMP_NUM_THREADS"] = str(threads)


def chosen_number_format(wanted: NumberFormat, *, on_gpu: bool) -> str:
    """Return the number format; `auto` is bfloat16 if the hardware computes in it: on AVX2 it is six times slower than float32."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if on_gpu or _cpu_has_bfloat16() else "float32"


def _cpu_has_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    try:
        words = set(cpuinfo.read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return False
    return not words.isdisjoint(("avx512_bf16", "amx_bf16", "bf16"))


FAILURES = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError, MemoryError, OSError, ImportError)
"""What a batch or a load may fail with; all of it is handled, none may crash the worker."""

_OUR_NAMES = {"gpu_memory_utilization": "engine.memory_share", "--gpu-memory-utilization": "engine.memory_share"}

_SHOWN_LINES, _SHOWN_CHARACTERS = 3, 300


def one_line(error: BaseException) -> str:
    """Return type and start of an error, with the names of our settings: vLLM's messages go over pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[:_SHOWN_LINES])
    for theirs, ours in _OUR_NAMES.items():
        text = text.replace(theirs, ours)
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + " …"
    return f"{type(error).__name__}: {shown or 'no reason given'}"
