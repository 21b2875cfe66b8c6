"""Masking: removes what varies in a line (times, ids, addresses, numbers) and keeps what identifies its template.

Prepare masks whole lists of lines in native, linear-time code that releases the GIL (RE2 in `consumers/text/regex.py`, numpy in
`consumers/text/strip_numbers.py`). The *masked* text is embedded, the raw text is stored. The masks are ordered, stateless and versioned;
they are not part of the embedding space, because the digest covers the masked text itself.

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

from consumers.text import regex
from consumers.text.mask_patterns import MASKS, MASKS_VERSION, NEEDS, PASSES, STARTS, Mask
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
    """Masks lists of lines: one masked text for each, in order, never empty, and `mask(mask(x)) == mask(x)`.

    Removing a match may join two parts into a new match, so a text is masked again until it no longer changes. Masked texts that do not
    change are remembered (bounded), because the same ones occur again and again; there is no other state.

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
        self._nothing = NUMBER_ONLY
        if mode == "template":
            (self._nothing,) = self.mask([NUMBER_ONLY])

    def mask(self, texts: Sequence[str]) -> list[str]:
        """Mask n texts; returns n masked texts in the same order. Lone surrogates, which are not valid text, become `?`."""
        if self._mode == "exact" or not texts:
            return list(texts)
        distinct, places = regex.unique_texts(self._apply_masks(texts))
        settled = self._settle(distinct)
        return [settled[place] for place in places]

    def _apply_masks(self, texts: Sequence[str]) -> regex.Column:
        column = regex.as_column(texts)
        for mask in self._added:
            column = regex.replace_matches(column, mask.pattern, mask.replacement)
        for places, mask in [(_where(column, mask.name), mask) for mask in self._selective]:
            column = regex.replace_matches_at(column, places, mask.pattern, mask.replacement)
        text = regex.join_lines(column)
        for pattern in self._passes:
            text = regex.replace_matches(text, pattern, "")
        return strip_numbers(text, numbers=self._numbers, units=self._units)

    def _settle(self, texts: list[str]) -> list[str]:
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
            then = dict(zip(unstable, regex.as_texts(self._apply_masks(list(unstable))), strict=True))
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
        (without,) = regex.as_texts(self._apply_masks([_NEEDED.sub("", text)]))
        return without if regex.as_texts(self._apply_masks([without])) == [without] else self._nothing

    def _remember(self, text: str) -> None:
        if len(text) <= _MAX_REMEMBERED_CHARACTERS:
            if len(self._settled) >= _MAX_REMEMBERED:
                self._settled.clear()
            self._settled.add(text)


def _where(column: regex.Column, name: str) -> regex.Places:
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
        (again,) = regex.as_texts(regex.replace_matches(regex.as_column([mask.replacement]), mask.pattern, mask.replacement))
        if again != mask.replacement:
            fault = f"it changes its own replacement, {mask.replacement!r}, into {again!r}"
    if fault is not None:
        message = f"mask {mask.name!r}: {fault}"
        raise BadMask(message)
