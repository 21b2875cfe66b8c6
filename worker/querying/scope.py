"""Which lines a query is about: its filters, with families resolved to their templates."""

from typing import NamedTuple

from sinks.reading.filters import LineFilter
from worker.query import Filters
from worker.querying.ranking import Index, OutOfTime

MOST_MEMBERS = 4_000
"""Templates of the families that one query names: each is part of what the sink is asked."""


class Scope(NamedTuple):
    """Lines that pass `only` and are of one of `templates`.

    Thread: any.
    """

    only: LineFilter
    templates: frozenset[str] | None
    """Ids; None: of any."""
    complete: bool
    """False when not all templates of the filter's families are known."""


def scope_of(index: Index, filters: Filters, deadline_passed: OutOfTime) -> Scope:
    """Return which lines pass filters. Raises SinkBusy."""
    only = filters.as_line_filter()
    templates = frozenset(filters.template) if filters.template else None
    if not filters.family:
        return Scope(only, templates, complete=True)
    found = index.templates.members(frozenset(filters.family), deadline_passed)
    members = [template for template in found.templates if templates is None or template in templates]
    return Scope(only, frozenset(members[:MOST_MEMBERS]), found.complete and len(members) <= MOST_MEMBERS)
