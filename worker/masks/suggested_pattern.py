r"""Writes the RE2 pattern of an anchor, as it looks in the raw lines.

Added masks see the line before the built-in ones do, so what stood between two words of a template has to be found again: the words of a
raw line are matched with those of its template. Digits beside the value become `\d+`, words that the masks took away `\S+`.
"""

import re
from collections.abc import Callable, Sequence

from worker.masks.anchors import MASKED, Anchor
from worker.masks.word_places import Words

_WORD = re.compile(r"\S+")
_LONGEST_CHARACTERS = 2_000
_LONGEST_PATTERN = 400
"""Characters; a longer one would be read by no person."""
_MOST_BETWEEN = 3
"""Raw words that the masks took away between two that are left."""
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_DIGITS = re.compile(r"\d+")
_STARTS_WORD, _ENDS_WORD = re.compile(r"[A-Za-z0-9_]"), re.compile(r"[A-Za-z0-9_]$")


def pattern_of(anchor: Anchor, template: Words, place: int, raw: str, mask: Callable[[Sequence[str]], list[str]]) -> tuple[str, str] | None:
    """Return pattern and replacement for the place of a template that fits the anchor; None if the raw line does not show it.

    `raw` is a line of this template, `mask` masks texts without the suggestion.
    """
    spans = [match.span() for match in _WORD.finditer(raw[:_LONGEST_CHARACTERS])]
    window = template[place - len(anchor.before) : place + len(anchor.after) + 1]
    found = _find_words(window, mask([raw[begin:end] for begin, end in spans]) if spans else [])
    if not found:
        return None
    value = found[len(anchor.before)]

    def shown(numbers: range, *, gap_before: bool) -> str:
        """Return what matches these raw words, each with the white space on one side."""
        parts: list[str] = []
        for number in numbers:
            begin, end = spans[number]
            word = _literal(raw[begin:end]) if number in found else r"\S+"
            between = raw[spans[number - 1][1] : begin] if gap_before else raw[end : spans[number + 1][0]]
            gap = " " if between == " " else r"\s+"
            parts.append(gap + word if gap_before else word + gap)
        return "".join(parts)

    left = shown(range(found[0], value), gap_before=False) + _literal(anchor.prefix)
    right = _literal(anchor.suffix) + shown(range(value + 1, found[-1] + 1), gap_before=True)
    if left:
        begins = raw[spans[found[0]][0] :] if anchor.before else anchor.prefix
        left = (r"\b" if _STARTS_WORD.match(begins) else r"(?:^|\s)") + left
    if anchor.after and _ENDS_WORD.search(raw[: spans[found[-1]][1]]):
        right += r"\b"
    pattern = (f"({left})" if left else "") + r"\S+" + (f"({right})" if right else "")
    replacement = (r"\1" if left else "") + MASKED + (rf"\{1 + bool(left)}" if right else "")
    return (pattern, replacement) if len(pattern) <= _LONGEST_PATTERN else None


def _find_words(window: Words, masked: Sequence[str]) -> list[int]:
    """Return for each of some neighbours in a template which raw word it is of; empty if they do not stand together.

    Between two of them, a few words may be masked away.
    """
    for begin, word in enumerate(masked):
        if _is_of(window[0], word):
            found = [begin]
            for wanted in window[1:]:
                near = range(found[-1] + 1, min(found[-1] + 2 + _MOST_BETWEEN, len(masked)))
                found += [number for number in near if _is_of(wanted, masked[number])][:1] or [-1]
                if found[-1] < 0:
                    break
            else:
                return found
    return []


def _is_of(wanted: str, masked: str) -> bool:
    """Return whether a word of a template may be this raw word, which was masked alone; that of an accepted suggestion may be any."""
    return wanted == masked or MASKED in wanted


def _literal(text: str) -> str:
    return _DIGITS.sub(r"\\d+", _SPECIAL.sub(r"\\\g<0>", text))
