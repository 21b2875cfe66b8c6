"""What a hit says of its family: its id and name, and how many templates and lines it stands for under the filters.

Counting them is worth little of a search's time: it ends early, and what took long is not done again for a while. A family that could not
be counted exactly has no figures.
"""

from collections.abc import Callable, Sequence
from typing import Final

from sinks.sink import SinkBusy
from worker.asking.answers import FamilyFiguresJson, HitFamilyJson
from worker.querying.family_counts import FamilyCount, count_families
from worker.querying.family_listing import shown_group
from worker.querying.ranking import Index, groups_of_lines
from worker.querying.scope import MOST_MEMBERS, Scope
from worker.querying.search import Hit

LONGEST_S: Final = 0.5
"""How long counting may take."""
_REST: Final = 10
"""After counting took longer, it is left out for this many times as long as it took."""


class HitFamilies:
    """Counts the families of hits, as long as that is quick.

    Thread: one.
    """

    def __init__(self, index: Index, clock: Callable[[], float]) -> None:
        self._index = index
        self._clock = clock
        self._again_s = float("-inf")

    def shown(self, hits: Sequence[Hit], scope: Scope, stop_s: float) -> list[HitFamilyJson]:
        """Return for each hit what a reply says of its family; counting ends at `stop_s`."""
        groups = groups_of_lines(self._index, [hit.line for hit in hits])
        families = [groups[hit.line.template] for hit in hits]
        figures = self._figures(list(dict.fromkeys(group.family for group in families)), scope, stop_s)
        return [{**shown_group(group), **figures.get(group.family, FamilyFiguresJson())} for group in families]

    def _figures(self, families: Sequence[str], scope: Scope, stop_s: float) -> dict[str, FamilyFiguresJson]:
        started_s = self._clock()
        if not families or started_s < self._again_s or started_s >= stop_s:
            return {}
        try:
            figures = self._count(families, scope, min(stop_s, started_s + LONGEST_S))
        except SinkBusy:
            return {}
        took_s = self._clock() - started_s
        if took_s > LONGEST_S:
            self._again_s = self._clock() + _REST * took_s
        return figures

    def _count(self, families: Sequence[str], scope: Scope, stop_s: float) -> dict[str, FamilyFiguresJson]:
        def is_over() -> bool:
            return self._clock() >= stop_s

        # Of an index whose templates are not all known yet, one page is read; the next query reads on.
        members = self._index.templates.members(frozenset(families), lambda: True)
        templates = [one for one in members.templates if scope.templates is None or one in scope.templates]
        if not members.complete or not scope.complete or len(templates) > MOST_MEMBERS:
            return {}
        counted = count_families(self._index, scope.only, templates, is_over)
        if not counted.complete:
            return {}
        return {family: _figures(one) for family, one in counted.of(families).items()}


def _figures(one: FamilyCount) -> FamilyFiguresJson:
    return {"family_templates": one.templates, "family_lines": one.lines, "family_first": one.first_ms, "family_last": one.last_ms}
