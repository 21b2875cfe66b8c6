"""Token counters for the chunker's tests: deterministic, and at most one token for each byte of ASCII text, as in a real tokenizer."""

import hashlib
import re
from collections.abc import Callable, Sequence

OVERHEAD_TOKENS = 2

Count = Callable[[str], int]


def bytes_each(text: str) -> int:
    return len(text.encode())


def words(text: str) -> int:
    """Count one token for every three bytes of a word, and one for every other character."""
    return sum(-(-len(part.encode()) // 3) for part in re.findall(r"\w+|[^\w\s]", text))


def dearer_together(text: str) -> int:
    """Count more for a long text than for its parts."""
    size_bytes = len(text.encode())
    return size_bytes if size_bytes > 12 else -(-size_bytes // 3)


def erratic(text: str) -> int:
    """Count any number between a third of the bytes and all of them; a part may have more tokens than the whole."""
    size_bytes = len(text.encode())
    least = -(-size_bytes // 3)
    return least + hashlib.blake2b(text.encode(), digest_size=1).digest()[0] % (size_bytes - least + 1)


COUNTERS: list[Count] = [bytes_each, words, dearer_together, erratic]


def count_all(count: Count) -> Callable[[Sequence[str]], list[int]]:
    """Turn `count` into what the chunker expects: it counts lists, with special tokens."""
    return lambda texts: [OVERHEAD_TOKENS + count(text) for text in texts]
