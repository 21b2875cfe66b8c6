"""The first bytes of many texts side by side, for arithmetic over all of them at once.

`consumers.decode.times` and the `line_*` files read times, levels and tags from them: one numpy call a step instead of one Python object
a line. Eight bytes are read as one little-endian number, so that its lowest byte is the first one.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, utf8_of

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Longs = NDArray[np.int64]
Words = NDArray[np.uint64]

HEAD_BYTES: Final = 128
"""From one text's head to the next one's."""
READ_BYTES: Final = HEAD_BYTES - 1
"""How many bytes of a text are looked at; a zero follows them."""
BLOCK_ROWS: Final = 4096
"""Heads that are worked on at a time, so that they stay in the processor's cache."""
_PADDING_BYTES = 64
"""Behind the last head: what is read at a place in a head may reach beyond it, but never counts behind the zero."""

LOW_BITS: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
HIGH_BITS: Final = np.uint64(0x8080808080808080)
ZEROS: Final = np.uint64(0x3030303030303030)
ABOVE_NINE: Final = np.uint64(0x7676767676767676)
"""Added to bytes below 128, it sets the high bit of those above nine."""
FIRST_BYTES: Final = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
"""By the number of bytes: the bits of the first ones."""
ONE: Final = np.uint64(1)
EIGHT: Final = np.uint64(8)
TEN: Final = np.uint64(10)


class Heads:
    """The heads of n texts; behind each stands a zero, so that nothing that is read byte by byte goes on into the next text.

    Thread: one.
    """

    def __init__(self, data: Bytes, starts: Longs, lengths: Longs) -> None:
        """`data[starts[i]:starts[i] + lengths[i]]` is text i, in UTF-8."""
        self.size = len(starts)
        self.length = np.minimum(lengths, READ_BYTES)
        self._bytes = np.zeros(self.size * HEAD_BYTES + _PADDING_BYTES, np.uint8)
        self.rows = self._bytes[: self.size * HEAD_BYTES].reshape(self.size, HEAD_BYTES)
        places = len(data) - HEAD_BYTES + 1
        whole = self.size if places > 0 and (not self.size or starts[-1] < places) else int(np.searchsorted(starts, max(places, 0)))
        if whole:
            all_heads = np.ndarray((places,), f"V{HEAD_BYTES}", buffer=data, strides=(1,))
            self.rows[:whole] = all_heads[starts[:whole]].view(np.uint8).reshape(whole, HEAD_BYTES)
        for row in range(whole, self.size):
            tail = data[starts[row] : starts[row] + HEAD_BYTES]
            self.rows[row, : len(tail)] = tail
        self.base: Longs = np.arange(self.size, dtype=np.int64) * HEAD_BYTES
        """Where each head begins in what `byte` and `word` read."""
        self._bytes[self.base + self.length] = 0
        self._words = np.ndarray((len(self._bytes) - 7,), "<u8", buffer=self._bytes, strides=(1,))

    def byte(self, at: Longs) -> Bytes:
        """Return the bytes at these places."""
        return self._bytes[at]

    def word(self, at: Longs) -> Words:
        """Return the eight bytes from each of these places on."""
        return self._words[at]

    def where(self, matches: Bools) -> Words:
        """Return a bool for each byte of each head, bool[n, 128], as bits within the texts: uint64[n, 2], the lowest bit first."""
        bits = packed_bits(matches)
        bits[:, 0] &= _LOW_MASKS[self.length]
        bits[:, 1] &= _HIGH_MASKS[self.length]
        return bits


_ZERO, _TEN = np.uint8(ord("0")), np.uint8(10)
_WORD_BITS = 64
_LOW_MASKS = np.array([(1 << min(n, _WORD_BITS)) - 1 for n in range(HEAD_BYTES)], np.uint64)
_HIGH_MASKS = np.array([(1 << max(n - _WORD_BITS, 0)) - 1 for n in range(HEAD_BYTES)], np.uint64)


def heads_of(column: Column) -> Iterator[tuple[int, Heads]]:
    """Return the heads of a column of texts, a block at a time with the row that it begins at. A null has an empty head."""
    data, ends = utf8_of(column)
    for first in range(0, len(column), BLOCK_ROWS):
        places = ends[first : first + BLOCK_ROWS + 1].astype(np.int64)
        yield first, Heads(data, places[:-1], np.diff(places))


def digits_of(heads: Heads) -> Words:
    """Return where texts have digits, as `Heads.where` does."""
    return heads.where((heads.rows - _ZERO) < _TEN)


def packed_bits(matches: Bools) -> Words:
    """Return a bool for each byte of some heads, bool[n, 128], as bits: uint64[n, 2], the lowest bit first."""
    return np.packbits(matches.reshape(-1), bitorder="little").view("<u8").reshape(-1, 2)


def table_of(characters: str) -> Bools:
    """Return for each of 256 bytes whether it is one of these ASCII characters."""
    table = np.zeros(256, np.bool_)
    table[list(characters.encode())] = True
    return table


def bits_from(bits: Words, start: Longs) -> Words:
    """Return 64 bits of each row from bit `start` on, 0 ≤ start < 128: uint64[n]."""
    low, high = bits[:, 0], bits[:, 1]
    shift = (start & 63).astype(np.uint64)
    shifted = low >> shift
    # Shifting by 64 is undefined, so by one first.
    shifted |= (high << ONE) << (np.uint64(63) - shift)
    if (start >= _WORD_BITS).any():
        shifted = np.where(start >= _WORD_BITS, high >> shift, shifted)
    return shifted


def lowest_bit(bits: Words) -> Longs:
    """Return the place of the lowest bit that is set, 64 where none is: int64[n]."""
    places: Longs = np.bitwise_count((bits & -bits) - ONE).astype(np.int64)
    return places
