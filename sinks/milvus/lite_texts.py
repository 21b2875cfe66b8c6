"""The columns `texts` and `fields` in a local folder: base64 behind a `=`, or, in folders of 0.1, seven bits a character behind a `7`.

Pure functions, called by `lite_blocks`. Nothing writes seven bits any more; the release after the next one drops their reader.
"""

import numpy as np

from sinks.milvus.base64_texts import base64_text, frame_of_base64

LONGER_CHARACTERS = 1
"""How much longer than base64 the stored form is."""
_SEVEN_BITS = 0x7F


def stored_text(frame: bytes) -> str:
    """Return a frame as it is stored."""
    return f"={base64_text(frame)}"


def frame_of_text(stored: str) -> bytes:
    """Return the frame that was stored. A damaged one comes back as its own bytes, or others; they are no frame, or not the one it was."""
    return _frame_of_seven_bits(stored) if stored.startswith("7") else frame_of_base64(stored[1:])


def _frame_of_seven_bits(stored: str) -> bytes:
    """Unpack groups of eight characters, seven bytes each, highest bit first; the second character says how many zeros fill the last."""
    data = stored.encode("utf-8", "replace")
    characters = np.frombuffer(data[2:], np.uint8)
    if not ("0" <= stored[1:2] <= "6") or not characters.size or characters.size % 8 or characters.max() > _SEVEN_BITS:
        return data
    bits = np.unpackbits(characters.reshape(-1, 1), axis=1)[:, 1:]
    return np.packbits(bits).tobytes()[: characters.size // 8 * 7 - int(stored[1])]
