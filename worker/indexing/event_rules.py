r"""Which records of a topic are lines of one event: a stack trace or another text of several lines that arrived record by record.

`worker.indexing.events` joins them. Each line gets a letter by patterns on its text, and one expression over the letters of a partition
finds the events. A letter is a capital if its record may continue the one before it (the next offset, the same key). An event depends on
its own lines and the few after it only, so whoever begins at its first line, with as much room, finds the same one.

`\Z` is the end of what has arrived: whether the last event goes on is not known, so it stays open until the next record is there. Where it
is known that nothing follows, a bar stands behind the letters.
"""

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, take
from consumers.text.regex import find_matching
from worker.indexing.event_languages import LANGUAGES, EventRule, Start

Letters = NDArray[np.uint8]

OTHER, BLANK = ord("O"), ord("B")
"""No pattern fits; the text is empty."""
_SMALL = 32
"""Between a capital and the small letter."""


_OWN: Final = re.compile(rb"[AC-Zac-z](?:O|B+(?=O|\Z))+")
"""Every line that is no `S` continues the event before it."""


def event_rule(start: Start | None, pattern: str | None) -> EventRule:
    """Return the rule of a language, or that of a pattern which begins every event."""
    return EventRule((("S", pattern or ""),), _OWN) if start is None else LANGUAGES[start]


def letters_of(rule: EventRule, text: Column, is_blank: NDArray[np.bool_], is_linked: NDArray[np.bool_]) -> Letters:
    """Return the letter of each of n lines: uint8[n]; a capital for those that `is_linked`, bool[n], is true of."""
    letters = np.full(len(text), OTHER, np.uint8)
    letters[is_blank] = BLANK
    for letter, pattern in rule.letters:
        rows = np.flatnonzero(letters == OTHER)
        if len(rows):
            letters[rows[find_matching(take(text, rows), pattern)]] = ord(letter)
    return letters + np.where(is_linked, 0, _SMALL).astype(np.uint8)


def is_blank_letter(letter: int) -> bool:
    """Whether a letter is that of an empty line."""
    return letter in (BLANK, BLANK + _SMALL)
