"""Lays a batch of texts out for a packed graph: where each token is, and which tokens attend to each other.

`worker.embedding.model.onnx_graph` names these arrays. Attention needs rows of equal width, the longest text's. A row holds as many whole
texts as fit, in the order of the batch. Two rows that follow each other hold more than one is wide, so all rows together have at most twice
as many slots as there are tokens, and one row more, however lengths differ. With one row a text, one text of 256 tokens beside fifty of 5
would make 26 times as many.

Laying out 512 tokens takes 0.05 ms beside 40 or more of computing, so no array is kept for the next batch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.folder import Pooling
from worker.embedding.model.vectors import TokenIds

_NO_TEXT = -1


def packed(batch: Sequence[TokenIds], lengths: NDArray[np.int64], pooling: Pooling) -> dict[str, NDArray[Any]]:
    """Return the graph's inputs for at least one text; `lengths` are their tokens, int64[n], at least 1 each.

    `ids`, `positions` and `places` (where a token is among all slots): int32[tokens]. `slots` (which token is there) and `texts` (whose
    it is): int32[rows, width]. For pooling `shares`: float32[n, tokens], each token's share of its text's mean; or `firsts`: int32[n].
    """
    tokens, width = int(lengths.sum()), int(lengths.max())
    starts = np.cumsum(lengths) - lengths
    text_of = np.repeat(np.arange(len(batch), dtype=np.int32), lengths)
    all_tokens = np.arange(tokens, dtype=np.int32)
    positions = all_tokens - np.repeat(starts, lengths)
    begins = _begins(lengths.tolist(), width)
    places = np.repeat(begins, lengths) + positions
    rows = int(begins[-1]) // width + 1
    slots = np.zeros(rows * width, dtype=np.int32)
    texts = np.full(rows * width, _NO_TEXT, dtype=np.int32)
    slots[places], texts[places] = all_tokens, text_of
    laid_out: dict[str, NDArray[Any]] = {
        "ids": np.concatenate(batch).astype(np.int32, copy=False),
        "positions": positions.astype(np.int32),
        "places": places.astype(np.int32),
        "slots": slots.reshape(rows, width),
        "texts": texts.reshape(rows, width),
    }
    if pooling == "cls":
        return laid_out | {"firsts": starts.astype(np.int32)}
    shares = np.zeros((len(batch), tokens), dtype=np.float32)
    shares[text_of, all_tokens] = 1 / np.repeat(lengths, lengths)
    return laid_out | {"shares": shares}


def _begins(lengths: Sequence[int], width: int) -> NDArray[np.int64]:
    """Return the slot at which each text begins: int64[n], ascending."""
    begins = np.empty(len(lengths), dtype=np.int64)
    row = used = 0
    for text, length in enumerate(lengths):
        if used + length > width:
            row, used = row + 1, 0
        begins[text] = row * width + used
        used += length
    return begins
