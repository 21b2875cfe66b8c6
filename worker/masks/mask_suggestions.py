"""Suggests masks for a sample of lines: each merges templates that are equal but for one word. `vectail templates --suggest` prints them.

1. Templates are grouped by all their words but one (`worker.masks.word_places`); where enough differ, the words there are candidates.
2. What stands beside them becomes an anchor (`worker.masks.anchors`), the most general one whose words, in *all* templates, are values
   and tell nothing (`worker.masks.telling_words`).
3. The anchor becomes a pattern (`worker.masks.suggested_pattern`), which is tried on lines of these templates. It counts only what it
   really merges.
4. With what was accepted, everything is masked again: where two words vary, the second shows only then.

The same lines give the same suggestions. Nothing here is applied: a person reads the suggestions and pastes what is right.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, as_texts, take
from consumers.text.mask import BadMask, Mask, Masker
from worker.masks.anchors import Anchor, anchors_of, find_anchors, generalise
from worker.masks.suggested_pattern import pattern_of
from worker.masks.telling_words import MOST_FIXED_SHARE, varies
from worker.masks.word_places import Place, Words, find_varying_places, split_words, without

MOST_TEMPLATES = 20_000
"""Of the sample's: the most frequent ones are looked at."""
_MOST_ROUNDS = 4
_MOST_TRIED = 40
"""Anchors that are tried on lines in a round, those that promise most."""
_TRIED_ROWS = 3
"""Lines of each template that a pattern is tried on."""
_LEAST_MERGED = 2
"""Templates that a suggestion saves at least."""
_SHOWN_WORDS = 3
_MOST_NAME_CHARACTERS = 40

NewMasker = Callable[[Sequence[Mask]], Masker]
"""Returns a masker as the settings say, with these masks added after the user's own."""


class Suggestion(NamedTuple):
    """A mask, and what it does to the sample."""

    mask: Mask
    merged: int
    """Templates that become `left` ones. They are counted with the suggestions of earlier rounds applied."""
    left: int
    lines: int
    """Of these templates."""
    words: int
    """Distinct words that it takes out."""
    examples: tuple[str, ...]
    """The most frequent of them."""
    template: str
    """The most frequent template that results."""


class Suggestions(NamedTuple):
    """All suggestions for a sample, best first."""

    before: int
    """Templates without them."""
    after: int
    """Templates with all of them."""
    found: tuple[Suggestion, ...]


class _Candidate(NamedTuple):
    anchor: Anchor
    places: list[Place]
    saved: int
    """Templates fewer, if the pattern finds all these places."""


class _Templates(NamedTuple):
    """The templates of a sample under some masks."""

    texts: tuple[str, ...]
    codes: NDArray[np.int32]
    """int32[lines]: the template of each line."""
    lines: NDArray[np.int64]
    """int64[templates]."""
    looked_at: tuple[int, ...]
    """The most frequent ones."""


def suggest_masks(text: Column, new_masker: NewMasker, *, taken: Collection[str], top: int) -> Suggestions:
    """Suggest at most `top` masks for n texts; `taken` are names that masks have already."""
    accepted: list[Suggestion] = []
    names = set(taken)
    now = _templates(new_masker(()).mask_column(text))
    before = len(now.texts)
    for _ in range(_MOST_ROUNDS):
        trial = _Trial(text, now, new_masker, tuple(one.mask for one in accepted))
        found = []
        for candidate in _candidates(now):
            suggestion = trial.try_out(candidate, names)
            if suggestion is not None:
                found.append(suggestion)
                names.add(suggestion.mask.name)
            if len(accepted) + len(found) == top:
                break
        accepted += found
        if not found or len(accepted) == top:
            break
        now = _templates(new_masker([one.mask for one in accepted]).mask_column(text))

    def templates_with(suggestions: Sequence[Suggestion]) -> int:
        return len(new_masker([one.mask for one in suggestions]).mask_column(text).values)

    best = sorted(accepted, key=lambda one: (one.left - one.merged, -one.lines, one.mask.name))
    after, best_after = templates_with(accepted), templates_with(best)
    if best_after > after:  # masks are applied in order: one may hide what another one needs
        return Suggestions(before, after, tuple(accepted))
    return Suggestions(before, best_after, tuple(best))


def _templates(masked: Coded) -> _Templates:
    lines = np.bincount(masked.codes, minlength=len(masked.values)).astype(np.int64)
    looked_at = tuple(np.argsort(-lines, kind="stable")[:MOST_TEMPLATES].tolist())
    return _Templates(masked.values, masked.codes, lines, looked_at)


def _candidates(now: _Templates) -> Iterator[_Candidate]:
    """Yield the anchors of words that vary and tell nothing, those that save most first."""
    words: list[Words] = [()] * len(now.texts)
    for template, one in zip(now.looked_at, split_words([now.texts[i] for i in now.looked_at]), strict=True):
        words[template] = one
    groups = find_varying_places(words)
    varying = {place for group in groups for place in group}
    by_group = generalise([tuple(anchors_of(group, words, lambda place: place not in varying)) for group in groups])
    places = find_anchors({anchor for anchors in by_group for anchor in anchors}, words)
    fixed = _fixed_words(words, varying)
    is_good: dict[Anchor, bool] = {}
    chosen: dict[Anchor, None] = {}
    for anchors in by_group:
        for anchor in anchors:
            if anchor not in is_good:
                values = {value for one in places[anchor] if (value := anchor.value_of(words[one.template], one.word)) is not None}
                most_fixed = 0.0 if anchor.is_one_word else MOST_FIXED_SHARE
                is_good[anchor] = varies(values, fixed, before=" ".join((*anchor.before, anchor.prefix)), most_fixed=most_fixed)
            if is_good[anchor]:
                chosen.setdefault(anchor)
                break
    candidates = [_Candidate(anchor, places[anchor], _saved(places[anchor], words)) for anchor in chosen]
    covered: set[Place] = set()
    for candidate in sorted(candidates, key=lambda one: (-one.saved, one.anchor))[:_MOST_TRIED]:
        is_hidden = 2 * len(covered.intersection(candidate.places)) > len(candidate.places)
        if not is_hidden and covered.isdisjoint(_beside(candidate)):  # else what is left shows in the next round
            covered.update(candidate.places)
            yield candidate


def _fixed_words(words: Sequence[Words], varying: Collection[Place]) -> set[str]:
    """Return the words that stand where nothing varies, in more than one way."""
    after: dict[str, set[str]] = defaultdict(set)
    for template, one in enumerate(words):
        for place, word in enumerate(one):
            if Place(template, place) not in varying:
                after[word].add(one[place - 1] if place else "")
    return {word for word, others in after.items() if len(others) > 1}


def _beside(candidate: _Candidate) -> Iterator[Place]:
    """Yield the places of the words by which the anchor is found."""
    before, after = len(candidate.anchor.before), len(candidate.anchor.after)
    for template, word in candidate.places:
        for place in (*range(word - before, word), *range(word + 1, word + 1 + after)):
            yield Place(template, place)


def _saved(places: Sequence[Place], words: Sequence[Words]) -> int:
    rests = {(one.word, without(words[one.template], one.word)) for one in places}
    return len(places) - len(rests)


class _Trial:
    """Tries anchors on lines of the templates that they are about.

    Thread: one.
    """

    def __init__(self, text: Column, now: _Templates, new_masker: NewMasker, added: Sequence[Mask]) -> None:
        self._text = text
        self._now = now
        self._new_masker = new_masker
        self._added = added
        self._masker = new_masker(added)
        self._rows = _first_rows(now)
        self._known = frozenset(now.texts)

    def try_out(self, candidate: _Candidate, names: Collection[str]) -> Suggestion | None:
        """Return the mask for an anchor, with what it merges; None if it merges too little."""
        anchor = candidate.anchor
        written = self._written(candidate)
        if written is None:
            return None
        mask = Mask(_name_of(anchor, names), *written)
        try:
            masker = self._new_masker((*self._added, mask))
        except BadMask:
            return None
        templates = np.unique([one.template for one in candidate.places])
        rows = np.concatenate([self._rows[template] for template in templates.tolist()])
        masked = masker.mask_column(take(self._text, rows))
        changed = np.array([text not in self._known for text in masked.values], np.bool_)[masked.codes]
        merged = np.unique(self._now.codes[rows[changed]])
        left = np.unique(masked.codes[changed])
        if len(merged) - len(left) < _LEAST_MERGED:
            return None
        values: Counter[str] = Counter()
        for one in candidate.places:
            value = anchor.value_of(tuple(self._now.texts[one.template].split()), one.word)
            if value is not None:
                values[value] += int(self._now.lines[one.template])
        shown = sorted(values, key=lambda value: (-values[value], value))[:_SHOWN_WORDS]
        most = Counter(masked.codes[changed].tolist()).most_common(1)[0][0]
        return Suggestion(
            mask, len(merged), len(left), int(self._now.lines[merged].sum()), len(values), tuple(shown), masked.values[most]
        )  # fmt: skip

    def _written(self, candidate: _Candidate) -> tuple[str, str] | None:
        """Return pattern and replacement, from the first raw line that shows the anchor."""
        for place in candidate.places[:_TRIED_ROWS]:
            words = tuple(self._now.texts[place.template].split())
            for raw in as_texts(take(self._text, self._rows[place.template])):
                written = pattern_of(candidate.anchor, words, place.word, raw, self._masker.mask)
                if written is not None:
                    return written
        return None


def _first_rows(now: _Templates) -> list[NDArray[np.int64]]:
    """Return for each template its first lines."""
    order = np.argsort(now.codes, kind="stable")
    ends = np.cumsum(now.lines)
    return [order[end - lines : min(end, end - lines + _TRIED_ROWS)] for end, lines in zip(ends.tolist(), now.lines.tolist(), strict=True)]


def _name_of(anchor: Anchor, names: Collection[str]) -> str:
    """Return a name that the settings take and no mask has."""
    said = " ".join((*anchor.before, anchor.prefix)) if anchor.before or anchor.prefix else f"before {' '.join(anchor.after)}"
    slug = re.sub(r"[^a-z]+", "-", said.lower()).strip("-")[:_MOST_NAME_CHARACTERS].strip("-") or "word"
    name, number = slug, 1
    while name in names:
        number += 1
        name = f"{slug}-{number}"
    return name
