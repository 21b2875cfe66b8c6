"""How many templates and lines each family has under some filters: summed up from exact counts of templates.

Listings of families, counts by family and the figures of hits are made of these. A family is known by the texts of its templates: those
that are not remembered are read, from the templates' rows or from a line. A million templates are summed up as columns, not one by one.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.reading.counting import CountQuery, CountRow
from sinks.reading.filters import LineFilter
from worker.querying.families import Group, TemplateGroups
from worker.querying.ranking import Index, OutOfTime, groups_of_lines

_TEXTS_AT_ONCE = 1_000


class FamilyCount(NamedTuple):
    """What the counted templates of one family have together.

    Thread: any.
    """

    group: Group
    templates: int
    lines: int
    """Lines, and chunks of long lines."""
    first_ms: int
    last_ms: int
    """Times of its first and of its last line, both counted."""
    frequent: str
    """Id of the template with the most lines; of several, the lowest."""
    newest: str
    """Id of the template with the last line; of several, the lowest."""


class FamilyCounts:
    """Families with at least one line, in the order of an answer: the most lines first, then by id.

    Thread: one.
    """

    def __init__(self, groups: TemplateGroups, rows: Sequence[CountRow], families: NDArray[np.uint64], *, complete: bool) -> None:
        """`rows`: counts of templates; `families`: uint64[n], the number of each one's family."""
        self.complete = complete
        """False when a bound or the deadline cut it short: then there are at least as many."""
        self._groups = groups
        self._templates = [str(row.key[0]) for row in rows]
        self._family_of = families
        lines, first_ms, last_ms = (np.array([row[column] for row in rows], np.int64) for column in (1, 2, 3))
        by_id = np.argsort(np.array(self._templates, "S32"))
        frequent = by_id[np.lexsort((-lines[by_id], families[by_id]))]
        newest = by_id[np.lexsort((-last_ms[by_id], families[by_id]))]
        self._numbers, starts, sizes = np.unique(families[frequent], return_index=True, return_counts=True)
        if len(starts):
            lines = np.add.reduceat(lines[frequent], starts)
            first_ms = np.minimum.reduceat(first_ms[frequent], starts)
            last_ms = last_ms[newest[starts]]
        self._columns = (sizes, lines, first_ms, last_ms, frequent[starts], newest[starts])
        self._order = np.lexsort((self._numbers, -lines))

    def top(self, most: int | None = None) -> list[FamilyCount]:
        """Return the first families, all of them without a bound."""
        return [self._count(place) for place in self._order[:most].tolist()]

    def of(self, families: Iterable[str]) -> dict[str, FamilyCount]:
        """Return those of some families that have lines, by id."""
        wanted = np.isin(self._numbers, np.array([int(family, 16) for family in families], np.uint64))
        return {one.group.family: one for one in (self._count(place) for place in np.flatnonzero(wanted).tolist())}

    def templates_of(self, families: Iterable[str]) -> list[str]:
        """Return the counted templates of some families."""
        wanted = np.isin(self._family_of, np.array([int(family, 16) for family in families], np.uint64))
        return [self._templates[at] for at in np.flatnonzero(wanted).tolist()]

    def _count(self, place: int) -> FamilyCount:
        *figures, frequent, newest = (int(column[place]) for column in self._columns)
        templates, lines, first_ms, last_ms = figures
        group = self._groups.group_of(int(self._numbers[place]))
        return FamilyCount(group, templates, lines, first_ms, last_ms, self._templates[frequent], self._templates[newest])


class FoundFamilies(NamedTuple):
    """Families of n templates that have lines.

    Thread: any.
    """

    numbers: NDArray[np.uint64]
    """uint64[n]: as `TemplateGroups.numbers` has them."""
    is_known: NDArray[np.bool_]
    """bool[n]: false where the deadline, or a template of which there is neither a row nor a line, left one out."""


def count_families(index: Index, only: LineFilter, templates: Collection[str] | None, deadline_passed: OutOfTime) -> FamilyCounts:
    """Count the lines of some templates (None: of all) by family. Raises SinkBusy."""
    wanted = None if templates is None else tuple(sorted(templates))
    counted = index.reader.count(CountQuery(only, templates=wanted, by=("template",)), deadline_passed=deadline_passed)
    found = families_of(index, [str(row.key[0]) for row in counted.rows], deadline_passed)
    rows = counted.rows if found.is_known.all() else [row for row, is_known in zip(counted.rows, found.is_known, strict=True) if is_known]
    complete = counted.complete and len(rows) == len(counted.rows)
    return FamilyCounts(index.templates.groups, rows, found.numbers[found.is_known], complete=complete)


def families_of(index: Index, templates: Sequence[str], deadline_passed: OutOfTime) -> FoundFamilies:
    """Return the families of templates that have lines. Raises SinkBusy."""
    numbers, is_known = index.templates.groups.numbers(templates)
    missing = np.flatnonzero(~is_known)
    for start in range(0, len(missing), _TEXTS_AT_ONCE):
        if deadline_passed():
            break
        places = missing[start : start + _TEXTS_AT_ONCE].tolist()
        groups = _read_groups(index, [templates[place] for place in places], deadline_passed)
        for place in places:
            if (group := groups.get(templates[place])) is not None:
                numbers[place], is_known[place] = int(group.family, 16), True
    return FoundFamilies(numbers, is_known)


def _read_groups(index: Index, templates: Sequence[str], deadline_passed: OutOfTime) -> dict[str, Group]:
    """Return the groups of templates by what is stored of them."""
    groups = index.templates.groups_of(index.sink.template_texts(templates))
    without_row = [template for template in templates if template not in groups]
    if not without_row:
        return groups
    lines = index.reader.newest_lines(without_row, 1, LineFilter(), deadline_passed=deadline_passed).lines
    return groups | groups_of_lines(index, [one for found in lines.values() for one in found])
