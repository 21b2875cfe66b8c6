"""Finds templates that are equal but for the word at one place: those that a mask of the user's own may merge.

Pure. Time and memory grow with the number of words: a template is hashed once, and each of its places in constant time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_VARIANTS = 3
"""Templates that differ at one place only, for the place to count as one that varies."""
_MOST_WORDS = 64
_LONGEST_CHARACTERS = 2_000
"""A longer template has no places."""
_MASK_64 = (1 << 64) - 1

Words = tuple[str, ...]


class Place(NamedTuple):
    """One word of one template."""

    template: int
    """Its place in the list of templates."""
    word: int
    """Its place among the template's words."""


def split_words(templates: Sequence[str]) -> list[Words]:
    """Return the words of each of n templates; none where it is too long to be looked at."""
    return [_words(text) for text in templates]


def find_varying_places(words: Sequence[Words]) -> list[list[Place]]:
    """Return groups of places: in each, at least `LEAST_VARIANTS` distinct templates that are equal without the word at that place."""
    keys, templates, places = _keys(words)
    if not len(keys):
        return []
    order = np.argsort(keys, kind="stable")
    begins = np.append(0, np.flatnonzero(np.diff(keys[order])) + 1)
    groups: list[list[Place]] = []
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
        if end - begin >= LEAST_VARIANTS:
            rows = order[begin:end]
            alike = _alike(words, [Place(*row) for row in zip(templates[rows].tolist(), places[rows].tolist(), strict=True)])
            if len(alike) >= LEAST_VARIANTS:
                groups.append(alike)
    return sorted(groups)


def without(words: Words, place: int) -> Words:
    """Return the words but the one at a place."""
    return words[:place] + words[place + 1 :]


def common_start(texts: Sequence[str]) -> str:
    """Return what all texts begin with."""
    first, last = min(texts), max(texts)
    size = next((i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), min(len(first), len(last)))
    return first[:size]


def _words(text: str) -> Words:
    words = tuple(text.split()) if len(text) <= _LONGEST_CHARACTERS else ()
    return words if len(words) <= _MOST_WORDS else ()


def _keys(words: Sequence[Words]) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each place of each template a hash of all the others, and where it is: uint64[m], int64[m], int64[m].

    Hashes differ from run to run and decide only what is compared.
    """
    keys: list[int] = []
    for one in words:
        hashes = [hash((place, word)) for place, word in enumerate(one)]
        total = sum(hashes)
        keys += [hash((place, (total - own) & _MASK_64)) & _MASK_64 for place, own in enumerate(hashes)]
    sizes = np.fromiter(map(len, words), np.int64, len(words))
    templates = np.repeat(np.arange(len(words)), sizes)
    places = np.arange(len(templates)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.array(keys, np.uint64), templates, places


def _alike(words: Sequence[Words], places: Sequence[Place]) -> list[Place]:
    """Return the places whose templates equal the first without the word there: all, unless hashes collide."""
    first = places[0]
    rest = without(words[first.template], first.word)
    return [one for one in places if one.word == first.word and without(words[one.template], one.word) == rest]
