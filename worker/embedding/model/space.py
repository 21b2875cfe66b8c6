"""The embedding space: which vectors may be compared, and the cache key of a text's vector in that space.

Masks, redaction, chunk size and token limit are not part of it: they decide which text is embedded, and the cache key covers that text.
The engine and its number format are not part of it either: instead, golden vectors must agree at start. A template's id does not depend
on the space (`sinks.row.template_id`): it names the kind of line, a cache key names one model's vector of it.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType

import numpy as np
from numpy.typing import NDArray

CacheKey = NewType("CacheKey", str)
"""32 hex digits; see `Digester`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpace:
    """Everything that decides what a vector means; two spaces with the same `id` are equal."""

    weights_sha256: str
    architecture: str
    """Layers, heads, epsilon, activation and the like: they change what the same weights compute."""
    tokenizer_sha256: str
    pooling: str
    dim: int
    document_prefix: str
    query_prefix: str
    splits_words: bool = False
    """Whether `worker.embedding.model.split_words` comes before the tokenizer."""

    @property
    def parts(self) -> dict[str, str]:
        """Its parts by the names of the settings, in the order in which `id` hashes them."""
        return {
            "weights": self.weights_sha256,
            "architecture": self.architecture,
            "tokenizer": self.tokenizer_sha256,
            "pooling": self.pooling,
            "dims": str(self.dim),
            "document_prefix": self.document_prefix,
            "query_prefix": self.query_prefix,
            **({"words": "split"} if self.splits_words else {}),
        }

    @property
    def id(self) -> str:
        """16 hex digits: BLAKE2b over the length-prefixed parts."""
        return _hash((part.encode("utf-8") for part in self.parts.values()), digest_bytes=8).hexdigest()


class Digester:
    """Makes the cache keys of texts with a prefix in one space: BLAKE2b-128 over length-prefixed parts, 32 hex digits.

    Thread: any.
    """

    def __init__(self, space: EmbeddingSpace, prefix: str) -> None:
        self.dim = space.dim
        self._prefix = prefix
        self._begun = _hash([space.id.encode("ascii")], digest_bytes=16)

    def digest(self, masked: str) -> CacheKey:
        """Return the cache key of one masked text: what memory and Redis hold its vector under."""
        text = (self._prefix + masked).encode("utf-8")
        hasher = self._begun.copy()
        _update(hasher, [text])
        return CacheKey(hasher.hexdigest())

    def digest_ids(self, ids: NDArray[np.int32]) -> CacheKey:
        """Return the cache key of token ids that stand for no whole text; no text has the same, whatever it holds."""
        hasher = self._begun.copy()
        _update(hasher, [b"", np.ascontiguousarray(ids, dtype="<i4").tobytes()])
        return CacheKey(hasher.hexdigest())


def _hash(parts: Iterable[bytes], *, digest_bytes: int) -> "hashlib.blake2b":
    hasher = hashlib.blake2b(digest_size=digest_bytes)
    _update(hasher, parts)
    return hasher


def _update(hasher: "hashlib.blake2b", parts: Iterable[bytes]) -> None:
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
