"""The default order of templates: by meaning, and by words only between templates that are about equally near.

A rank among words says little: most words of a question stand in many templates, and fusing ranks let one shared word outvote a better
meaning. So cosines and BM25 scores are made comparable over the nearest templates (z-scores), and words weigh little. What must stand in
a line is another matter: identifiers and phrases are filters (`worker.querying.forms`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from worker.querying.postings import Postings
from worker.querying.query_words import Words

WORDS_WEIGHT: Final = 0.01
"""Of a standard deviation among words, in standard deviations of cosines. Above .05 the graded questions find less."""


def order_of(cosines: NDArray[np.float32], texts: Sequence[str], words: Words) -> NDArray[np.intp]:
    """Return the places of n templates, best first: intp[n], given float32[n] and their texts, nearest first."""
    postings = Postings()
    postings.add(texts)
    scores = _standard(cosines.astype(np.float64)) + WORDS_WEIGHT * _standard(postings.scores(words.terms))
    return np.argsort(-scores, kind="stable")


def _standard(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores as distances from their mean in standard deviations; 0 where all are alike."""
    spread = float(scores.std()) if len(scores) else 0.0
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))
