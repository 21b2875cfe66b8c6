"""vLLM as its guide shows it: `LLM(…).embed(list[str])`, with the model's original folder, because it needs the tokenizer there."""

import warnings
from pathlib import Path

import numpy as np

from benchmarks.gpu import say_to_vllm
from benchmarks.rivals.own_process import EmbedTexts

_CACHE_BYTES = 64 * 1024 * 1024


def open_llm(folder: Path, threads: int, number_format: str) -> EmbedTexts:
    """Load the model; vLLM takes a process of its own for it. All is its default but what a CPU asks for, and the number format.

    On a CPU: no torch.compile (minutes), and a small cache, for otherwise it reserves nearly all of the memory.
    """
    say_to_vllm(threads=threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from vllm import LLM  # noqa: PLC0415 - it reads the environment that was just written
        from vllm.platforms import current_platform  # noqa: PLC0415 - as LLM

    if current_platform.is_cpu():
        llm = LLM(str(folder), runner="pooling", dtype=number_format, enforce_eager=True, kv_cache_memory_bytes=_CACHE_BYTES)
    else:
        llm = LLM(str(folder), runner="pooling", dtype=number_format)
    return lambda texts: np.array([output.outputs.embedding for output in llm.embed(texts)], dtype=np.float32)
