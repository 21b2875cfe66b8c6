"""What vLLM and torch raise, sorted: whose fault it may be, and one line that a user can act on.

`worker.engine.vllm` asks; nothing here imports them.
"""

FAILURES = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError, MemoryError, OSError, ImportError)
"""What a batch or a load may fail with; none of it may end the worker before somebody has looked."""

_MEMORY_WORDS = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "bad_alloc",
    "bad allocation",
    "could not create a memory object",
    "alloc_failed",
)
_OUR_NAMES = {"gpu_memory_utilization": "engine.memory_share", "--gpu-memory-utilization": "engine.memory_share"}
_LINES, _CHARACTERS = 3, 300


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether a smaller batch may pass: torch, oneDNN, cuBLAS and C++ each have words of their own for it."""
    return isinstance(error, MemoryError) or any(word in str(error).lower() for word in _MEMORY_WORDS)


def one_line(error: BaseException) -> str:
    """Return kind and beginning of what was raised, in the names of our settings; vLLM's messages go over pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[:_LINES])
    for theirs, ours in _OUR_NAMES.items():
        text = text.replace(theirs, ours)
    shown = text if len(text) <= _CHARACTERS else text[:_CHARACTERS] + " …"
    return f"{type(error).__name__}: {shown or 'no reason given'}"
