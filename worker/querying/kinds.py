"""Kinds: families that differ in one word and are shown as one hit, because the word is a name and not a state.

`search` and `counts` group what was ranked. Ten cards that differ in a person's name are one answer. What families have in common already
(case, punctuation, paths) does not count here either. When unsure, families stay apart: `opened` and `closed`, codes, levels and numbers
are what a reader looks for. Words of the language may be anything, `upload` and `download`: two families with such a word stay apart, but
where three or more differ in it, it is a list of names.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from consumers.text.families import family_text
from consumers.text.key_classes import varies
from consumers.text.name_words import is_ordinary
from worker.masks.telling_words import is_telling

LEAST_WORDS: Final = 4
_MOST_WORDS: Final = 64
"""Of a longer text none is grouped."""
_STATES: Final = frozenset(  # besides what `is_telling`; as one text it can be read
    """above abort accept add after allow alive attach available before begin below commit create dead deny detach disconnect empty end exit
    fast first full healthy hit high idle insert join kill last leave less lock login logout lost low max maximum min minimum miss more
    mount new none offline old online over pass passed quit reject remove reset resume rollback running run shutdown slow start stale sync
    timeout under unlock update with without left right to from has no cannot can""".split()  # noqa: SIM905
)
_NUMBERED: Final = re.compile(r"[a-z]{2,}(?:[-_][a-z]+)*[-_]\d+")
"""A name with a number, such as `node-3`; any other word with a digit may be a code."""


class Kind(NamedTuple):
    """Texts that are shown as one, by their places.

    Thread: any.
    """

    first: int
    others: list[tuple[int, str]]
    """Each with the word in which it differs from the first."""


def kinds_of(texts: Sequence[str]) -> list[Kind]:
    """Group texts, best first: each goes to the first one before it that differs in one word, which is the same word for all of a kind."""
    kinds: list[Kind] = []
    beside: dict[tuple[int, tuple[str, ...]], int] = {}
    """By a place and all words but the one there: the kind whose first text has them."""
    differs: dict[int, int] = {}
    """Of each kind with several texts, the place of the word."""
    unsure: set[int] = set()
    """Those that differ in a word of the language: two texts are no kind."""
    for at, text in enumerate(texts):
        words = family_text(text).split()
        places = range(len(words)) if LEAST_WORDS <= len(words) <= _MOST_WORDS else ()
        keys = [(place, (*words[:place], *words[place + 1 :])) for place in places]
        for place, others in keys:
            number = beside.get((place, others))
            if number is None or differs.get(number, place) != place:
                continue
            first = texts[kinds[number].first]
            one, other = _original(first, family_text(first).split()[place]), _original(text, words[place])
            if _are_names(one, other):
                differs[number] = place
                kinds[number].others.append((at, words[place]))
                if is_ordinary(one) or is_ordinary(other):
                    unsure.add(number)
                break
        else:
            for key in keys:
                beside.setdefault(key, len(kinds))
            kinds.append(Kind(at, []))
    pairs = [kinds[number] for number in sorted(unsure) if len(kinds[number].others) == 1]
    apart = {kind.first: [Kind(kind.first, []), Kind(kind.others[0][0], [])] for kind in pairs}
    return sorted((one for kind in kinds for one in apart.get(kind.first, [kind])), key=lambda kind: kind.first)


def _original(text: str, word: str) -> str:
    """Return a word of a family's text as the template has it: capital letters tell codes and faults."""
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)
    return word if found is None else found[0]


def _are_names(one: str, other: str) -> bool:
    """Whether two words name things, so that lines with either are of one kind."""
    if one.endswith(other) or other.endswith(one):  # available and unavailable
        return False
    return _is_name(one) and _is_name(other)


def _is_name(word: str) -> bool:
    if is_telling(word) or word.lower() in _STATES:
        return False
    if not any(character.isdigit() for character in word):
        return True
    return _NUMBERED.fullmatch(word) is not None and varies(word.rstrip("-_0123456789")) is not False
