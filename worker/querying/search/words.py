"""The words of a query: what full-text search gets to see, and which of them are identifiers.

BM25 scores every word, and in a question most of them are grammar: "who is trying to …" would find whatever log line holds an "is".
An identifier (a block, an address, a request) names one thing, not a class of things; whoever types one wants the lines that have it.
"""

import re
from typing import NamedTuple

_STOP_WORDS = frozenset(  # as one text it can be read
    """a about after all am an and any anybody anyone anything are as at be because been before being but by can could did do does doing
    during each few for from further had has have having he her here hers him his how i if in into is it its just me more most my of
    on or other our ours out over own same she should so some somebody someone something such than that the their theirs them then
    there these they this those through to too under until up very was we were what when where which while who whom why will with
    would you your yours""".split()  # noqa: SIM905
)
"""English, as most logs are; a word of another language is rare in logs, and so does little harm."""
_WORD = re.compile(r"[^\W_]+(?:[-_.:@/]+[^\W_]+)*")
"""Letters and digits; inside a word also what joins the parts of a path, an address, an id."""
_PART = re.compile(r"\w+")


_LEAST_CHARACTERS = 6
_MOST_IDENTIFIERS = 32
"""Of more, in one query, the rest are words like others."""


class Words(NamedTuple):
    """A query's text, as full-text search sees it."""

    text: str
    """Without grammar; empty if nothing else was there."""
    terms: frozenset[str]
    """Its parts, in small letters, as a full-text index keeps them."""
    identifiers: tuple[str, ...]
    """In small letters."""
    patterns: tuple[re.Pattern[str], ...]
    """Each finds one of them whole, in capital letters or small."""
    is_exact: bool
    """Whether it is identifiers and nothing else."""

    def identifiers_in(self, line: str) -> int:
        """Return how many of the identifiers the line has, each whole."""
        return sum(pattern.search(line) is not None for pattern in self.patterns)

    def share_in(self, line: str) -> float:
        """Return which share of the terms the line has, 0 … 1."""
        return len(self.terms & terms_of(line)) / len(self.terms) if self.terms else 0.0


def words_of(text: str) -> Words:
    """Take a text apart."""
    words = [word for word in _WORD.findall(text) if word.lower() not in _STOP_WORDS]
    shown = " ".join(words)
    identifiers = tuple(dict.fromkeys(word.lower() for word in words if is_identifier(word)))[:_MOST_IDENTIFIERS]
    patterns = tuple(re.compile(rf"(?<!\w){re.escape(one)}(?!\w)", re.IGNORECASE) for one in identifiers)
    return Words(shown, terms_of(shown), identifiers, patterns, bool(words) and all(is_identifier(word) for word in words))


def terms_of(text: str) -> frozenset[str]:
    """Return the parts of a text as a full-text index keeps them: letters, digits and underscores, in small letters."""
    return frozenset(_PART.findall(text.lower()))


def is_identifier(word: str) -> bool:
    """Whether a word names one thing: it has a digit, and is long or made of several parts; `503`, `s3` and `http2` do not."""
    return any(character.isdigit() for character in word) and (len(word) >= _LEAST_CHARACTERS or not word.isalnum())
