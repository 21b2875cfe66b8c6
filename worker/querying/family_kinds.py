"""What a search shows: kinds of ranked families, each with how well it fits and which other families it stands for.

`search` and `counts` call it, so that counts are of what a search shows. Where several of the ranked families are of one kind, more are
ranked until there are as many kinds as are wanted. A family that is near, but was not ranked, stands behind its kind too; it is taken to
have a line, as in `worker.querying.hybrid`, and where a filter is on lines it is left out.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from sinks.row import TemplateId
from sinks.sink import TemplateHit
from worker.asking.answers import AlikeJson
from worker.querying.dense import MOST_NEAR, MOST_TEMPLATES
from worker.querying.kinds import Kind, kinds_of
from worker.querying.ranking import Index, RankedTemplate, Ranking, SearchBounds, by_family
from worker.querying.similarity import Fit, Similarities

_GROWTH: Final = 4
_MOST_ALIKE: Final = 64
_WORD_CHARACTERS: Final = 100
"""Shown of a word: a thousand families may stand in one reply."""
_NO_TEXT: Final = ""
"""Is of no kind but its own."""


class AlikeFamily(NamedTuple):
    """A family that stands behind another one.

    Thread: any.
    """

    family: str
    template: TemplateId
    """Its best one."""
    word: str
    """In which it differs."""
    fit: Fit | None


class FamilyKind(NamedTuple):
    """A hit: a family, and those that differ in one word.

    Thread: any.
    """

    templates: list[RankedTemplate]
    """Of the best family, best first, each with lines."""
    fit: Fit | None
    alike: list[AlikeFamily]

    @property
    def families(self) -> list[str]:
        """The ids of all of its families."""
        return [self.templates[0].family, *(one.family for one in self.alike)]


def shown_alike_families(alike: Sequence[AlikeFamily]) -> list[AlikeJson]:
    """Return how a reply names the families behind another one."""
    return [{"family": one.family, "word": one.word[:_WORD_CHARACTERS]} for one in alike[:_MOST_ALIKE]]


class KindsFound(NamedTuple):
    """Kinds, best first.

    Thread: any.
    """

    kinds: list[FamilyKind]
    complete: bool
    similarities: Similarities

    def counted(self, most: int) -> list[FamilyKind]:
        """Return those of the first kinds that are near enough to be counted, each with those of its other families that are.

        The first family of a kind counts with any of the others.
        """
        kinds = self.kinds[:most]
        fits = [fit for kind in kinds for fit in (kind.fit, *(one.fit for one in kind.alike))]
        is_counted = iter(self.similarities.are_counted(fits))
        chosen = [(kind, next(is_counted), [one for one in kind.alike if next(is_counted)]) for kind in kinds]
        return [kind._replace(alike=alike) for kind, is_first, alike in chosen if is_first or alike]


class _Family(NamedTuple):
    """A family to be grouped by the text of its best template."""

    best: RankedTemplate
    text: str


def find_kinds(
    index: Index, rank: Callable[[SearchBounds], Ranking], bounds: SearchBounds, near: Sequence[TemplateHit], similarities: Similarities
) -> KindsFound:
    """Rank until there are enough kinds; `near` are the nearest templates, if they are known. Raises SinkBusy.

    Where the lines of a family have no bound, every template stands for itself.
    """
    wanted, found = bounds, KindsFound([], True, similarities)  # noqa: FBT003 - complete
    while True:
        ranking = rank(wanted)
        if bounds.per_family is None:
            similarities.read(ranking.templates)
            kinds = [FamilyKind([one], similarities.fit_of(one), []) for one in ranking.templates]
            return KindsFound(kinds, ranking.complete, similarities)
        kinds = _grouped(index, ranking, bounds, near, similarities)
        if len(kinds) < len(found.kinds):  # time was up before the ranking was as long as the last one
            return found._replace(complete=False)
        found = KindsFound(kinds, ranking.complete, similarities)
        is_enough = bounds.is_met_by(one for kind in kinds for one in kind.templates)
        if is_enough or not wanted.is_met_by(ranking.templates) or wanted.k >= MOST_NEAR or bounds.deadline_passed():
            return found
        wanted = wanted._replace(k=min(max(_GROWTH * wanted.k, MOST_TEMPLATES), MOST_NEAR))


def _grouped(
    index: Index, ranking: Ranking, bounds: SearchBounds, near: Sequence[TemplateHit], similarities: Similarities
) -> list[FamilyKind]:
    """Group ranked families together with others that are near."""
    ranked = by_family(ranking.templates)
    families = [_Family(members[0], members[0].lines[0].template_text) for members in ranked.values()]
    if not bounds.only.is_on_lines:
        families += _others(index, near, ranked.keys(), bounds)
    kinds = kinds_of([_NO_TEXT if _is_named(index, one) else one.text for one in families])
    shown = [kind for kind in kinds if kind.first < len(ranked)]
    similarities.read(families[at].best for kind in shown for at in (kind.first, *(other for other, _ in kind.others)))
    return [_shown(kind, families, ranked[families[kind.first].best.family], similarities) for kind in shown]


def _shown(kind: Kind, families: Sequence[_Family], members: list[RankedTemplate], similarities: Similarities) -> FamilyKind:
    alike = [(families[at], word) for at, word in kind.others]
    return FamilyKind(
        members,
        similarities.fit_of(members[0]),
        [AlikeFamily(one.best.family, one.best.template, word, similarities.fit_of(one.best, one.text)) for one, word in alike],
    )


def _others(index: Index, near: Sequence[TemplateHit], ranked: Collection[str], bounds: SearchBounds) -> list[_Family]:
    """Return the families of near templates that were not ranked, nearest first."""
    groups = index.templates.groups_of({hit.template: hit.text for hit in near if hit.text and bounds.admits(hit.template)})
    others: dict[str, _Family] = {}
    for hit in near:
        if (group := groups.get(hit.template)) is not None and group.family not in ranked:
            others.setdefault(group.family, _Family(RankedTemplate(hit.template, hit.score, [], group.family), hit.text))
    return list(others.values())


def _is_named(index: Index, one: _Family) -> bool:
    """Whether a user named a family: it stands for itself."""
    return index.templates.groups.group_of(int(one.best.family, 16)).name is not None
