"""What a text is remembered by: itself if it is short, a digest of it if it is long, so that memory does not grow with its length."""

from hashlib import blake2b

_LONGEST_KEY_CHARACTERS = 256
"""Longer, a digest takes less memory than the text, and little time beside what was done with the text."""
_DIGEST_BYTES = 16


def text_key(text: str) -> str | bytes:
    """Return what to remember a text by; different for different texts. Takes a microsecond a kilobyte for long ones."""
    if len(text) <= _LONGEST_KEY_CHARACTERS:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
