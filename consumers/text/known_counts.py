"""What is known of masked texts: how many tokens they have, in bounded memory."""

from collections.abc import Callable, Sequence
from itertools import islice

from consumers.text.text_key import text_key

CountTokens = Callable[[Sequence[str]], Sequence[int]]
"""Counts the tokens of each masked text as the model sees it, with prefix and special tokens."""

_MOST_TEXTS = 16_384
"""Of at most 256 characters each; with them 6 MB, and at worst, beyond ASCII, 18."""


class KnownCounts:
    """Counts the tokens of a masked text once, and again only after it was forgotten.

    Thread: one; `count_tokens` belongs to a thread.
    """

    def __init__(self, count_tokens: CountTokens) -> None:
        self._count_tokens = count_tokens
        self._known: dict[str | bytes, int] = {}

    def count(self, masked: Sequence[str]) -> list[int]:
        """Return the tokens of each of n texts, with prefix and special tokens."""
        keys = list(map(text_key, masked))
        counts = {key: count for key in keys if (count := self._known.get(key)) is not None}
        new = {key: text for key, text in zip(keys, masked, strict=True) if key not in counts}
        if new:
            counted = dict(zip(new, map(int, self._count_tokens(list(new.values()))), strict=True))
            counts |= counted
            self._remember(counted)
        return [counts[key] for key in keys]

    def _remember(self, counted: dict[str | bytes, int]) -> None:
        if len(self._known) + len(counted) > _MOST_TEXTS:
            self._known.clear()
        self._known.update(islice(counted.items(), _MOST_TEXTS))
