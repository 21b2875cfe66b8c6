"""What a change of masks does to the templates of some lines: which are split, which are merged, which only get another text.

Pure. Lines are masked under both sets, and each pair of templates counts its lines; memory grows with the number of templates.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from consumers.columns import Coded


class TemplatePart(NamedTuple):
    """A template on the side where there are several."""

    template: str
    lines: int
    """That it shares with the template on the other side."""


class Regrouping(NamedTuple):
    """One template on one side, whose lines have several on the other."""

    template: str
    lines: int
    parts: tuple[TemplatePart, ...]
    """Most lines first."""


class MaskDifference:
    """Counts pairs of old and new template; numbers only grow.

    Thread: one.
    """

    def __init__(self) -> None:
        self._pairs: Counter[tuple[str, str]] = Counter()

    def add_lines(self, old: Coded, new: Coded) -> None:
        """Count n lines by their templates under both sets of masks."""
        codes, lines = np.unique(np.stack([old.codes, new.codes]), axis=1, return_counts=True)
        for before, after, number in zip(*codes.tolist(), lines.tolist(), strict=True):
            self._pairs[old.values[before], new.values[after]] += number

    @property
    def lines(self) -> int:
        """All lines so far."""
        return self._pairs.total()

    @property
    def changed_lines(self) -> int:
        """Lines whose template has another text, and so another id."""
        return sum(lines for (old, new), lines in self._pairs.items() if old != new)

    @property
    def old_templates(self) -> int:
        """Distinct templates under the old masks."""
        return len({old for old, _ in self._pairs})

    @property
    def new_templates(self) -> int:
        """Distinct templates under the new masks."""
        return len({new for _, new in self._pairs})

    def renamed_templates(self) -> int:
        """Return how many templates keep exactly their lines and get another text."""
        olds, news = Counter(old for old, _ in self._pairs), Counter(new for _, new in self._pairs)
        return sum(old != new and olds[old] == news[new] == 1 for old, new in self._pairs)

    def merged(self) -> list[Regrouping]:
        """Return the new templates that have the lines of several old ones, most lines first."""
        return _regroupings(((new, old), lines) for (old, new), lines in self._pairs.items())

    def split(self) -> list[Regrouping]:
        """Return the old templates whose lines get several new ones, most lines first."""
        return _regroupings(self._pairs.items())


def _regroupings(pairs: Iterable[tuple[tuple[str, str], int]]) -> list[Regrouping]:
    parts: dict[str, Counter[str]] = {}
    for (one, other), lines in pairs:
        parts.setdefault(one, Counter())[other] += lines
    found = [Regrouping(one, others.total(), _parts(others)) for one, others in parts.items() if len(others) > 1]
    return sorted(found, key=lambda group: (-group.lines, group.template))


def _parts(others: Mapping[str, int]) -> tuple[TemplatePart, ...]:
    return tuple(sorted((TemplatePart(text, lines) for text, lines in others.items()), key=lambda part: (-part.lines, part.template)))
