"""The words of a query: what is ranked by BM25, and which of them are identifiers.

BM25 scores every word, and in a question most of them are grammar: "who is trying to …" would find whatever template holds an "is".
An identifier (a block, an address, a request) names one thing, not a class of things; whoever types one wants the lines that have it.
Blocks know which identifiers are in their lines: `sinks.words` has the one tokenizer that both sides use.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import Column
from sinks.reading.literals import rows_holding, whole
from sinks.reading.selecting import IsMatch
from sinks.words import word_keys

_STOP_WORDS = frozenset(  # as one text it can be read
    """a about after all am an and any anybody anyone anything are as at be because been before being but by can could did do does doing
    during each few for from further had has have having he her here hers him his how i if in into is it its just me more most my of
    on or other our ours over own same she should so some somebody someone something such than that the their theirs them then
    there these they this those through to too under until very was we were what when where which while who whom why will with
    would you your yours""".split()  # noqa: SIM905
)
"""English, as most logs are; a word of another language is rare in logs, and so does little harm. What says a state is none: no, not,
up, down, out and, behind it, of."""
_WORD = re.compile(r"[^\W_]+(?:[-_.:@/]+[^\W_]+)*")
"""Letters and digits; inside a word also what joins the parts of a path, an address, an id."""
_PART = re.compile(r"\w+")


_MOST_IDENTIFIERS = 8
"""Of more, in one query, the rest are words like others: each may cost a read."""


class Identifier(NamedTuple):
    """A word that names one thing."""

    text: str
    """In small letters."""
    keys: tuple[int, ...]
    """The words of every block that has it in a line, unless the line's template has it."""
    pattern: re.Pattern[str]
    """Finds it whole, in capital letters or small."""

    def is_in(self, text: str) -> bool:
        """Whether a text has it, whole."""
        return self.pattern.search(text) is not None


class Words(NamedTuple):
    """A query's text, as a search by words sees it."""

    text: str
    """Without grammar; empty if nothing else was there."""
    terms: frozenset[str]
    """Its parts, in small letters."""
    identifiers: tuple[Identifier, ...]
    is_exact: bool
    """Whether it is identifiers and nothing else."""

    def identifiers_in(self, text: str) -> int:
        """Return how many of the identifiers a text has, each whole."""
        return sum(identifier.is_in(text) for identifier in self.identifiers)

    def share_in(self, text: str) -> float:
        """Return which share of the terms a text has, 0 … 1."""
        return len(self.terms & terms_of(text)) / len(self.terms) if self.terms else 0.0


def words_of(text: str) -> Words:
    """Take a text apart."""
    every = _WORD.findall(text)
    words = [
        word
        for before, word in zip(["", *every], every, strict=False)
        if word.lower() not in _STOP_WORDS or (before.lower(), word.lower()) == ("out", "of")
    ]
    shown = " ".join(words)
    identifiers: dict[str, Identifier] = {}
    is_exact = bool(words)
    for word in words:
        name = word.lower()
        if name not in identifiers:
            if len(identifiers) >= _MOST_IDENTIFIERS:
                is_exact = is_exact and _has_digit(word)
            elif not (keys := word_keys(word) if _has_digit(word) else ()):  # times have none: blocks leave them out
                is_exact = False
            else:
                identifiers[name] = Identifier(name, keys, whole(name))
    return Words(shown, terms_of(shown), tuple(identifiers.values()), is_exact)


def _has_digit(word: str) -> bool:
    return any(character.isdigit() for character in word)


def with_all(identifiers: Collection[Identifier]) -> IsMatch:
    """Return a test for texts that have all of these."""

    def is_match(texts: Column) -> NDArray[np.bool_]:
        found = np.ones(len(texts), np.bool_)
        for identifier in identifiers:
            found &= rows_holding(texts, identifier.text)
        return found

    return is_match


def terms_of(text: str) -> frozenset[str]:
    """Return the parts of a text: letters, digits and underscores, in small letters."""
    return frozenset(_PART.findall(text.lower()))
