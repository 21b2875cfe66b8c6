"""Encoded columns in seven bits a character: how a local folder keeps them, a seventh smaller than in base64.

Milvus Lite stores strings as UTF-8, of which a character below 128 is one byte; its files compress nothing that is compressed already.
Pure functions, called by `lite_blocks`; what is not base64 is kept as it is.
"""

import base64
import binascii

import numpy as np

_PACKED = "7"
_PLAIN = "="
_HALVES = tuple(
    (np.uint64(upper), np.uint64(lower), np.uint64(shift))
    for upper, lower, shift in (
        (0x00FF_FFFF_F000_0000, 0x0000_0000_0FFF_FFFF, 4),
        (0x0FFF_C000_0FFF_C000, 0x0000_3FFF_0000_3FFF, 2),
        (0x3F80_3F80_3F80_3F80, 0x007F_007F_007F_007F, 1),
    )
)
"""How 56 bits become eight times seven: each half of 28, then each of 14, then each of seven moves away from the other."""
_LEAST_CHARACTERS = 64
"""A shorter text is not worth it."""
LONGER_CHARACTERS = 1
"""So much longer than the text itself may its stored form be."""


def pack_text(text: str) -> str:
    """Return a text as it is stored."""
    if len(text) < _LEAST_CHARACTERS:
        return _PLAIN + text
    try:
        raw = binascii.a2b_base64(text)
    except (binascii.Error, ValueError):
        return _PLAIN + text
    if base64.b64encode(raw) != text.encode():
        return _PLAIN + text
    groups = -(-len(raw) // 7)
    # Seven bytes each, with the byte before them on top; the first step leaves that out.
    bits = np.ndarray((groups,), ">u8", b"\0" + raw.ljust(7 * groups, b"\0"), 0, (7,)).astype(np.uint64)
    for upper, lower, shift in _HALVES:
        low = bits & lower
        bits &= upper
        bits <<= shift
        bits |= low
    characters = bits.astype(">u8").tobytes().decode("ascii")
    return f"{_PACKED}{7 * groups - len(raw)}{characters}"


def unpack_text(stored: str) -> str:
    """Return the text that was stored; a damaged one comes back as some other text."""
    if not stored.startswith(_PACKED):
        return stored[1:]
    characters = np.frombuffer(stored[2:].encode(), np.uint8)
    if len(characters) % 8 or not "0" <= stored[1:2] <= "6":
        return ""
    bits = characters.view(">u8").astype(np.uint64)
    for upper, lower, shift in reversed(_HALVES):
        low = bits & lower
        bits >>= shift
        bits &= upper
        bits |= low
    raw = bits.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 1:].tobytes()
    return base64.b64encode(raw[: len(raw) - int(stored[1])]).decode("ascii")
