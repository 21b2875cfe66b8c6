"""Scores how well vectors find lines with the same label: the first ten, with fair ties.

Pure: `benchmarks.retrieval` passes in vectors, labels and token counts. Equal texts have equal vectors, so masked lines tie often. Any one
order of equal scores would be luck, so the score is the *mean over all their orders*, without a seed.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.vectors import Vectors

FIRST = 10
Indices = NDArray[np.int64]
Scores = NDArray[np.float32]
Shares = NDArray[np.float64]


class Spent(NamedTuple):
    """Tokens, prefix and special tokens included."""

    tokens: int
    """Of all texts."""
    embedded_tokens: int
    """Of unknown texts, once each."""

    @property
    def saved_share(self) -> float:
        """Return the share of the tokens that the engine did not have to embed."""
        return 1 - self.embedded_tokens / max(self.tokens, 1)


def spend(texts: Sequence[int], tokens: Indices, known: Collection[int] = ()) -> Spent:
    """Count what a stream of texts costs, each given by its number; `tokens` are those of every number, `known` costs nothing."""
    new = set(texts).difference(known)
    return Spent(sum(int(tokens[text]) for text in texts), sum(int(tokens[text]) for text in new))


def share_found(scores: Scores, relevant: NDArray[np.bool_], first: int = FIRST) -> float | None:
    """Return how many relevant ones are among the `first` by score, as a share of as many as could be there; None if there are none.

    Equal scores at the end of the `first` count with the mean over all their orders.
    """
    possible = min(first, int(relevant.sum()))
    if not possible:
        return None
    if len(scores) <= first:
        return 1.0
    last = np.partition(scores, -first)[-first]
    above, tied = scores > last, scores == last
    places = first - int(above.sum())
    found = int(relevant[above].sum()) + places * int(relevant[tied].sum()) / int(tied.sum())
    return float(found / possible)


def neighbour_shares(vectors: Vectors, texts: Indices, labels: Indices, first: int = FIRST) -> Shares:
    """Return for each line which share of its nearest neighbours has its label, as far as there are so many: float64[n].

    float32[t, dim] of unit length, the text of each line (int64[n]) and its label (int64[n]). A line whose label no other has is NaN.
    """
    cosines = vectors @ vectors.T  # of texts, not of lines: equal texts get equal scores, to the last bit
    shares = np.full(len(texts), np.nan)
    others = np.ones(len(texts), dtype=np.bool_)
    for line in range(len(texts)):
        others[line] = False
        share = share_found(cosines[texts[line]][texts[others]], (labels == labels[line])[others], first)
        others[line] = True
        if share is not None:
            shares[line] = share
    return shares
