"""Where texts may be cut: before lines, sentences and words, of many texts side by side; without a Python statement for each word."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column
from consumers.text import regex

_LINE_FEED = ord("\n")
_STOPS = [ord(stop) for stop in ".!?;"]
_SPACES_END = 0x3001
_IS_SPACE = np.fromiter((chr(point).isspace() for point in range(_SPACES_END + 1)), np.bool_, _SPACES_END + 1)
"""Whether `\\s` matches a character; none from the last one of the table on."""


class _Places(NamedTuple):
    """Where parts of one kind begin, int64[k], ascending."""

    begins: NDArray[np.int64]
    after: NDArray[np.int64]
    """The character that ends the part before; where it is not in the same text, nothing begins."""


class CutStretch:
    """Texts side by side, `text`; a part of them is the characters from one place to another, and a list of parts that meet their bounds.

    Thread: any; nothing changes after construction.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        self._utf8 = np.frombuffer(text.encode(), np.uint8)
        self.byte_at = np.zeros(len(points) + 1, np.int64)
        """int64[characters + 1]: at which byte of UTF-8 each character begins."""
        size = 1 + (points > 0x7F).view(np.uint8) + (points > 0x7FF) + (points > 0xFFFF)  # noqa: PLR2004 - UTF-8
        np.cumsum(size, out=self.byte_at[1:])
        self._levels = _find_places(points)

    def column(self, bounds: NDArray[np.int64]) -> Column:
        """Return the parts between n + 1 bounds as n texts, uncopied."""
        return regex.column_of(self._utf8, self.byte_at[bounds])

    def cut(self, begin: int, end: int, level: int) -> tuple[NDArray[np.int64], int]:
        """Cut a part of this level (0: lines, 1: sentences, 2: words, from 3: halves) at the next one that has more than one part of it.

        Returns where the second part and those after it begin, and their level. Raises ValueError for a single character.
        """
        for finer in range(level + 1, len(self._levels)):
            begins, after = self._levels[finer]
            first, last = after.searchsorted(begin), begins.searchsorted(end)
            if first < last:
                return begins[first:last], finer
        if end - begin == 1:
            message = "a single character does not fit the model's limit"
            raise ValueError(message)
        return np.array([begin + (end - begin) // 2]), len(self._levels)


def _find_places(points: NDArray[np.uint32]) -> tuple[_Places, _Places, _Places]:
    """Return where lines, sentences and words begin among n characters, uint32[n]."""
    line_ends = np.flatnonzero(points == _LINE_FEED)
    is_space = _IS_SPACE[np.minimum(points, _SPACES_END)]
    turns = np.flatnonzero(is_space[1:] != is_space[:-1])
    begins_word = is_space[turns]
    words = turns[begins_word] + 1
    # the last character of the word before the spaces; white space at the front has none
    ends = turns[:-1][begins_word[1:]]
    after_word = words[len(words) - len(ends) :]
    is_stop = np.isin(points[ends], _STOPS)
    return _Places(line_ends + 1, line_ends), _Places(after_word[is_stop], ends[is_stop]), _Places(words, words - 1)
