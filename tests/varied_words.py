"""Long texts that no mask shortens: masks take out repetitions of up to four words."""

from itertools import cycle, islice

_BETWEEN = ("river", "table", "green", "seven")
"""Words of one token each in the vocabulary of BERT."""


def varied(word: str, count: int) -> str:
    """Return so many words: this one, and four others again and again."""
    return " ".join(islice(cycle((word, *_BETWEEN)), count))
