"""Encoded columns in seven bits a character: how a local folder keeps them, a seventh smaller than in base64.

Milvus Lite stores strings as UTF-8, of which a character below 128 is one byte; its files compress nothing that is compressed already.
Pure functions, called by `lite_blocks`; a short column is kept as base64. `lite_texts.c` does the packing.
"""

import numpy as np

from consumers.native import BYTES, SIZE, c_function, output_of
from sinks.block import base64_characters
from sinks.milvus.base64_texts import base64_text, frame_of_base64

_PACKED = "7"
_PLAIN = "="
_HEADER_CHARACTERS = 2
"""`_PACKED`, and how many zeros were added to the bytes."""
_LEAST_CHARACTERS = 64
"""What takes less as base64 is not worth it."""
LONGER_CHARACTERS = 1
"""So much longer than base64 may the stored form be."""

_pack_bytes, _unpack_bytes = (
    c_function(__file__, "lite_texts", name, BYTES, SIZE, output_of(np.uint8), SIZE, returns=SIZE)
    for name in ("pack_bytes", "unpack_bytes")
)


def pack_text(frame: bytes) -> str:
    """Return a frame as it is stored."""
    if base64_characters(len(frame)) < _LEAST_CHARACTERS:
        return _PLAIN + base64_text(frame)
    groups = -(-len(frame) // 7)
    characters = np.empty(8 * groups, np.uint8)
    count = _pack_bytes(np.frombuffer(frame, np.uint8), len(frame), characters, len(characters))
    return f"{_PACKED}{7 * groups - len(frame)}{str(characters[:count].data, 'ascii')}"


def unpack_text(stored: str) -> bytes:
    """Return the frame that was stored. A damaged one comes back as its own bytes, or others; they are no frame, or not the one it was."""
    if not stored.startswith(_PACKED):
        return frame_of_base64(stored[1:])
    data = stored.encode("utf-8", "replace")
    if len(data) > _HEADER_CHARACTERS and "0" <= stored[1] <= "6":
        characters = np.frombuffer(data, np.uint8, offset=_HEADER_CHARACTERS)
        frame = np.empty(max(len(characters) // 8 * 7 - int(stored[1]), 0), np.uint8)
        if _unpack_bytes(characters, len(characters), frame, len(frame)) >= 0:
            return frame.tobytes()
    return data
