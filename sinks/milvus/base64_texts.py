"""Encoded columns as base64, for Milvus takes only text: a server keeps all of them so, a local folder `places` and short ones.

Pure functions, called by the writes and reads of both, and by `lite_texts`.
"""

import binascii


def base64_text(frame: bytes) -> str:
    """Return a frame as it is stored."""
    return binascii.b2a_base64(frame, newline=False).decode("ascii")


def frame_of_base64(stored: str) -> bytes:
    """Return the frame that was stored. What is no base64 comes back as its own bytes; they are no frame, so it is damaged when decoded."""
    try:
        return binascii.a2b_base64(stored, strict_mode=True)
    except ValueError:
        return stored.encode("utf-8", "replace")
