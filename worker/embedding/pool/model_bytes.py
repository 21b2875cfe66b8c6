"""How many bytes a loaded model takes: an estimate until it was loaded once on this machine, then what was measured.

The weights are mapped from the prepared file, so they count with its size, whether their pages are in memory or not. Everything else is
memory of the process alone: its rise while the model is loaded is measured, and kept beside the prepared files. Other threads allocate and
free meanwhile, so the least rise of all loads counts, and one that is far from the estimate is not believed.
"""

import ctypes
import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import read_json
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.staging import write_whole

_MEASURED: Final = "memory.json"
_STATUS: Final = Path("/proc/self/status")
_TOKENIZER_BYTES: Final = 12_000_000
"""Measured: 11 MB for a vocabulary of 30,522 tokens."""
_CONTEXT_FACTOR: Final = 50
"""A context of llama.cpp, in vectors of the batch's tokens. Measured: 37 MB for 512 tokens of 384 float32."""
_FLOAT32_BYTES: Final = 4
_FARTHEST: Final = 2
"""A rise that is less than the estimate divided by this, or more than its product, becomes that."""


def model_bytes(prepared: PreparedModel, engine: str, batch_tokens: int) -> int:
    """Return the bytes that a model takes with an engine whose batches have at most `batch_tokens`."""
    rises = _measured(prepared)
    return prepared.gguf.stat().st_size + rises.get(_key(engine, batch_tokens), _estimated_rise(prepared, batch_tokens))


def measured_bytes(prepared: PreparedModel) -> int | None:
    """Return the bytes that a model took when it was last loaded here, with whichever engine took most; None: it never was."""
    rises = _measured(prepared)
    return prepared.gguf.stat().st_size + max(rises.values()) if rises else None


def remember_rise(prepared: PreparedModel, engine: str, batch_tokens: int, rise_bytes: int) -> None:
    """Note how much the process's own memory grew while the model was loaded; in a folder that cannot be written, for nothing."""
    rises, key, estimated = _measured(prepared), _key(engine, batch_tokens), _estimated_rise(prepared, batch_tokens)
    believed = min(max(rise_bytes, estimated // _FARTHEST), estimated * _FARTHEST)
    if believed < rises.get(key, believed + 1):
        with suppress(OSError):
            write_whole(prepared.folder / _MEASURED, json.dumps(rises | {key: believed}))


def own_memory_bytes() -> int | None:
    """Return the resident memory of this process that is no file's; None where the system does not tell (only Linux does)."""
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return None


def return_freed_memory() -> None:
    """Hand freed memory back to the system, which glibc otherwise keeps: a closed model's 80 MB. Elsewhere nothing happens."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _estimated_rise(prepared: PreparedModel, batch_tokens: int) -> int:
    return _TOKENIZER_BYTES + _CONTEXT_FACTOR * batch_tokens * prepared.dim * _FLOAT32_BYTES


def _measured(prepared: PreparedModel) -> dict[str, int]:
    try:
        return {str(key): int(rise) for key, rise in read_json(prepared.folder / _MEASURED).items()}
    except (ModelError, ValueError, TypeError):
        return {}


def _key(engine: str, batch_tokens: int) -> str:
    return f"{engine}, batches of {batch_tokens} tokens"
