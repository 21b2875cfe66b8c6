"""Scores what a question finds: hit@1, hit@5, nDCG@10, and how sure a difference is.

Pure: `benchmarks.questions` passes in vectors, shares and grades. A *result* is what takes one of the ten places: a whole line, a template,
or a family. Its gain is the mean grade of its lines' labels; a family's is the mean over its templates, each counting once. It stands where
the nearest of its texts does.

`ndcg10` gives no gain for a label that an earlier result has already shown (alpha-nDCG of Clarke et al., SIGIR 2008, with alpha = 1): ten
copies of one line are one answer. Its ideal shows every graded label alone, best first, whatever the texts are, so one scale holds for all
ways to make texts. Gains are the grades themselves and not powers of two, so that the gain of a mean is the mean of gains.
`ndcg10_repeats` is the usual nDCG: repeats gain as much, and the ideal is the best order of the results that there are.
"""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.vectors import Vectors

FIRST = 10
HIT = 1.5
"""A result with at least this gain answers: half of it does, say, and the rest helps."""
_SURE = 1.96
"""Standard errors to either side that hold the true mean with 95 % probability."""

Grades = NDArray[np.float64]
"""What each label is worth, by its number: float64[labels]."""
Shares = NDArray[np.float64]
"""Of each text or result, the share of each label: float64[n, labels]; every row adds up to 1."""


class Results(NamedTuple):
    """What can be found: r results of t texts."""

    vectors: Vectors
    """Of each text: float32[t, dim], of unit length."""
    result_of: NDArray[np.int64]
    """The result that each text belongs to: int64[t]."""
    shares: Shares
    """Of each result."""


class Score(NamedTuple):
    """The scores of one question."""

    hit1: float
    hit5: float
    ndcg10: float
    ndcg10_repeats: float


def score(nearness: NDArray[np.float32], results: Results, grades: Grades) -> Score:
    """Rank all results, given how near each text is to the question, float32[t], and score the first ten. Some label must have a grade."""
    best = np.full(len(results.shares), -np.inf)
    np.maximum.at(best, results.result_of, nearness)
    first = np.argsort(-best, kind="stable")[:FIRST]
    gains = results.shares @ grades
    return Score(
        hit1=float(gains[first[0]] >= HIT),
        hit5=float(gains[first[:5]].max() >= HIT),
        ndcg10=_discounted(new_gains(results.shares[first], grades)) / _discounted(_best(grades)),
        ndcg10_repeats=_discounted(gains[first].tolist()) / _discounted(_best(gains)),
    )


def new_gains(shares: Shares, grades: Grades) -> list[float]:
    """Return the gain of each result in order, of labels that no result before it has."""
    left = grades.copy()
    gains = []
    for share in shares:
        gains.append(float(share @ left))
        left[share > 0] = 0
    return gains


def _best(gains: NDArray[np.float64]) -> list[float]:
    return sorted(gains.tolist(), reverse=True)[:FIRST]


def _discounted(gains: Sequence[float]) -> float:
    """Return the discounted cumulative gain (Järvelin and Kekäläinen, 2002): the gain at rank i is divided by log2(i + 1)."""
    return float(sum(gain / np.log2(rank + 2) for rank, gain in enumerate(gains)))


class Difference(NamedTuple):
    """A mean difference over the same questions, and how far off it may be: half of its 95 % confidence interval."""

    mean: float
    margin: float


def difference(scores: Sequence[float], others: Sequence[float]) -> Difference:
    """Return how much better `scores` are than `others`, question by question; at least two."""
    apart = [one - other for one, other in zip(scores, others, strict=True)]
    return Difference(fmean(apart), float(_SURE * stdev(apart) / len(apart) ** 0.5))
