"""Encoded columns in seven bits a character: how a local folder keeps them, a seventh smaller than in base64.

Milvus Lite stores strings as UTF-8, of which a character below 128 is one byte; its files compress nothing that is compressed already.
Pure functions, called by `lite_blocks`; what is not base64 is kept as it is.
"""

import base64
import binascii

import numpy as np

_PACKED = "7"
_PLAIN = "="
_SHIFTS = [np.uint64(shift) for shift in range(49, -1, -7)]
_SEVEN = np.uint64(127)
_LEAST_CHARACTERS = 64
"""A shorter text is not worth it."""
LONGER_CHARACTERS = 1
"""So much longer than the text itself may its stored form be."""


def pack_text(text: str) -> str:
    """Return a text as it is stored."""
    if len(text) < _LEAST_CHARACTERS:
        return _PLAIN + text
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return _PLAIN + text
    if base64.b64encode(raw) != text.encode():
        return _PLAIN + text
    groups = -(-len(raw) // 7)
    padded = np.zeros((groups, 8), np.uint8)
    padded[:, 1:] = np.frombuffer(raw.ljust(7 * groups, b"\0"), np.uint8).reshape(groups, 7)
    bits = padded.view(">u8")[:, 0].astype(np.uint64)
    characters = np.empty((groups, 8), np.uint8)
    for place, shift in enumerate(_SHIFTS):
        characters[:, place] = bits >> shift & _SEVEN
    return f"{_PACKED}{7 * groups - len(raw)}{characters.tobytes().decode('ascii')}"


def unpack_text(stored: str) -> str:
    """Return the text that was stored; a damaged one comes back as some other text."""
    if not stored.startswith(_PACKED):
        return stored[1:]
    characters = np.frombuffer(stored[2:].encode(), np.uint8)
    if len(characters) % 8 or not "0" <= stored[1:2] <= "6":
        return ""
    bits = np.zeros(len(characters) // 8, np.uint64)
    for place, shift in enumerate(_SHIFTS):
        bits |= characters[place::8].astype(np.uint64) << shift
    raw = bits.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 1:].tobytes()
    return base64.b64encode(raw[: len(raw) - int(stored[1])]).decode("ascii")
