"""Masking: what varies in a line (times, ids, addresses, numbers) goes, what says which kind of line it is stays.

Prepare masks whole lists of lines in native, linear-time code that frees the GIL (RE2 in `consumers/text/regex.py`, numpy in
`consumers/text/strip_numbers.py`). The *masked* text is embedded, the raw text is stored. The set is ordered, stateless and versioned;
it is not part of the embedding space, because the digest covers the masked text itself.

Why a variable is masked to nothing, measured with the tokenizer of all-MiniLM-L6-v2 on HDFS, BGL, OpenSSH and Apache (8,000 lines), and
apart on Hadoop, Zookeeper, OpenStack and Mac (8,000), with `host` disabled:

| what stands for a variable | tokens a line | distinct texts |
|---|---|---|
| nothing | 24.1, 41.7 | 395, 863 |
| `0` | 28.9, 47.7 | 406, 863 |
| `*` | 28.9, 48.1 | 407, 863 |
| `<*>` | 38.7, 61.1 | 407, 863 |

With `host` on there are 1,093 masked texts in all. One covers lines of more than one labelled template: those two templates say `IPV4` and
`IPV6`.
"""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

from consumers.text import regex
from consumers.text.mask_patterns import MASKS, MASKS_VERSION, NEEDS, PASSES, STARTS, Mask
from consumers.text.strip_numbers import squeezed

__all__ = ["MASKS", "MASKS_VERSION", "NUMBER_ONLY", "BadMask", "Mask", "MaskMode", "Masker"]

MaskMode = Literal["template", "exact"]

NUMBER_ONLY = "0"
"""What a line of nothing but variables is masked to, so that no masked text is empty."""

_ROUNDS = 12
_MOST_SETTLED = 8_192
_SHORT = 1_024
_UNSETTLED = re.compile(r"[0-9@?&]|(?:-|::?|T)[a-fA-F]+(?:-|::?|T)[a-fA-F]+(?:-|::?|T)")
"""What every built-in mask needs in order to match."""
_NEEDED = re.compile(r"[0-9@?&:T-]")


class BadMask(ValueError):
    """A mask that cannot be used, in one line: its name and why."""


class Masker:
    """Masks lists of lines: one masked text for each, in order, never empty, and `mask(mask(x)) == mask(x)`.

    What is masked once is masked again where it could still change, until it does not: taking something out may put together what a
    mask takes. Masked texts that were seen not to change are remembered (bounded), as they come again and again; nothing else is.

    Thread: any.
    """

    def __init__(self, mode: MaskMode = "template", *, disabled: Collection[str] = (), added: Sequence[Mask] = ()) -> None:
        """Take the built-in masks but those named in `disabled`, after the `added` ones, each of which sees what the one before left.

        `exact` applies no mask at all. Raises `BadMask` for a name in `disabled` that is not a built-in mask, and for an added mask whose
        pattern RE2 refuses or matches the empty text, whose name is taken, or that changes its own replacement.
        """
        self._mode = mode
        self._added = tuple(added)
        _check_names(disabled, self._added)
        for mask in self._added:
            _check(mask)
        on = {mask.name: mask for mask in MASKS if mask.name not in set(disabled)}
        self._picky = [mask for name, mask in on.items() if name in NEEDS or name in STARTS]
        passes = ([on[name].pattern for name in names if name in on] for names in PASSES)
        self._passes = ["|".join(patterns) for patterns in passes if patterns]
        self._numbers = "number" in on
        self._units = "unit" in on
        self._restless = bool(self._added) or not self._numbers
        self._settled: set[str] = set()
        self._nothing = NUMBER_ONLY
        if mode == "template":
            (self._nothing,) = self.mask([NUMBER_ONLY])

    def mask(self, texts: Sequence[str]) -> list[str]:
        """Mask n texts; returns n masked texts in the same order. Lone surrogates, which are no text, become `?`."""
        if self._mode == "exact" or not texts:
            return list(texts)
        kinds, places = regex.unique_texts(self._once(texts))
        settled = self._settle(kinds)
        return [settled[place] for place in places]

    def _once(self, texts: Sequence[str]) -> regex.Column:
        column = regex.as_column(texts)
        for mask in self._added:
            column = regex.replaced(column, mask.pattern, mask.replacement)
        for places, mask in [(_where(column, mask.name), mask) for mask in self._picky]:
            column = regex.replaced_at(column, places, mask.pattern, mask.replacement)
        text = regex.joined(column)
        for pattern in self._passes:
            text = regex.replaced(text, pattern, "")
        return squeezed(text, numbers=self._numbers, units=self._units)

    def _settle(self, texts: list[str]) -> list[str]:
        """Mask different texts again, as long as they may change; what comes to nothing becomes what stands for it."""
        new = [text for text in texts if text not in self._settled]
        became = self._settled_from(new) if new else {}
        return [became.get(text, text) or self._nothing for text in texts]

    def _settled_from(self, texts: Collection[str]) -> dict[str, str]:
        """Mask again what may still change; returns what became of each text."""
        now = {text: text for text in texts}
        moving = {text for text in now if self._may_change(text)}
        for text in now.keys() - moving:
            self._remember(text)
        for _ in range(_ROUNDS):
            if not moving:
                return now
            then = dict(zip(moving, regex.as_texts(self._once(list(moving))), strict=True))
            for text in moving:
                if then[text] == text:
                    self._remember(text)
            now = {text: then.get(current, current) for text, current in now.items()}
            moving = {after for before, after in then.items() if after != before and self._may_change(after)}
        return {text: self._give_up(current) if current in moving else current for text, current in now.items()}

    def _may_change(self, text: str) -> bool:
        """Say whether a masked text could change when it is masked again."""
        return bool(text) and text not in self._settled and (self._restless or _UNSETTLED.search(text) is not None)

    def _give_up(self, text: str) -> str:
        """Return a text that no mask changes, for one that still changed after so many rounds."""
        (without,) = regex.as_texts(self._once([_NEEDED.sub("", text)]))
        return without if regex.as_texts(self._once([without])) == [without] else self._nothing

    def _remember(self, text: str) -> None:
        if len(text) <= _SHORT:
            if len(self._settled) >= _MOST_SETTLED:
                self._settled.clear()
            self._settled.add(text)


def _where(column: regex.Column, name: str) -> regex.Places:
    """Find the texts in which a mask that few texts need may match."""
    return regex.beginning(column, STARTS[name]) if name in STARTS else regex.containing(column, NEEDS[name])


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
        (again,) = regex.as_texts(regex.replaced(regex.as_column([mask.replacement]), mask.pattern, mask.replacement))
        if again != mask.replacement:
            fault = f"it changes its own stand-in, {mask.replacement!r}, into {again!r}"
    if fault is not None:
        message = f"mask {mask.name!r}: {fault}"
        raise BadMask(message)
