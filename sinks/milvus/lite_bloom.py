"""Which blocks may hold a word: a Bloom filter for each block, all of them side by side in memory.

For a local folder, which cannot filter by arrays at a bearable price. A filter may say yes to a word that is not there, never no to one
that is. A pure part: the caller stores the filters and keeps readers away from a writer.
"""

import base64
import binascii
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import ANY_WORD
from sinks.milvus.lite_growing import Growing

MOST_FILTER_BYTES = 4_096
FILTER_CHARACTERS = 4 * (MOST_FILTER_BYTES // 3 + 1)
"""Of the longest filter as text."""
_LEAST_FILTER_BYTES = 8
_BYTES_A_WORD = 2
_BITS_SET = 4
"""Of 2,048 words in 4,096 bytes one in 400 wrong words passes, of 4,096 words one in 40."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def bloom_filter(words: NDArray[np.int32]) -> bytes:
    """Return the filter of a block's words: a power of two of bytes; none if the block may hold any word."""
    if ANY_WORD in words:
        return b""
    size = min(max(1 << (_BYTES_A_WORD * len(words) - 1).bit_length(), _LEAST_FILTER_BYTES), MOST_FILTER_BYTES)
    bits = np.zeros(8 * size, np.uint8)
    for places in _places(words, 8 * size):
        bits[places] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def encode_filter(found: bytes) -> str:
    """Return a filter as text."""
    return base64.b64encode(found).decode("ascii")


def decode_filter(text: str) -> bytes:
    """Return the filter that `encode_filter` made; what is unreadable counts as one that passes everything."""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    is_ours = len(found) <= MOST_FILTER_BYTES and len(found).bit_count() == 1
    return found if is_ours else b""


class SeenFilters(NamedTuple):
    """The filters of the first n blocks at one moment; later ones do not change it.

    Thread: any.
    """

    start: NDArray[np.int64]
    """int64[n]: where a block's filter begins in `buffer`."""
    bits: NDArray[np.int64]
    """int64[n]: how many bits it has; 0 passes everything."""
    buffer: NDArray[np.uint8]

    def may_hold(self, blocks: NDArray[np.int64], words: Collection[int]) -> NDArray[np.bool_]:
        """Say of each of these blocks whether it may hold all of these words."""
        start, bits = self.start[blocks], self.bits[blocks]
        may = np.ones(len(blocks), bool)
        for word in words:
            left = np.flatnonzero(may & (bits > 0))
            for places in _places(np.array([word], np.int32), bits[left]):
                held = self.buffer[start[left] + (places >> 3)] >> (places & 7).astype(np.uint8) & 1
                may[left[held == 0]] = False
        return may

    def select(self, blocks: NDArray[np.int64]) -> list[bytes]:
        """Return the filters of these blocks."""
        ends = self.start[blocks] + self.bits[blocks] // 8
        return [self.buffer[begin:end].tobytes() for begin, end in zip(self.start[blocks].tolist(), ends.tolist(), strict=True)]


class BloomFilters:
    """The filters of n blocks, to which others are added.

    Thread: one at a time; what `seen` returned, any.
    """

    def __init__(self) -> None:
        self._used_bytes = 0
        self._start = Growing(np.int64)
        self._bits = Growing(np.int64)
        self._buffer = Growing(np.uint8)

    def add(self, filters: Sequence[bytes]) -> None:
        """Add the filters of further blocks, in their order."""
        sizes = np.array([len(one) for one in filters], np.int64)
        self._start.add(self._used_bytes + np.cumsum(sizes) - sizes)
        self._bits.add(8 * sizes)
        self._buffer.add(np.frombuffer(b"".join(filters), np.uint8))
        self._used_bytes += int(sizes.sum())

    def seen(self) -> SeenFilters:
        """Return what is there now."""
        return SeenFilters(self._start.seen(), self._bits.seen(), self._buffer.seen())


def _places(words: NDArray[np.int32], bits: int | NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the bits of each word, or of one word in each of several filters: double hashing (Kirsch and Mitzenmacher 2006)."""
    spread = words.astype(np.uint64) * _SPREAD
    first = (spread >> np.uint64(33)).astype(np.int64)
    step = (spread & np.uint64(0x7FFFFFFF)).astype(np.int64) | 1
    return [first + i * step & bits - 1 for i in range(_BITS_SET)]
