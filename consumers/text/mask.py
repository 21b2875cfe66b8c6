"""Masking: removes what varies in a line (times, hosts, users, paths, ids, numbers) and keeps what identifies its template.

1. JSON is masked by its keys (`consumers/text/mask_json.py`).
2. Variables, which have digits, go in native, linear-time code over whole columns (RE2 in `consumers/text/regex.py`, C behind
   `consumers/text/drop_words.py`, numpy in `consumers/text/strip_numbers.py`). Lines that differ only in digits are masked together
   (`consumers/text/text_forms.py`).
3. Words go, once for each distinct text that is left (`consumers/text/word_patterns.py`, `consumers/text/name_words.py`,
   `consumers/text/tidy.py`).
4. All of it again until nothing changes.

The *masked* text is embedded, the raw text is stored. The masks are ordered, stateless and versioned; they are not part of the embedding
space, because the digest covers the masked text itself.

Why a variable is masked to nothing, measured with the tokenizer of all-MiniLM-L6-v2 and the masks of version 2 on HDFS, BGL, OpenSSH and
Apache (8,000 lines), and separately on Hadoop, Zookeeper, OpenStack and Mac (8,000 lines), with `host` disabled:

| replacement of a variable | tokens a line | distinct texts |
|---|---|---|
| nothing | 24.1, 41.7 | 395, 863 |
| `0` | 28.9, 47.7 | 406, 863 |
| `*` | 28.9, 48.1 | 407, 863 |
| `<*>` | 38.7, 61.1 | 407, 863 |

Hosts, paths and users leave a word, because questions are asked with it: nDCG@10 0.463 instead of 0.458 (`benchmarks.questions`).
"""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, as_texts, coded, distinct_texts, string_column, take
from consumers.text import regex
from consumers.text.compiled import CompiledMask
from consumers.text.drop_words import drop_words
from consumers.text.known_forms import NEW, UNDECIDED, Known, KnownForms
from consumers.text.mask_json import json_rows, mask_json_column
from consumers.text.mask_patterns import NEEDS, PASSES, STARTS, Mask
from consumers.text.name_words import drop_names
from consumers.text.regex import Places
from consumers.text.strip_numbers import strip_numbers
from consumers.text.text_forms import DIGIT, find_with_codes, forms_of
from consumers.text.tidy import one_space, tidy_words
from consumers.text.word_patterns import MASKS, MASKS_VERSION, WORD_MASKS, WORD_NEEDS

__all__ = ["MASKS", "MASKS_VERSION", "NUMBER_ONLY", "BadMask", "Mask", "MaskMode", "Masker"]

MaskMode = Literal["template", "exact"]

NUMBER_ONLY = "0"
"""The masked text of a line that holds only variables, so that no masked text is empty."""

_MAX_ROUNDS = 12
_MAX_REMEMBERED = 8_192
_MAX_REMEMBERED_CHARACTERS = 1_024
_MAY_VARY = re.compile(r"[0-9@?&}\x00-\x1f\x7f-\U0010ffff]|(?:-|::?|T)[a-fA-F]+(?:-|::?|T)[a-fA-F]+(?:-|::?|T)")
"""Matches every masked text that the masks before those of words may still change."""
_LETTERS_ONLY = re.compile(r"[^A-Za-z ]")


class BadMask(ValueError):
    """A mask that cannot be used; one line with its name and the reason."""


class Masker:
    """Masks columns or lists of lines: one masked text for each, in order, never empty, and `mask(mask(x)) == mask(x)`.

    Removing a match may join two parts into a new match, so a text is masked again until it no longer changes. Texts that differ only in
    digits are masked together, as their form (`consumers/text/text_forms.py`). Forms and masked texts that do not change are remembered
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
        words = [mask for mask in WORD_MASKS if mask.pattern and mask.name in enabled]
        self._words = [CompiledMask(mask.pattern, mask.replacement, WORD_NEEDS.get(mask.name, "")) for mask in words]
        passes = ([enabled[name].pattern for name in names if name in enabled] for names in PASSES)
        self._passes = ["|".join(patterns) for patterns in passes if patterns]
        self._numbers = "number" in enabled
        self._units = "unit" in enabled
        self._measures = "measure" in enabled
        self._may_always_vary = bool(self._added) or not self._numbers
        self._lists = "list" in enabled
        self._names = "name" in enabled
        self._json = "json" in enabled
        self._word = "word" in enabled
        self._version = _version(mode, disabled, self._added)
        self._settled: dict[str, str] = {}
        self._known = KnownForms()
        self._nothing = NUMBER_ONLY
        if mode == "template":
            (self._nothing,) = self.mask([NUMBER_ONLY])

    @property
    def version(self) -> str:
        """The version of the built-in masks; with a `+` and eight hexadecimal digits where settings change what is masked."""
        return self._version

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
        column = self._apply_first(column)
        by_forms = self._numbers and self._known.are_worth_trying(len(column))
        return self._mask_by_forms(column) if by_forms else self._mask_distinct(column)

    def _mask_by_forms(self, column: Column) -> Coded:
        """Mask texts to which the first masks have been applied: by their forms, and as they are where a form does not say enough."""
        masked = self._recall(column)
        rows = np.flatnonzero(masked.codes == UNDECIDED)
        if len(rows):
            masked = _replaced(masked, rows, self._known.recall(forms_of(take(column, rows), keep_codes=True)))
        rows = np.flatnonzero(masked.codes == NEW)
        if len(rows):  # those that `_recall` left new hold no codes to keep
            masked = _replaced(masked, rows, self._mask_new_forms(forms_of(take(column, rows), keep_codes=True)))
        rows = np.flatnonzero(masked.codes == UNDECIDED)
        if len(rows):
            masked = _replaced(masked, rows, Known(*self._mask_distinct(take(column, rows))))
        return _recode(masked.codes, masked.values)

    def _recall(self, column: Column) -> Known:
        """Return what is known of texts by their forms; a new form with codes, whose digits will be left, is undecided from now on."""
        forms = forms_of(column)
        masked = self._known.recall(forms)
        rows = np.flatnonzero(masked.codes == NEW)
        if not len(rows):
            self._known.count_new(0, len(column))
            return masked
        codes, new = distinct_texts(take(forms, rows))
        self._known.count_new(len(new), len(column))
        ruled_out = find_with_codes(new)
        self._known.remember(take(new, ruled_out), [None] * len(ruled_out))
        masked.codes[rows[np.isin(codes, ruled_out)]] = UNDECIDED
        return masked

    def _mask_new_forms(self, forms: Column) -> Known:
        """Mask new forms; those are undecided in which a digit is left that may be any."""
        rows, distinct = distinct_texts(forms)
        once = coded(self._apply_variables(distinct))
        decided = [text for text in once.values if DIGIT not in text]
        settled = self._settle(decided)
        place_of = {text: place for place, text in enumerate(decided)}
        codes = np.array([place_of.get(text, UNDECIDED) for text in once.values], np.int32)[once.codes]
        self._known.remember(distinct, [settled[code] if code >= 0 else None for code in codes.tolist()])
        return Known(codes[rows], tuple(settled))

    def _mask_distinct(self, column: Column) -> Coded:
        """Mask texts to which the first masks have been applied, without their forms."""
        once = coded(self._apply_variables(column))
        return _recode(once.codes, self._settle(once.values))

    def _apply_first(self, column: Column) -> Column:
        """Apply the masks that see texts as they are."""
        for mask in self._added:
            column = regex.replace_matches(column, mask.pattern, mask.replacement)
        return mask_json_column(column, json_rows(column)) if self._json else column

    def _apply_variables(self, column: Column) -> Column:
        for places, mask in [(_where(column, mask.name), mask) for mask in self._selective]:
            column = regex.replace_matches_at(column, places, mask.pattern, mask.replacement)
        if self._word:
            column = drop_words(column)
        text = regex.join_lines(column)
        for pattern in self._passes:
            text = regex.replace_matches(text, pattern, "")
        return strip_numbers(text, numbers=self._numbers, units=self._units, measures=self._measures)

    def _mask_words(self, texts: Sequence[str]) -> list[str]:
        """Apply the masks of words to texts in which the others have been applied."""
        if self._words:
            # a line feed of its own on both sides of each text, so that no match depends on another text
            utf8 = "".join([f"\n{text}\n" for text in texts]).encode()
            for mask in self._words:
                utf8 = mask.replace(utf8)
            texts = utf8.decode().split("\n")[1::2]
        texts = [drop_names(text) for text in texts] if self._names else texts
        return [tidy_words(text) if self._lists else one_space(text) for text in texts]

    def _apply_masks(self, texts: Sequence[str]) -> list[str]:
        """Apply all masks to texts to which they have been applied before."""
        varying = [text for text in texts if self._may_vary(text)]
        varied: dict[str, str] = {}
        if varying:
            varied = dict(zip(varying, as_texts(self._apply_variables(self._apply_first(string_column(varying)))), strict=True))
        return self._mask_words([varied.get(text, text) for text in texts])

    def _settle(self, texts: Sequence[str]) -> list[str]:
        """Finish distinct texts whose variables are masked: mask their words, and all of it again until nothing changes."""
        known = self._settled
        settled = {text: found for text in texts if (found := known.get(text)) is not None}  # another thread may forget them meanwhile
        new = [text for text in texts if text not in settled]
        if new:
            masked = dict(zip(new, self._mask_words(new), strict=True))
            settled.update(self._mask_until_stable(masked))
            self._remember((text, settled[text]) for text in new)
        return [settled[text] for text in texts]

    def _mask_until_stable(self, masked: dict[str, str]) -> dict[str, str]:
        """Mask texts again until none changes; `masked` has each text and what the masks of words made of it.

        Returns each with its result; an empty one becomes `NUMBER_ONLY` as masked.
        """
        now = masked
        changed = dict.fromkeys(after for before, after in masked.items() if after and (after != before or self._may_vary(after)))
        unstable = [text for text in changed if self._settled.get(text) != text]
        for _ in range(_MAX_ROUNDS):
            if not unstable:
                break
            then = dict(zip(unstable, self._apply_masks(unstable), strict=True))
            now = {text: then.get(current, current) for text, current in now.items()}
            changed = dict.fromkeys(after for before, after in then.items() if after != before and after)
            unstable = [text for text in changed if self._settled.get(text) != text]
        else:
            final = {text: self._give_up(text) for text in unstable}
            now = {text: final.get(current, current) for text, current in now.items()}
        return {text: current or self._nothing for text, current in now.items()}

    def _may_vary(self, masked: str) -> bool:
        """Return whether a masked text could still change by the masks before those of words."""
        return self._may_always_vary or _MAY_VARY.search(masked) is not None

    def _give_up(self, text: str) -> str:
        """Return a text that no mask changes, for one that still changes after `_MAX_ROUNDS`."""
        if self._apply_masks([text]) == [text]:
            return text
        (without,) = self._apply_masks([_LETTERS_ONLY.sub("", text)])
        return without if self._apply_masks([without]) == [without] else self._nothing

    def _remember(self, settled: Iterable[tuple[str, str]]) -> None:
        for text, masked in settled:
            if len(text) <= _MAX_REMEMBERED_CHARACTERS:
                if len(self._settled) >= _MAX_REMEMBERED:
                    self._settled.clear()
                self._settled[text] = self._settled[masked] = masked


def _version(mode: MaskMode, disabled: Collection[str], added: Sequence[Mask]) -> str:
    if mode == "template" and not disabled and not added:
        return str(MASKS_VERSION)
    chosen = repr((mode, sorted(set(disabled)), [tuple(mask) for mask in added]))
    return f"{MASKS_VERSION}+{blake2b(chosen.encode(), digest_size=4).hexdigest()}"


def _replaced(before: Known, rows: Places, others: Known) -> Known:
    """Give some rows other texts; the texts before stay, used or not."""
    codes = before.codes.copy()
    codes[rows] = np.where(others.codes < 0, others.codes, others.codes + len(before.values))
    return Known(codes, before.values + others.values)


def _recode(codes: NDArray[np.int32], values: Sequence[str]) -> Coded:
    """Return the distinct texts of n rows in the order of their first use; `values` may have some twice, and some that no row has."""
    first = np.full(len(values), len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first, kind="stable")
    order = order[: np.count_nonzero(first < len(codes))]
    distinct: dict[str, int] = {}
    code_of = np.zeros(len(values), np.int32)
    code_of[order] = [distinct.setdefault(values[place], len(distinct)) for place in order.tolist()]
    return Coded(code_of[codes], tuple(distinct))


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
