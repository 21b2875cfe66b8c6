"""Which texts have which terms, and how well they fit a query's terms (BM25)."""

import re
from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_SATURATION, _LENGTH_SHARE = 1.5, 0.75
"""Constants of BM25, k1 and b (Robertson and Zaragoza 2009)."""
_PART = re.compile(r"\w+")


class Postings:
    """Which texts have which terms, and how often.

    Thread: one.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """Of terms."""
        self._terms = array("i")
        self._texts = array("i")
        """Term and text of every occurrence."""
        self._lengths = array("i")
        """Terms of each text."""
        self._starts = np.zeros(1, np.int64)
        self._sorted = np.empty(0, np.int32)
        """Texts by term: those of term t are from starts[t] to starts[t + 1], ascending, repeated for every occurrence."""

    def add(self, texts: Iterable[str]) -> None:
        """Take up texts; they are numbered in this order."""
        numbers = self._numbers
        for text in texts:
            terms = [numbers.setdefault(term, len(numbers)) for term in _PART.findall(text.lower())]
            self._terms.extend(terms)
            self._texts.extend([len(self._lengths)] * len(terms))
            self._lengths.append(len(terms))

    def scores(self, terms: Iterable[str]) -> NDArray[np.float64]:
        """Return the BM25 score of every text, 0 where it has none of the terms."""
        self._sort()
        lengths = np.frombuffer(self._lengths, np.int32) if self._lengths else np.empty(0, np.int32)
        scores = np.zeros(len(lengths))
        norm = 1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths / max(float(lengths.mean()) if len(lengths) else 0.0, 1.0)
        for term in sorted(terms):
            texts, times = np.unique(self._with(term), return_counts=True)
            rarity = np.log(1 + (len(lengths) - len(texts) + 0.5) / (len(texts) + 0.5))
            scores[texts] += rarity * times * (_SATURATION + 1) / (times + _SATURATION * norm[texts])
        return scores

    def with_all(self, terms: Iterable[str]) -> NDArray[np.int32]:
        """Return the texts that have all of the terms, ascending."""
        self._sort()
        found: NDArray[np.int32] | None = None
        for term in terms:
            texts = np.unique(self._with(term))
            found = texts if found is None else np.intersect1d(found, texts, assume_unique=True)
        return np.empty(0, np.int32) if found is None else found

    def _with(self, term: str) -> NDArray[np.int32]:
        number = self._numbers.get(term)
        return self._sorted[:0] if number is None else self._sorted[self._starts[number] : self._starts[number + 1]]

    def _sort(self) -> None:
        if len(self._sorted) == len(self._terms):
            return
        terms = np.frombuffer(self._terms, np.int32)
        self._sorted = np.frombuffer(self._texts, np.int32)[np.argsort(terms, kind="stable")]
        self._starts = np.searchsorted(np.sort(terms), np.arange(len(self._numbers) + 1))
