"""Forms: texts with every digit replaced by `8`, except a few that may stay when the text is masked.

Lines of one template differ mostly in digits, so thousands of lines have few forms, and a form is masked once for all its lines. This is
correct because the built-in masks do not distinguish one digit from another, except in the `0x` of a hexadecimal number, and a form keeps
`0x`; no mask makes another `0x`, because none that comes before `hex` removes what stands directly after a digit. Hence a text and its form
lose the same bytes, and if no `8` is left of the form, exactly the same is left of the text. So it is never wrong to replace a digit, but a
form of whose digits one is left says nothing about its texts.
"""

import numpy as np

from consumers.columns import Column
from consumers.text import codes, regex

DIGIT = "8"
"""Stands for other digits; chosen because it is the rarest digit in codes of HTTP."""

_FLAGS = bytes(codes.flags_of(chr(byte)) for byte in range(256))
_PADDING = bytes(codes.PADDING_BYTES)
_ZERO, _X, _DIGIT, _DIGITS = (np.uint8(number) for number in (*b"0x", *DIGIT.encode(), 10))
_BLOCK_BYTES = 64 * 1024
"""So that what is computed for each byte stays in the processor's cache."""


def forms_of(column: Column, *, keep_codes: bool = False) -> Column:
    """Return the forms of n texts; with `keep_codes`, the digits of codes (`consumers/text/codes.py`) stay."""
    text, offsets = regex.view_text(column)
    form = np.empty_like(text)
    for start in range(0, len(text), _BLOCK_BYTES):
        block = text[start : start + _BLOCK_BYTES]
        # all bits of a byte that is a digit, none of another
        is_digit = np.negative((block - _ZERO < _DIGITS).view(np.uint8))
        np.bitwise_xor(block, (block ^ _DIGIT) & is_digit, out=form[start : start + _BLOCK_BYTES])
        after = text[start + 1 : start + _BLOCK_BYTES + 1]
        form[start + np.flatnonzero((after == _X) & (block[: len(after)] == _ZERO))] = _ZERO
    if keep_codes:
        _, kept = _find_codes(column)
        form[kept] = text[kept]
    return regex.column_of(form, offsets)


def find_with_codes(column: Column) -> regex.Places:
    """Return the places of the texts that hold codes."""
    places, _ = _find_codes(column)
    return np.unique(places)


def _find_codes(column: Column) -> tuple[regex.Places, regex.Places]:
    """Return for every digit of a code the place of its text, and its place in the bytes of the column."""
    joined, _ = regex.view_text(regex.join_lines(column))
    padded = b"".join((_PADDING, joined.tobytes(), _PADDING))
    flags = np.frombuffer(padded.translate(_FLAGS), dtype=np.uint8)
    found = codes.find_codes(np.frombuffer(padded, dtype=np.uint8), flags) - codes.PADDING_BYTES
    _, offsets = regex.view_text(column)
    places = np.searchsorted(offsets + np.arange(len(offsets)), found, side="right") - 1
    return places, found - places
