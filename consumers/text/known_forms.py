"""What is known of forms (`consumers/text/text_forms.py`): how their texts are masked, in bounded memory.

Nearly every line of a stream is looked up by its form, so the table of forms is in C (`consumers/text/form_table.c`). It has a number for
each form; here are the masked texts that the numbers stand for.
"""

import secrets
import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, take, text_bytes, utf8_of
from consumers.native import BYTES, PLACES, SIZE, array_of, c_function, output_of

NEW, UNDECIDED = -1, -2
"""In place of the masked text of a form that is not known, and of one that does not say how its texts are masked."""

_MAX_CHARACTERS = 16 * 1024 * 1024
"""Of one byte each if they are ASCII, of four at worst."""
_MAX_FORM_BYTES = 64 * 1024
_LONGEST_KEY, _DIGEST_BYTES = 256, 16
"""As in the table: in place of a longer form it keeps a digest."""
_CHARACTERS_EACH = 200
"""Counted for every form beside its key and its masked text, so that many short ones do not take more memory, nor fill the table."""
_WASTED_SHARE = 0.4
"""Measured: above, forms cost more than they save."""
_MOST_BATCHES_WITHOUT = 16
_LEAST_TEXTS = 100
"""Fewer say nothing about a stream: a query, the pieces of a long text."""
_SECRET_BYTES = 16

_table_bytes = c_function(__file__, "form_table", "table_bytes", returns=SIZE)
_add_forms = c_function(__file__, "form_table", "add_forms", output_of(np.uint8), BYTES, PLACES, SIZE, array_of(np.int32))
_find_forms = c_function(__file__, "form_table", "find_forms", BYTES, BYTES, PLACES, SIZE, output_of(np.int32))
_code_numbers = c_function(
    __file__, "form_table", "code_numbers", output_of(np.int32), SIZE, output_of(np.int32), SIZE, output_of(np.int32), returns=SIZE
)


class Known(NamedTuple):
    """What is known of n forms."""

    codes: NDArray[np.int32]
    """int32[n]: places in `values`, or `NEW`, or `UNDECIDED`."""
    values: tuple[str, ...]
    """Masked texts."""


class KnownForms:
    """Remembers the masked text of each form, or that the form does not say how its texts are masked.

    Thread: any; a form that two threads remember at the same time is counted once or twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table = _new_table()
        self._texts: list[str] = []
        """Masked texts by their numbers."""
        self._numbers: dict[str, int] = {}
        self._characters = 0
        self._pause = 0
        self._batches_left = 0

    def are_worth_trying(self, texts: int) -> bool:
        """Return whether to mask `texts` texts by forms: not after many forms were new, then again after more and more batches."""
        if texts >= _LEAST_TEXTS:
            self._batches_left -= 1
        return texts < _LEAST_TEXTS or self._batches_left < 0

    def count_new(self, new: int, texts: int) -> None:
        """Note how many of the forms were new. If many were, forms cost more than they save."""
        if texts >= _LEAST_TEXTS:
            self._pause = min(max(2 * self._pause, 1), _MOST_BATCHES_WITHOUT) if new > _WASTED_SHARE * texts else 0
            self._batches_left = self._pause

    def recall(self, forms: Column) -> Known:
        """Return what is known of each of n forms, with distinct values in the order of their first use."""
        data, ends = utf8_of(forms)
        codes = np.empty(len(forms), np.int32)
        used = np.empty(len(forms), np.int32)
        with self._lock:
            _find_forms(self._table, data, ends, len(forms), codes)
            places = np.zeros(len(self._texts), np.int32)
            count = _code_numbers(codes, len(codes), places, len(places), used)
            return Known(codes, tuple([self._texts[number] for number in used[:count].tolist()]))

    def remember(self, forms: Column, masked: Sequence[str | None]) -> None:
        """Remember n forms and their masked texts, None for `UNDECIDED`, and forget all others if there is no room."""
        form_bytes = text_bytes(forms)
        key_bytes = np.where(form_bytes <= _LONGEST_KEY, form_bytes, _DIGEST_BYTES)
        sizes = key_bytes + np.array([len(text or "") for text in masked], np.int64) + _CHARACTERS_EACH
        rows = np.flatnonzero((form_bytes <= _MAX_FORM_BYTES) & (sizes <= _MAX_CHARACTERS))
        with self._lock:
            while len(rows):
                room = _MAX_CHARACTERS - self._characters
                fitting = rows[: np.searchsorted(np.cumsum(sizes[rows]), room, side="right")]
                if not len(fitting):
                    self._forget_all()
                    continue
                self._add(take(forms, fitting), [masked[row] for row in fitting.tolist()])
                self._characters += int(sizes[fitting].sum())
                rows = rows[len(fitting) :]

    def _add(self, forms: Column, masked: Sequence[str | None]) -> None:
        data, ends = utf8_of(forms)
        numbers = np.fromiter(map(self._number_of, masked), np.int32, len(masked))
        _add_forms(self._table, data, ends, len(forms), numbers)

    def _number_of(self, masked: str | None) -> int:
        if masked is None:
            return UNDECIDED
        number = self._numbers.setdefault(masked, len(self._texts))
        if number == len(self._texts):
            self._texts.append(masked)
        return number

    def _forget_all(self) -> None:
        self._table = _new_table()
        self._texts.clear()
        self._numbers.clear()
        self._characters = 0


def _new_table() -> NDArray[np.uint8]:
    """Return an empty table with a secret of its own."""
    table = np.zeros(_table_bytes(), np.uint8)
    table[:_SECRET_BYTES] = np.frombuffer(secrets.token_bytes(_SECRET_BYTES), np.uint8)
    return table
