"""What is left of a list when its values are masked: the mask `list`."""

from operator import eq

_COMPARISONS = "<>~"
_LEFT = frozenset(("", *_COMPARISONS, "<<", ">>", "<>"))
_MOST_WORDS = 4
"""Of what is repeated."""


def tidy_words(text: str) -> str:
    """Return a text without repetitions of one to four words, and without comparisons by themselves; single spaces.

    Only what has a word of letters can be a repetition.
    """
    words = text.split(" ")
    if _LEFT.isdisjoint(words) and not (len(set(words)) < len(words) and _recurs_soon(words)):
        return text
    kept: list[str] = []
    for word in words:
        if word not in _LEFT:
            kept.append(word)
            if word in kept[-_MOST_WORDS - 1 : -1]:
                _drop_repetition(kept)
    return " ".join(kept)


def one_space(text: str) -> str:
    """Return a text with single spaces, and none at its ends."""
    return " ".join(word for word in text.split(" ") if word)


def _recurs_soon(words: list[str]) -> bool:
    """Return whether a word is one of the few before it, as it must be where a repetition ends; without a statement for each word."""
    return any(any(map(eq, words, words[count:])) for count in range(1, _MOST_WORDS + 1))


def _drop_repetition(words: list[str]) -> None:
    """Drop the last words if the same ones stand before them."""
    for count in range(1, min(_MOST_WORDS, len(words) // 2) + 1):
        last = words[-count:]
        if last == words[-2 * count : -count] and any(len(word) > 1 and word.isalpha() for word in last):
            del words[-count:]
            return
