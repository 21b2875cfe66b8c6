"""Counts by family, alone or together with another grouping: counts by template, summed up.

`worker.querying.counts` calls it. The largest groups are chosen after they were summed up. Buckets of time are counted only for the
families that are chosen, because every template may be in every bucket.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sinks.reading.counting import CountQuery, CountRow
from sinks.row import TemplateId
from worker.querying.family_counts import FamilyCounts, FoundFamilies, count_families, families_of
from worker.querying.ranking import Index, OutOfTime
from worker.querying.scope import MOST_MEMBERS

_Key = tuple[int | str, ...]


class CountsByFamily(NamedTuple):
    """The answer.

    Thread: any.
    """

    rows: list[CountRow]
    """By time, if that is asked for, then those with the most lines first, then by key."""
    frequent: dict[str, TemplateId]
    """Of each family, the template that has the most lines under the filters."""
    names: dict[str, str]
    """What users call families, by their ids."""
    complete: bool
    """False when a bound or the deadline cut it short."""


def count_by_family(index: Index, query: CountQuery, deadline_passed: OutOfTime) -> CountsByFamily:
    """Count as `query` says, whose `by` has "family". Raises SinkBusy."""
    totals = count_families(index, query.only, query.templates, deadline_passed)
    complete = totals.complete
    if query.by == ("family",):
        rows = [CountRow((one.group.family,), one.lines, one.first_ms, one.last_ms) for one in totals.top(query.top)]
    else:
        by = tuple(dict.fromkeys("template" if name == "family" else name for name in query.by))
        templates = _templates_of_top(totals, query) if "time" in query.by else query.templates
        counted = index.reader.count(query._replace(by=by, templates=templates, top=None), deadline_passed=deadline_passed)
        place = by.index("template")
        found = families_of(index, [TemplateId(str(row.key[place])) for row in counted.rows], deadline_passed)
        rows = _top(_summed(counted.rows, by, query.by, found), query)
        complete = complete and counted.complete and bool(found.is_known.all())
    counts = totals.of({str(row.key[query.by.index("family")]) for row in rows})
    names = {family: one.group.name for family, one in counts.items() if one.group.name is not None}
    return CountsByFamily(rows, {family: one.frequent for family, one in counts.items()}, names, complete)


def _templates_of_top(totals: FamilyCounts, query: CountQuery) -> tuple[TemplateId, ...] | None:
    """Return the templates of the families with the most lines; those of the query where they are too many to be asked for."""
    templates = totals.templates_of(one.group.family for one in totals.top(query.top))
    return tuple(sorted(templates)) if len(templates) <= MOST_MEMBERS else query.templates


def _summed(rows: Sequence[CountRow], counted_by: Sequence[str], by: Sequence[str], found: FoundFamilies) -> list[CountRow]:
    """Return counts by template as counts by family; those of a template whose family is not known are left out."""
    summed: dict[_Key, CountRow] = {}
    for row, number, is_known in zip(rows, found.numbers.tolist(), found.is_known.tolist(), strict=True):
        if is_known:
            values: dict[str, int | str] = dict(zip(counted_by, row.key, strict=True)) | {"family": f"{number:016x}"}
            key = tuple(values[name] for name in by)
            other = summed.get(key)
            summed[key] = CountRow(key, row.lines, row.first_ms, row.last_ms) if other is None else _joined(other, row)
    return list(summed.values())


def _joined(one: CountRow, other: CountRow) -> CountRow:
    return CountRow(one.key, one.lines + other.lines, min(one.first_ms, other.first_ms), max(one.last_ms, other.last_ms))


def _top(rows: Sequence[CountRow], query: CountQuery) -> list[CountRow]:
    """Return the rows in the order of an answer, those of the `top` groups with the most lines; buckets of time are no groups."""
    others = [place for place, name in enumerate(query.by) if name != "time"]
    times = [place for place, name in enumerate(query.by) if name == "time"]
    lines: dict[_Key, int] = {}
    for row in rows:
        group = tuple(row.key[place] for place in others)
        lines[group] = lines.get(group, 0) + row.lines
    kept = set(sorted(lines, key=lambda group: (-lines[group], group))[: query.top])
    shown = [row for row in rows if tuple(row.key[place] for place in others) in kept]
    return sorted(shown, key=lambda row: (tuple(row.key[place] for place in times), -row.lines, row.key))
