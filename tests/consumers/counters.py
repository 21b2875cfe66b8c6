"""Token counters for the chunker's tests: each is deterministic and gives ASCII text at most a token a byte, as a real one does."""

import hashlib
import re
from collections.abc import Callable, Sequence

OVERHEAD_TOKENS = 2

Count = Callable[[str], int]


def bytes_each(text: str) -> int:
    """Count a token a byte."""
    return len(text.encode())


def words(text: str) -> int:
    """Count a token for every three bytes of a word, and one for every other sign."""
    return sum(-(-len(part.encode()) // 3) for part in re.findall(r"\w+|[^\w\s]", text))


def dearer_together(text: str) -> int:
    """Count more for a long text than for its parts."""
    size_bytes = len(text.encode())
    return size_bytes if size_bytes > 12 else -(-size_bytes // 3)


def erratic(text: str) -> int:
    """Count anything between a third and all of the bytes; a part may weigh more than the whole."""
    size_bytes = len(text.encode())
    least = -(-size_bytes // 3)
    return least + hashlib.blake2b(text.encode(), digest_size=1).digest()[0] % (size_bytes - least + 1)


COUNTERS: list[Count] = [bytes_each, words, dearer_together, erratic]


def count_all(count: Count) -> Callable[[Sequence[str]], list[int]]:
    """Make of `count` what the chunker takes: lists, with the special tokens."""
    return lambda texts: [OVERHEAD_TOKENS + count(text) for text in texts]
