"""vLLM as its guide shows it: `LLM(…).embed(list[str])`, with the model's original folder, because it needs the tokenizer there."""

from pathlib import Path

import numpy as np

from benchmarks.rivals.own_process import EmbedTexts
from worker.embedding.engine.vllm_library import load_library, set_environment, silent

_CACHE_BYTES = 64 * 1024 * 1024


def open_llm(folder: Path, threads: int, number_format: str) -> EmbedTexts:
    """Load the model. All is vLLM's default but the process, which is this one as it is for ours, what a CPU needs, and the number format.

    On a CPU: no torch.compile (minutes), and a small cache, for otherwise it reserves nearly all of the memory.
    """
    set_environment(threads=threads, cache=folder.parent / "vllm")
    library = load_library()
    with silent():
        from vllm import LLM  # noqa: PLC0415 - it reads the environment that was just written

    if library.platform.is_cpu():
        llm = LLM(str(folder), runner="pooling", dtype=number_format, enforce_eager=True, kv_cache_memory_bytes=_CACHE_BYTES)
    else:
        llm = LLM(str(folder), runner="pooling", dtype=number_format)
    return lambda texts: np.array([output.outputs.embedding for output in llm.embed(texts)], dtype=np.float32)
