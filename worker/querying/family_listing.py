"""Listings of families: what `as: templates` asks for, most frequent first, or the best for a text first.

The answer step calls it, and `vectail templates` where it may read the index itself. Listed one by one (`expand`), templates come from
`worker.querying.template_listing`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, cast

from sinks.line import Line
from sinks.row import TemplateId, TemplateText
from worker.asking.answers import FamilyJson, GroupJson, TemplatesJson
from worker.querying.answer_documents import say_closeness, shown_example, shown_fit
from worker.querying.family_counts import FamilyCount, count_families
from worker.querying.ranking import Index, OutOfTime, RankedTemplate, SearchBounds, by_family, groups_of_lines
from worker.querying.scope import MOST_MEMBERS, Scope, scope_of
from worker.querying.search import PER_TEMPLATE, PreparedQuery, rank, similarities_of
from worker.querying.similarity import Fit
from worker.querying.template_groups import TemplateGroup
from worker.querying.template_index import Members


class FamilySummary(NamedTuple):
    """A family with what its lines under the filters say."""

    counted: FamilyCount
    text: str
    """Of its most frequent template."""
    example: Line | None
    """Its newest line under the filters; None when it was removed meanwhile."""
    fit: Fit | None
    """How well it fits the text that was asked for."""


class FamilyListing(NamedTuple):
    """The answer. Where it is not complete, counts are at least as high as it says."""

    families: list[FamilySummary]
    complete: bool
    """False when a bound or the deadline cut it short."""


def find_families(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime) -> FamilyListing:
    """Return the `k` first families under the query's filters; without a text the most frequent. Raises SinkBusy."""
    query = sought.query
    scope = scope_of(index, query.filters, deadline_passed)
    fits: dict[str, Fit | None] = {}
    if query.text is None:
        counted = count_families(index, scope.only, scope.templates, deadline_passed)
        counts = counted.top(query.k)
        complete = counted.complete and scope.complete
    else:
        bounds = SearchBounds(query.k, PER_TEMPLATE, scope.only, deadline_passed, scope.templates, per_family=1)
        ranking = rank(index, sought, bounds)
        best = dict(list(by_family(ranking.templates).items())[: query.k])
        counted = count_families(index, scope.only, _members(index, scope, best, deadline_passed), deadline_passed)
        of_best = counted.of(best)
        groups = groups_of_lines(index, [ranked[0].lines[0] for ranked in best.values()])
        counts = [of_best.get(family) or _at_least(groups[ranked[0].template], ranked) for family, ranked in best.items()]
        complete = counted.complete and ranking.complete and scope.complete
        similarities = similarities_of(index, sought, ranking)
        similarities.read(ranked[0] for ranked in best.values())
        fits = {family: similarities.fit_of(ranked[0]) for family, ranked in best.items()}
    examples: dict[TemplateId, list[Line]] = {}
    if counts and not deadline_passed():
        examples = index.reader.newest_lines([one.newest for one in counts], 1, scope.only, deadline_passed=deadline_passed).lines
    texts = index.sink.templates.texts([one.frequent for one in counts]) if counts else {}
    families = [_summary(one, texts, examples, fits) for one in counts]
    return FamilyListing(families, complete=complete and not deadline_passed())


def families_document(listing: FamilyListing) -> TemplatesJson:
    """Return the answer as a reply holds it."""
    answer: TemplatesJson = {"templates": [_shown(family) for family in listing.families], "complete": listing.complete}
    say_closeness(answer, [family.fit for family in listing.families])
    return answer


def shown_group(group: TemplateGroup) -> GroupJson:
    """Return how a reply names a group."""
    return {"family": group.family} if group.name is None else {"family": group.family, "name": group.name}


def _members(
    index: Index, scope: Scope, best: Mapping[str, Sequence[RankedTemplate]], deadline_passed: OutOfTime
) -> Collection[TemplateId] | None:
    """Return the templates of the best families; all that the filters admit where those are too many, or not all known."""
    found = index.templates.members(frozenset(best), deadline_passed) if best else Members([], complete=True)
    ranked = {one.template for templates in best.values() for one in templates}
    members = ranked.union(one for one in found.templates if scope.templates is None or one in scope.templates)
    return members if found.complete and len(members) <= MOST_MEMBERS else scope.templates


def _at_least(group: TemplateGroup, ranked: Sequence[RankedTemplate]) -> FamilyCount:
    """Return the count of a family that counting did not reach: it has at least the lines that the search has seen."""
    lines: Collection[Line] = [line for template in ranked for line in template.lines]
    times = [line.time for line in lines]
    best = ranked[0].template
    return FamilyCount(group, len(ranked), len(lines), min(times), max(times), best, best)


def _summary(
    count: FamilyCount, texts: Mapping[TemplateId, TemplateText], examples: Mapping[TemplateId, list[Line]], fits: Mapping[str, Fit | None]
) -> FamilySummary:
    example = next(iter(examples.get(count.newest, ())), None)
    text = texts.get(count.frequent, "" if example is None else example.template_text)
    return FamilySummary(count, text, example, fits.get(count.group.family))


def _shown(family: FamilySummary) -> FamilyJson:
    counted = family.counted
    fields = {
        **shown_group(counted.group),
        "text": family.text,
        "templates": counted.templates,
        "lines": counted.lines,
        "first": counted.first_ms,
        "last": counted.last_ms,
        **shown_example(family.example),
        **shown_fit(family.fit),
    }
    return cast("FamilyJson", fields)  # mypy merges no TypedDict into one that has more
