"""Encodes vectors as the bytes stored in Redis, and back; `worker.embedding.cache.redis_cache` calls it, hundreds at a time.

A frame, little-endian: magic `VT`, version (1 byte), number format (1 byte, 1 = float16), dimension (uint32), the components, and 8 bytes
of BLAKE2b over the *key* and everything before it. It covers the key so that a frame under another key, or in another embedding space, is a
miss like one with flipped bits. With `redis.secret` the hash is keyed, and so a signature: who may write to Redis but does not know the
secret cannot make a vector that a worker takes. Without it, whoever may write there is trusted.
Anything that is not exactly a frame is a miss; decoding never raises.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.row import Vector

_MAGIC = b"VT"
_VERSION = 2
_FLOAT16 = 1
_HEADER_BYTES = 8
_HASH_BYTES = 8
_UNIT_TOLERANCE = 0.001
"""Largest distance from length 1: rounding to float16 moves a vector's length by at most 2^-11 = 0.0005."""
_SIGN_EXPONENT_FRACTION = np.int32(-0x7000_2000)
"""0x8FFFE000: shifting has spread the sign over the bits between it and the exponent."""
_EXPONENT = np.float32(2.0**112)
_ROUNDING = 0.001
"""Largest relative error of rounding to float16: twice that of normal numbers. The cosine stays above 1 - 1e-6."""


class DecodedFrame(NamedTuple):
    """The vectors of some frames."""

    vectors: list[Vector | None]
    """One per frame, in order; rows of one array."""
    corrupt: int
    """How many frames were stored but are not what was written."""


class FrameCodec:
    """A decoded vector was encoded under the same key; it is finite, not zero, of the right dimension and of length 1.

    Thread: any.
    """

    def __init__(self, dim: int, secret: str = "") -> None:
        """Vectors have `dim` components; with a `secret`, only frames that were encoded with the same one are decoded."""
        self._dim = dim
        self._secret = hashlib.blake2b(secret.encode("utf-8", "surrogatepass")).digest() if secret else b""
        self._header = _MAGIC + bytes((_VERSION, _FLOAT16)) + dim.to_bytes(4, "little")
        self._row = np.dtype([("header", f"V{_HEADER_BYTES}"), ("vector", "<i2", (dim,)), ("hash", f"V{_HASH_BYTES}")])
        self.frame_bytes = self._row.itemsize

    def encode(self, keys: Sequence[bytes], vectors: Sequence[Vector]) -> list[bytes | None]:
        """Return one frame per vector, None if it has not length 1. Raises ValueError for another dimension."""
        if not vectors:
            return []
        exact = np.stack(vectors)
        if exact.shape[1:] != (self._dim,):
            raise ValueError(f"vectors of {exact.shape[1:]} components, not {self._dim}")
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(exact, axis=1)
            halves = exact.astype("<f2")
            # Written so that a NaN fails the comparison.
            kept = np.linalg.norm(halves.astype(np.float32) - exact, axis=1) <= _ROUNDING * lengths
            kept &= np.abs(lengths - 1) <= _UNIT_TOLERANCE
        rows = np.zeros(len(halves), self._row)
        rows["header"] = np.void(self._header)
        rows["vector"] = halves.view("<i2")
        body = rows.tobytes()
        frames: list[bytes | None] = []
        for number, (key, keep) in enumerate(zip(keys, kept.tolist(), strict=True)):
            start = number * self.frame_bytes
            front = body[start : start + self.frame_bytes - _HASH_BYTES]
            frames.append(front + self._hash(key, front) if keep else None)
        return frames

    def decode(self, keys: Sequence[bytes], values: Sequence[bytes | None]) -> DecodedFrame:
        """Return one vector per value, None if it is missing or wrong; `keys` are the keys that the values were read from."""
        intact = [
            number
            for number, (key, value) in enumerate(zip(keys, values, strict=True))
            if value is not None and self._is_intact(key, value)
        ]
        found: list[Vector | None] = [None] * len(values)
        present = len(values) - values.count(None)
        if not intact:
            return DecodedFrame(found, present)
        rows = np.frombuffer(b"".join([values[number] or b"" for number in intact]), self._row)
        vectors = widened(rows["vector"])
        with np.errstate(all="ignore"):
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            good = np.abs(lengths - 1) <= _UNIT_TOLERANCE
            vectors /= lengths[:, None]
        for number, vector, fine in zip(intact, vectors, good.tolist(), strict=True):
            if fine:
                found[number] = vector
        return DecodedFrame(found, present - sum(good.tolist()))

    def _is_intact(self, key: bytes, value: bytes) -> bool:
        if len(value) != self.frame_bytes or not value.startswith(self._header):
            return False
        return hmac.compare_digest(self._hash(key, value[:-_HASH_BYTES]), value[-_HASH_BYTES:])

    def _hash(self, key: bytes, front: bytes) -> bytes:
        return hashlib.blake2b(key + front, digest_size=_HASH_BYTES, key=self._secret).digest()


def widened(halves: NDArray[np.int16]) -> NDArray[np.float32]:
    """Convert float16, given as bits, to float32 in an eighth of the time of numpy's `astype`, which converts one by one.

    Sign and fraction are shifted into place; a product corrects the exponent, then too small by 112, exactly and for subnormal numbers
    too. Infinities and NaN become 65,536 or more, so such a vector has not length 1.
    """
    bits = halves.astype(np.int32)
    bits <<= 13
    bits &= _SIGN_EXPONENT_FRACTION
    wide = bits.view(np.float32)
    wide *= _EXPONENT
    return wide
