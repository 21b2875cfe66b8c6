"""What stands beside a word that varies, so that a pattern can find it again: the words before and after it, and what its own word keeps.

Pure. An anchor is made of one place of a template and then looked for in all templates, because a mask applies to all of them.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from worker.masks.word_places import LEAST_VARIANTS, Place, Words, common_start

MASKED = "*"
"""What suggested masks leave in place of a value. A pattern that left nothing would find the next word in the same place, and so on."""

_MOST_BESIDE = 2
"""Words on either side; with one alone (`for`, `to`) too much would be found."""
_KEY = re.compile(r"\W*[^\W\d][\w.-]*[=:]\W*")
_LAST_EDGE = re.compile(r".*[^\w]", re.DOTALL)
_END_MARKS = re.compile(r"\W+$")


class Anchor(NamedTuple):
    """Where a value stands. Something of it is never empty, except the suffix."""

    before: Words
    prefix: str
    """What the value's own word begins with: `user=`, `/home/`."""
    suffix: str
    """What it ends with: `:`, `)`."""
    after: Words

    @property
    def is_one_word(self) -> bool:
        """Whether one word alone (`for`, `of`) is all that it has: of all words behind that, none may be one that tells."""
        return len(self.before) + len(self.after) == 1 and not self.prefix

    def value_of(self, words: Words, place: int) -> str | None:
        """Return the value in the word at a place; None if it is not there, or masked already."""
        word = words[place]
        value = word[len(self.prefix) : len(word) - len(self.suffix)]
        fits = (
            value
            and MASKED not in value
            and word.startswith(self.prefix)
            and word.endswith(self.suffix)
            and words[max(place - len(self.before), 0) : place] == self.before
            and words[place + 1 : place + 1 + len(self.after)] == self.after
        )
        return value if fits else None


def anchors_of(group: Sequence[Place], words: Sequence[Words], is_fixed: Callable[[Place], bool]) -> Iterator[Anchor]:
    """Yield what the places of a group have beside them, the most general first; nothing if both neighbours vary.

    All places of a group are the same place of templates that are equal without it.
    """
    variants = sorted(words[one.template][one.word] for one in group)
    key, prefix, suffix = _kept_of(variants)
    if key:
        yield Anchor((), key, suffix if key == prefix else "", ())
    place, beside = group[0].word, words[group[0].template]
    before, after = _before(group, beside, place, is_fixed), _after(group, beside, place, is_fixed)
    if before:
        yield Anchor(before, prefix, suffix, ())
        if after:
            yield Anchor(before, prefix, suffix, after[:1])
    elif after:
        yield Anchor((), prefix, suffix, after)


def generalise(by_group: Sequence[Sequence[Anchor]]) -> list[tuple[Anchor, ...]]:
    """Return the anchors of each group; those of several groups that differ in their first word only follow the one without it.

    That word varies too: from group to group.
    """
    first_words: dict[Anchor, set[str]] = defaultdict(set)
    for anchor in {anchor for anchors in by_group for anchor in anchors if len(anchor.before) == _MOST_BESIDE}:
        first_words[anchor._replace(before=anchor.before[1:])].add(anchor.before[0])
    return [tuple(wider for anchor in anchors for wider in _wider(anchor, first_words)) for anchors in by_group]


def _wider(anchor: Anchor, first_words: Mapping[Anchor, Collection[str]]) -> tuple[Anchor, ...]:
    shorter = anchor._replace(before=anchor.before[1:])
    return (shorter, anchor) if len(first_words.get(shorter, ())) >= LEAST_VARIANTS else (anchor,)


def find_anchors(anchors: Collection[Anchor], words: Sequence[Words]) -> dict[Anchor, list[Place]]:
    """Return all places that fit each anchor. Looks at each place once for all anchors."""
    by_key: dict[str, list[Anchor]] = defaultdict(list)
    by_before: dict[Words, list[Anchor]] = defaultdict(list)
    by_after: dict[str, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        if anchor.before:
            by_before[anchor.before].append(anchor)
        elif anchor.after:
            by_after[anchor.after[0]].append(anchor)
        else:
            by_key[anchor.prefix].append(anchor)
    found: dict[Anchor, list[Place]] = defaultdict(list)
    for template, one in enumerate(words):
        for place, word in enumerate(one):
            key = _KEY.match(word)
            beside = [by_before.get(one[place - size : place], ()) for size in range(1, min(place, _MOST_BESIDE) + 1)]
            beside.append(by_after.get(one[place + 1], ()) if place + 1 < len(one) else ())
            beside.append(by_key.get(key[0], ()) if key else ())
            for anchor in (anchor for some in beside for anchor in some):
                if anchor.value_of(one, place) is not None:
                    found[anchor].append(Place(template, place))
    return found


def _kept_of(variants: Sequence[str]) -> tuple[str, str, str]:
    """Return what all variants begin with: a key (may be empty), the key and more, cut at a mark; and the marks they end with."""
    common = common_start(variants)
    edge = _LAST_EDGE.match(common)
    prefix = edge[0] if edge else ""
    ends = common_start([word[len(prefix) :][::-1] for word in variants])[::-1]
    edge = _END_MARKS.search(ends)
    key = _KEY.match(prefix)
    return key[0] if key else "", prefix, edge[0] if edge else ""


def _before(group: Sequence[Place], beside: Words, place: int, is_fixed: Callable[[Place], bool]) -> Words:
    size = 0
    while size < min(place, _MOST_BESIDE) and _is_fixed_in(group, beside, place - size - 1, is_fixed):
        size += 1
    return beside[place - size : place]


def _after(group: Sequence[Place], beside: Words, place: int, is_fixed: Callable[[Place], bool]) -> Words:
    size = 0
    while size < min(len(beside) - place - 1, _MOST_BESIDE) and _is_fixed_in(group, beside, place + size + 1, is_fixed):
        size += 1
    return beside[place + 1 : place + 1 + size]


def _is_fixed_in(group: Sequence[Place], beside: Words, place: int, is_fixed: Callable[[Place], bool]) -> bool:
    """Return whether most templates of the group have a word there that does not vary."""
    fixed = sum(is_fixed(Place(one.template, place)) for one in group)
    return MASKED not in beside[place] and 2 * fixed > len(group)
