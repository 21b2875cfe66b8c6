r"""Which records of a topic are lines of one event: a stack trace or another text of several lines that arrived record by record.

`worker.indexing.events` joins them. Each line gets a letter by patterns on its text, and one expression over the letters of a partition
finds the events. A letter is a capital if its record may continue the one before it (the next offset, the same key). An event depends on
its own lines and the one after it only, so whoever begins at its first line, with as much room, finds the same one.

`\Z` is the end of what has arrived: whether the last event goes on is not known, so it stays open until the next record is there. Where it
is known that nothing follows, a bar stands behind the letters.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, take
from consumers.text.regex import find_matching

Start = Literal["java", "python", "go", "node"]
Letters = NDArray[np.uint8]

OTHER, BLANK = ord("O"), ord("B")
"""No pattern fits; the text is empty."""
_SMALL = 32
"""Between a capital and the small letter."""


class EventRule(NamedTuple):
    """Lines of several records that are one event.

    Thread: any.
    """

    letters: tuple[tuple[str, str], ...]
    """A letter and the RE2 pattern of its lines; the first that fits counts."""
    event: re.Pattern[bytes]
    """An event of two lines or more, in letters."""


_LANGUAGES: Final[Mapping[Start, EventRule]] = {
    "java": EventRule(
        (
            ("A", r"^\s+at \S|^\s*\.\.\. [0-9]+ (?:more|common frames omitted)"),
            ("C", r"^\s*(?:Caused by|Suppressed|Wrapped by): "),
            ("X", r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable|Failure|Fault)[\w$]*(?:$|:)"),
        ),
        re.compile(rb"[a-zA-Z](?:[AC]|X(?=[AC]|\Z))+"),
    ),
    "python": EventRule(
        (
            ("T", r"^\s*(?:\+ )?(?:Exception Group )?Traceback \(most recent call last\):"),
            ("I", r"^\s+\S"),
            ("M", r"^(?:During handling of the above exception|The above exception was the direct cause)"),
            ("X", r"^[A-Za-z_][\w.]*(?:$|: )"),
        ),
        re.compile(rb"(?:[a-zA-Z](?=T))?[Tt](?:I+X?)?(?:B*MB*T(?:I+X?)?|B*(?:MB*)?\Z)*"),
    ),
    "go": EventRule(
        (
            ("P", r"^(?:panic|fatal error|runtime error): "),
            ("G", r"^goroutine [0-9]+ .*:$"),
            ("K", r"^\[signal |^exit status [0-9]"),
            ("I", r"^\s+\S"),
            ("F", r"^(?:created by )?[\w./*()\[\]{}$-]+\(.*\)$|^created by \S"),
            ("N", r"^[\w./*()-]+\.[\w./*()-]+$"),
        ),
        re.compile(rb"[PpGg](?:[GKIFN]|B+(?=[GKB]|\Z))+|[a-zA-Z](?:N(?:I|\Z))+"),
    ),
    "node": EventRule(
        (
            ("A", r"^\s+at \S"),
            ("I", r"^\s+\S"),
            ("J", r"^\}"),
            ("X", r"^(?:Uncaught )?(?:[\w$]+\.)*[\w$]*(?:Error|Exception)\b"),
        ),
        re.compile(rb"[a-zA-Z](?:X(?=A|\Z))?(?:A[AI]*J?)+|[a-zA-Z]X\Z"),
    ),
}
"""A blank line is part of an event only where a line of the same event follows it."""
_OWN: Final = re.compile(rb"[AC-Zac-z](?:O|B+(?=O|\Z))+")
"""Every line that is no `S` continues the event before it."""


def event_rule(start: Start | None, pattern: str | None) -> EventRule:
    """Return the rule of a language, or that of a pattern which begins every event."""
    return EventRule((("S", pattern or ""),), _OWN) if start is None else _LANGUAGES[start]


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
