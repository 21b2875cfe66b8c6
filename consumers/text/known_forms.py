"""What is known of forms (`consumers/text/forms.py`): how their texts are masked, in bounded memory."""

from collections.abc import Iterable, Sequence

from consumers.text.text_key import text_key

NEW = ""
"""Stands for the masked text of a form that is not known; no masked text is empty."""

_MAX_CHARACTERS = 16 * 1024 * 1024
"""Of one byte each if they are ASCII, of four at worst."""
_MAX_FORM_CHARACTERS = 64 * 1024
_CHARACTERS_EACH = 200
"""Counted for every form beside its key and its masked text, so that many short ones do not take more memory."""
_WASTED_SHARE = 0.4
"""Measured: above, forms cost more than they save."""
_MOST_BATCHES_WITHOUT = 16
_LEAST_TEXTS = 100
"""Fewer say nothing about a stream: a query, the pieces of a long text."""


class KnownForms:
    """Remembers the masked text of each form, or None if the form does not say how its texts are masked.

    Thread: any; a form that two threads remember at the same time is counted once or twice.
    """

    def __init__(self) -> None:
        self._masked: dict[str | bytes, str | None] = {}
        self._characters = 0
        self._pause = 0
        self._batches_left = 0

    def are_worth_trying(self, texts: int) -> bool:
        """Return whether to mask so many texts by forms: not after many forms were new, but again after ever more batches."""
        if texts >= _LEAST_TEXTS:
            self._batches_left -= 1
        return texts < _LEAST_TEXTS or self._batches_left < 0

    def count_new(self, new: int, texts: int) -> None:
        """Note how many forms of so many texts were new. If many were, forms take more time than they save."""
        if texts >= _LEAST_TEXTS:
            self._pause = min(max(2 * self._pause, 1), _MOST_BATCHES_WITHOUT) if new > _WASTED_SHARE * texts else 0
            self._batches_left = self._pause

    def recall(self, forms: Sequence[str]) -> list[str | None]:
        """Return what is known of each of n forms; `NEW` for one that is not known."""
        masked = self._masked
        return [masked.get(text_key(form), NEW) for form in forms]

    def remember(self, forms: Iterable[tuple[str, str | None]]) -> None:
        """Remember forms and their masked texts, and forget all others if there is no room."""
        for form, masked in forms:
            if len(form) > _MAX_FORM_CHARACTERS:
                continue
            key = text_key(form)
            size = len(key) + len(masked or "") + _CHARACTERS_EACH
            if self._characters + size > _MAX_CHARACTERS:
                self._masked.clear()
                self._characters = 0
            self._masked[key] = masked
            self._characters += size
