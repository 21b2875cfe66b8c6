"""Texts of `benchmarks.serve` and requests with them. Words are whole tokens of the model, so a text's length is known beforehand. Pure."""

import base64
import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.race import Wrong
from benchmarks.serve_users import Answered

FRAME_TOKENS = 2
"""[CLS] and [SEP]."""

Vectors = NDArray[np.float32]


def texts_of(words: Sequence[str], lengths_tokens: Sequence[int], random: Random) -> list[str]:
    """Return a text of each length; of 10 tokens and more no two are alike, as good as surely."""
    return [" ".join(random.choices(words, k=length - FRAME_TOKENS)) for length in lengths_tokens]


def mixed_lengths(count: int, least_tokens: int, most_tokens: int, random: Random) -> list[int]:
    """Return lengths from the least to the most, each as often, in random order."""
    lengths = [least_tokens + (most_tokens - least_tokens) * number // max(count - 1, 1) for number in range(count)]
    random.shuffle(lengths)
    return lengths


def zipf_ranks(count: int, ranks: int, random: Random) -> list[int]:
    """Return `count` numbers from 0 to `ranks` - 1, number n with a weight of 1 / (n + 1)."""
    return random.choices(range(ranks), [1 / (1 + rank) for rank in range(ranks)], k=count)


def request_body(model: str, texts: Sequence[str]) -> bytes:
    """Return the request that OpenAI's client sends; one text goes alone."""
    inputs = texts[0] if len(texts) == 1 else list(texts)
    return json.dumps({"input": inputs, "model": model, "encoding_format": "base64"}, ensure_ascii=False).encode()


def in_requests(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield the texts of each request."""
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def vectors_in(answered: Answered, texts: int) -> Vectors:
    """Return float32[texts, dim] of an answer. Raises Wrong for one that does not hold them."""
    if answered.status != 200:  # noqa: PLR2004 - HTTP's OK
        raise Wrong(f"a request was answered with {answered.status or 'a closed connection'}: {answered.body[:200]!r}")
    found: list[dict[str, Any]] = sorted(json.loads(answered.body)["data"], key=lambda one: one["index"])
    if len(found) != texts:
        raise Wrong(f"{len(found)} vectors for {texts} texts")
    return np.stack([np.frombuffer(base64.b64decode(one["embedding"]), dtype="<f4") for one in found])


def worst_cosine(rows: Vectors, others: Vectors) -> float:
    """Return the lowest cosine between equal rows."""
    return float((_unit(rows) * _unit(others)).sum(axis=1).min())


def _unit(vectors: Vectors) -> NDArray[np.float64]:
    wide = vectors.astype(np.float64)
    unit: NDArray[np.float64] = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    return unit
