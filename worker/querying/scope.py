"""Which lines a query is about: its filters, with families, wanted and excluded ones, resolved to their templates."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sinks.reading.line_filter import LineFilter
from sinks.row import TemplateId
from sinks.sink import BlockFilter
from worker.asking.filters import Filters
from worker.querying.query_words import words_of
from worker.querying.ranking import Index, OutOfTime

MOST_MEMBERS = 4_000
"""Templates of the families that one query names: each is part of what the sink is asked."""
MOST_EXCLUDED = 12_000
"""Most templates that a query may exclude without loss: as many more may have to be read to find the nearest of the others."""


class Scope(NamedTuple):
    """Lines that pass `only`, which knows the excluded templates, and are of one of `templates`.

    Thread: any.
    """

    only: LineFilter
    templates: frozenset[TemplateId] | None
    """None: of any."""
    complete: bool
    """False when not all templates of the filter's families are known, wanted or excluded."""


def scope_of(index: Index, filters: Filters, deadline_passed: OutOfTime) -> Scope:
    """Return which lines pass filters. Raises SinkBusy."""
    columns = filters.by_column()
    only = line_filter(filters)
    only = only._replace(keys=_keys_of(index, only.phrases, deadline_passed))
    templates = frozenset(map(TemplateId, columns["templates"])) or None
    unwanted, complete = _excluded(index, columns, deadline_passed)
    if families := frozenset(columns["families"]):
        found = index.templates.members(families, deadline_passed)
        members = [one for one in found.templates if (templates is None or one in templates) and one not in unwanted]
        templates = frozenset(members[:MOST_MEMBERS])
        complete = complete and found.complete and len(members) <= MOST_MEMBERS
    if templates is not None:
        return Scope(only, templates - unwanted, complete)
    return Scope(only._replace(not_templates=unwanted), None, complete)


def _excluded(index: Index, columns: Mapping[str, Sequence[str]], deadline_passed: OutOfTime) -> tuple[frozenset[TemplateId], bool]:
    """Return the templates that filters exclude, and whether they are complete and few enough that no other is missed."""
    unwanted = frozenset(map(TemplateId, columns["not_templates"]))
    if not (families := frozenset(columns["not_families"])):
        return unwanted, True
    found = index.templates.members(families, deadline_passed)
    unwanted = unwanted.union(found.templates)
    return unwanted, found.complete and len(unwanted) <= MOST_EXCLUDED


def _keys_of(index: Index, phrases: Sequence[Sequence[str]], deadline_passed: OutOfTime) -> tuple[int, ...]:
    """Return the words of every block that has a line with these phrases: those of identifiers that no template holds.

    At an end of a phrase a longer word may stand in the line, with other words in its block (`web-1` in `web-1.example.org`): so of several
    words only the inner ones are sure. Of a single one the blocks that have it whole come first, and where there are none all are read.
    """
    keys: set[int] = set()
    for phrase in (phrase for phrase, *others in phrases if not others):
        first, *others = phrase.split()
        for identifier in words_of(" ".join(others[:-1]) if others else first).identifiers:
            held = index.templates.holding(identifier, deadline_passed)
            keys.update(identifier.keys if held.complete and not held.hits else ())
    found = tuple(sorted(keys))
    return found if found and index.sink.find_blocks(BlockFilter(words=found), limit=1).heads.size else ()


def line_filter(filters: Filters) -> LineFilter:
    """Return filters as a reader takes them, but for templates and families, which it gets apart."""
    columns: dict[str, Any] = {name: of for name, of in filters.by_column().items() if not name.endswith(("templates", "families"))}
    return LineFilter(filters.since_ms, filters.until_ms, **columns)
