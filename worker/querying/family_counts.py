"""How many templates and lines each family has under some filters: summed up from exact counts of templates.

Listings of families, counts by family and the figures of hits are made of these. A family is known by the texts of its templates: those
that are not remembered are read, from the templates' rows or from a line. A million templates are summed up as columns, not one by one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.reading.counting import TemplateCounts
from sinks.reading.line_filter import LineFilter
from sinks.row import TemplateId, TemplateKey, template_key
from worker.querying.ranking import Index, OutOfTime, groups_of_lines
from worker.querying.template_groups import TemplateGroup, TemplateGroups

_TEXTS_AT_ONCE = 1_000


class FamilyCount(NamedTuple):
    """What the counted templates of one family have together.

    Thread: any.
    """

    group: TemplateGroup
    templates: int
    lines: int
    """Lines, and chunks of long lines."""
    first_ms: int
    last_ms: int
    """Times of its first and of its last line, both counted."""
    frequent: TemplateId
    """The template with the most lines; of several, the lowest."""
    newest: TemplateId
    """The template with the last line; of several, the lowest."""


class FamilyCounts:
    """Families with at least one line, in the order of an answer: the most lines first, then by id.

    Thread: one.
    """

    def __init__(self, groups: TemplateGroups, counted: TemplateCounts, found: "FoundFamilies") -> None:
        """`found`: the families of the counted templates."""
        self.complete = counted.complete and bool(found.is_known.all())
        """False when a bound or the deadline cut it short: then there are at least as many."""
        self._groups = groups
        self._ids = found.ids
        known = np.flatnonzero(found.is_known)
        self._keys, families = counted.keys[known], found.numbers[known]
        self._family_of = families
        lines, first_ms, last_ms = counted.lines[known], counted.first_ms[known], counted.last_ms[known]
        by_id = np.argsort(self._keys.view(np.uint64), kind="stable")
        frequent = by_id[np.lexsort((-lines[by_id], families[by_id]))]
        newest = by_id[np.lexsort((-last_ms[by_id], families[by_id]))]
        self._numbers, starts, sizes = np.unique(families[frequent], return_index=True, return_counts=True)
        if len(starts):
            lines = np.add.reduceat(lines[frequent], starts)
            first_ms = np.minimum.reduceat(first_ms[frequent], starts)
            last_ms = last_ms[newest[starts]]
        self._figures = (sizes, lines, first_ms, last_ms)
        self._frequent, self._newest = frequent[starts], newest[starts]
        self._order = np.lexsort((self._numbers, -lines))

    @property
    def numbers(self) -> NDArray[np.uint64]:
        """Return uint64[n]: the numbers of all families, in their order."""
        return self._numbers

    @property
    def lines(self) -> NDArray[np.int64]:
        """Return int64[n]: how many lines each of them has."""
        return self._figures[1]

    def top(self, most: int | None = None) -> list[FamilyCount]:
        """Return the first families, all of them without a bound."""
        return self._at(self._order[:most])

    def of(self, families: Iterable[str]) -> dict[str, FamilyCount]:
        """Return those of some families that have lines, by id."""
        wanted = np.isin(self._numbers, np.array([int(family, 16) for family in families], np.uint64))
        return {one.group.family: one for one in self._at(np.flatnonzero(wanted))}

    def templates_of(self, families: Iterable[str]) -> list[TemplateId]:
        """Return the counted templates of some families."""
        wanted = np.isin(self._family_of, np.array([int(family, 16) for family in families], np.uint64))
        return self._named(np.flatnonzero(wanted))

    def _at(self, places: NDArray[np.intp]) -> list[FamilyCount]:
        groups = map(self._groups.group_of, self._numbers[places].tolist())
        figures = (column[places].tolist() for column in self._figures)
        return list(map(FamilyCount, groups, *figures, self._named(self._frequent[places]), self._named(self._newest[places])))

    def _named(self, places: NDArray[np.intp]) -> list[TemplateId]:
        """Return the ids of some of the counted templates."""
        keys = self._keys[places]
        if not self._ids:
            return self._groups.ids(keys)
        return [self._ids.get(key) or self._groups.ids(keys[at : at + 1])[0] for at, key in enumerate(keys.tolist())]


class FoundFamilies(NamedTuple):
    """Families of n templates that have lines.

    Thread: any.
    """

    numbers: NDArray[np.uint64]
    """uint64[n]: as `TemplateGroups.numbers` has them."""
    is_known: NDArray[np.bool_]
    """bool[n]: false where the deadline, or a template without a row and without a line, left one out."""
    ids: Mapping[TemplateKey, TemplateId]
    """Of those that are not remembered: their ids by key."""


def count_families(index: Index, only: LineFilter, templates: Collection[TemplateId] | None, deadline_passed: OutOfTime) -> FamilyCounts:
    """Count the lines of some templates (None: of all) by family. Raises SinkBusy."""
    wanted = None if templates is None else tuple(sorted(templates))
    counted = index.reader.count_templates(only, wanted, deadline_passed=deadline_passed)
    numbers, is_known = index.templates.groups.by_keys(counted.keys)
    unknown = np.flatnonzero(~is_known)
    ids: dict[TemplateKey, TemplateId] = {}
    if len(unknown):
        ids = index.reader.template_ids(only, counted.keys[unknown], deadline_passed=deadline_passed)
        keys = counted.keys.tolist()
        named = [place for place in unknown.tolist() if keys[place] in ids]
        found = families_of(index, [ids[keys[place]] for place in named], deadline_passed)
        numbers[named], is_known[named] = found.numbers, found.is_known
    return FamilyCounts(index.templates.groups, counted, FoundFamilies(numbers, is_known, ids))


def families_of(index: Index, templates: Sequence[TemplateId], deadline_passed: OutOfTime) -> FoundFamilies:
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
    return FoundFamilies(numbers, is_known, {template_key(templates[place]): templates[place] for place in missing.tolist()})


def _read_groups(index: Index, templates: Sequence[TemplateId], deadline_passed: OutOfTime) -> dict[TemplateId, TemplateGroup]:
    """Return the groups of templates by what is stored of them."""
    groups = index.templates.groups_of(index.sink.templates.texts(templates))
    without_row = [template for template in templates if template not in groups]
    if not without_row:
        return groups
    lines = index.reader.newest_lines(without_row, 1, LineFilter(), deadline_passed=deadline_passed).lines
    return groups | groups_of_lines(index, [one for found in lines.values() for one in found])
