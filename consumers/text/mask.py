"""Masking: removes what varies in a line (times, ids, addresses, numbers) and keeps what identifies its template.

Prepare masks whole columns of lines in native, linear-time code that releases the GIL (RE2 in `consumers/text/regex.py`, numpy in
`consumers/text/strip_numbers.py`). Lines that differ only in digits are masked together (`consumers/text/forms.py`). The *masked* text is
embedded, the raw text is stored. The masks are ordered, stateless and versioned; they are not part of the embedding space, because the
digest covers the masked text itself.

Why a variable is masked to nothing, measured with the tokenizer of all-MiniLM-L6-v2 on HDFS, BGL, OpenSSH and Apache (8,000 lines), and
separately on Hadoop, Zookeeper, OpenStack and Mac (8,000 lines), with `host` disabled:

| replacement of a variable | tokens a line | distinct texts |
|---|---|---|
| nothing | 24.1, 41.7 | 395, 863 |
| `0` | 28.9, 47.7 | 406, 863 |
| `*` | 28.9, 48.1 | 407, 863 |
| `<*>` | 38.7, 61.1 | 407, 863 |

With `host` enabled there are 1,093 masked texts in all. One of them covers two labelled templates, which differ in `IPV4` and `IPV6`.
"""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from consumers.columns import Coded, Column, as_texts, coded, string_column, take
from consumers.text import regex
from consumers.text.forms import DIGIT, find_with_codes, forms_of
from consumers.text.known_forms import NEW, KnownForms
from consumers.text.mask_patterns import MASKS, MASKS_VERSION, NEEDS, PASSES, STARTS, Mask
from consumers.text.regex import Places
from consumers.text.strip_numbers import strip_numbers

__all__ = ["MASKS", "MASKS_VERSION", "NUMBER_ONLY", "BadMask", "Mask", "MaskMode", "Masker"]

MaskMode = Literal["template", "exact"]

NUMBER_ONLY = "0"
"""The masked text of a line that holds only variables, so that no masked text is empty."""

_MAX_ROUNDS = 12
_MAX_REMEMBERED = 8_192
_MAX_REMEMBERED_CHARACTERS = 1_024
_UNSETTLED = re.compile(r"[0-9@?&]|(?:-|::?|T)[a-fA-F]+(?:-|::?|T)[a-fA-F]+(?:-|::?|T)")
"""Matches every text that a built-in mask may still change."""
_NEEDED = re.compile(r"[0-9@?&:T-]")


class BadMask(ValueError):
    """A mask that cannot be used; one line with its name and the reason."""


class Masker:
    """Masks columns or lists of lines: one masked text for each, in order, never empty, and `mask(mask(x)) == mask(x)`.

    Removing a match may join two parts into a new match, so a text is masked again until it no longer changes. Texts that differ only in
    digits are masked together, as their form (`consumers/text/forms.py`). Forms and masked texts that do not change are remembered
    (bounded), because the same ones occur again and again; there is no other state, and it never changes a result.

    Thread: any.
    """

    def __init__(self, mode: MaskMode = "template", *, disabled: Collection[str] = (), added: Sequence[Mask] = ()) -> None:
        """Apply the `added` masks in order, then all built-in masks except those named in `disabled`.

        `exact` applies no mask at all. Raises `BadMask` for a name in `disabled` that is not a built-in mask, and for an added mask whose
        pattern RE2 refuses or matches the empty text, whose name is taken, or that changes its own replacement.
        """
        self._mode = mode
        self._added = tuple(added)
        _check_names(disabled, self._added)
        for mask in self._added:
            _check(mask)
        enabled = {mask.name: mask for mask in MASKS if mask.name not in set(disabled)}
        self._selective = [mask for name, mask in enabled.items() if name in NEEDS or name in STARTS]
        passes = ([enabled[name].pattern for name in names if name in enabled] for names in PASSES)
        self._passes = ["|".join(patterns) for patterns in passes if patterns]
        self._numbers = "number" in enabled
        self._units = "unit" in enabled
        self._may_always_change = bool(self._added) or not self._numbers
        self._settled: set[str] = set()
        self._known = KnownForms()
        self._nothing = NUMBER_ONLY
        if mode == "template":
            (self._nothing,) = self.mask([NUMBER_ONLY])

    def mask(self, texts: Sequence[str]) -> list[str]:
        """Mask n texts; returns n masked texts in the same order. Lone surrogates, which are not valid text, become `?`."""
        if self._mode == "exact":
            return list(texts)
        masked = self.mask_column(string_column(texts))
        return [masked.values[code] for code in masked.codes.tolist()]

    def mask_column(self, column: Column) -> Coded:
        """Mask a column of n texts without nulls; the distinct masked texts are in the order of their first use."""
        if self._mode == "exact":
            return coded(column)
        column = self._apply_added(column)
        by_forms = self._numbers and self._known.are_worth_trying(len(column))
        return self._mask_by_forms(column) if by_forms else self._mask_distinct(column)

    def _mask_by_forms(self, column: Column) -> Coded:
        """Mask texts to which the added masks have been applied: by their forms, and as they are where a form does not say enough."""
        forms = coded(forms_of(column))
        masked = self._known.recall(forms.values)
        self._known.count_new(masked.count(NEW), len(column))
        self._rule_out_codes(forms.values, masked)
        rows = _undecided(forms, masked)
        if len(rows):
            longer = coded(forms_of(take(column, rows), keep_codes=True))
            masked += self._known.recall(longer.values)
            forms = _replaced(forms, rows, longer)
        self._mask_new_forms(forms.values, masked)
        rows = _undecided(forms, masked)
        if len(rows):
            own = self._mask_distinct(take(column, rows))
            masked += own.values
            forms = _replaced(forms, rows, own)
        return _recode(forms, masked)

    def _rule_out_codes(self, forms: Sequence[str], masked: list[str | None]) -> None:
        """Set the masked text of new forms to None where digits will be left."""
        new = [place for place, text in enumerate(masked) if text == NEW]
        if new:
            ruled_out = [new[i] for i in find_with_codes(string_column([forms[place] for place in new])).tolist()]
            for place in ruled_out:
                masked[place] = None
            self._known.remember((forms[place], None) for place in ruled_out)

    def _mask_new_forms(self, forms: Sequence[str], masked: list[str | None]) -> None:
        """Set the masked text of new forms, to None where a digit is left that may be any."""
        new = [place for place, text in enumerate(masked) if text == NEW]
        if new:
            once = coded(self._apply_built_in(string_column([forms[place] for place in new])))
            decided = [text for text in once.values if DIGIT not in text]
            settled = dict(zip(decided, self._settle(decided), strict=True))
            for place, code in zip(new, once.codes.tolist(), strict=True):
                masked[place] = settled.get(once.values[code])
            self._known.remember((forms[place], masked[place]) for place in new)

    def _mask_distinct(self, column: Column) -> Coded:
        """Mask texts to which the added masks have been applied, without their forms."""
        once = coded(self._apply_built_in(column))
        return _recode(once, self._settle(once.values))

    def _apply_added(self, column: Column) -> Column:
        for mask in self._added:
            column = regex.replace_matches(column, mask.pattern, mask.replacement)
        return column

    def _apply_built_in(self, column: Column) -> Column:
        for places, mask in [(_where(column, mask.name), mask) for mask in self._selective]:
            column = regex.replace_matches_at(column, places, mask.pattern, mask.replacement)
        text = regex.join_lines(column)
        for pattern in self._passes:
            text = regex.replace_matches(text, pattern, "")
        return strip_numbers(text, numbers=self._numbers, units=self._units)

    def _apply_masks(self, texts: Sequence[str]) -> list[str]:
        return as_texts(self._apply_built_in(self._apply_added(string_column(texts))))

    def _settle(self, texts: Sequence[str]) -> list[str]:
        """Mask distinct texts again until none changes; an empty text becomes `NUMBER_ONLY` as masked."""
        new = [text for text in texts if text not in self._settled]
        masked = self._mask_until_stable(new) if new else {}
        return [masked.get(text, text) or self._nothing for text in texts]

    def _mask_until_stable(self, texts: Collection[str]) -> dict[str, str]:
        """Mask texts again while they may still change; returns the result for each text."""
        now = {text: text for text in texts}
        unstable = {text for text in now if self._may_change(text)}
        for text in now.keys() - unstable:
            self._remember(text)
        for _ in range(_MAX_ROUNDS):
            if not unstable:
                return now
            then = dict(zip(unstable, self._apply_masks(list(unstable)), strict=True))
            for text in unstable:
                if then[text] == text:
                    self._remember(text)
            now = {text: then.get(current, current) for text, current in now.items()}
            unstable = {after for before, after in then.items() if after != before and self._may_change(after)}
        return {text: self._give_up(current) if current in unstable else current for text, current in now.items()}

    def _may_change(self, text: str) -> bool:
        """Return whether a masked text could change when it is masked again."""
        return bool(text) and text not in self._settled and (self._may_always_change or _UNSETTLED.search(text) is not None)

    def _give_up(self, text: str) -> str:
        """Return a text that no mask changes, for one that still changes after `_MAX_ROUNDS`."""
        (without,) = self._apply_masks([_NEEDED.sub("", text)])
        return without if self._apply_masks([without]) == [without] else self._nothing

    def _remember(self, text: str) -> None:
        if len(text) <= _MAX_REMEMBERED_CHARACTERS:
            if len(self._settled) >= _MAX_REMEMBERED:
                self._settled.clear()
            self._settled.add(text)


def _undecided(forms: Coded, masked: Sequence[str | None]) -> Places:
    """Return the rows whose form has None for a masked text."""
    return np.flatnonzero(np.array([text is None for text in masked], dtype=np.bool_)[forms.codes])


def _replaced(rows_before: Coded, rows: Places, others: Coded) -> Coded:
    """Give some rows other texts; the texts before stay, used or not."""
    codes = rows_before.codes.copy()
    codes[rows] = others.codes + len(rows_before.values)
    return Coded(codes, rows_before.values + others.values)


def _recode(forms: Coded, masked: Sequence[str | None]) -> Coded:
    """Give the rows the masked texts of their forms, in the order of first use; only forms without rows have None."""
    codes, values = forms
    first = np.full(len(values), len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first, kind="stable")  # forms without rows come last
    distinct: dict[str | None, int] = {}
    code_of = np.zeros(len(values), np.int32)
    code_of[order] = [distinct.setdefault(masked[place], len(distinct)) for place in order.tolist()]
    return Coded(code_of[codes], tuple(text for text in distinct if text is not None))


def _where(column: Column, name: str) -> regex.Places:
    """Find the texts in which a rarely needed mask may match."""
    return regex.find_starting(column, STARTS[name]) if name in STARTS else regex.find_containing(column, NEEDS[name])


def _check_names(disabled: Collection[str], added: Sequence[Mask]) -> None:
    names = [mask.name for mask in MASKS]
    for name in disabled:
        if name not in names:
            (nearest, *_) = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
            message = f"no built-in mask is called {name!r}; the nearest name is {nearest!r}"
            raise BadMask(message)
    twice = [name for name, times in Counter([*names, *(mask.name for mask in added)]).items() if times > 1]
    if twice:
        message = f"two masks are called {twice[0]!r}"
        raise BadMask(message)


def _check(mask: Mask) -> None:
    fault = regex.pattern_error(mask.pattern, mask.replacement)
    if fault is None:
        (again,) = as_texts(regex.replace_matches(string_column([mask.replacement]), mask.pattern, mask.replacement))
        if again != mask.replacement:
            fault = f"it changes its own replacement, {mask.replacement!r}, into {again!r}"
    if fault is not None:
        message = f"mask {mask.name!r}: {fault}"
        raise BadMask(message)
