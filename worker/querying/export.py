"""Exports: every line that passes, in the order of time, a stretch in each answer.

The answer step calls it. An answer says how far it reaches and holds the question for what follows (`next`), in which open ends are
resolved and a text is replaced by the templates that it meant: so all answers are of one set of lines, however the index grows.
"""

from typing import Final

import numpy as np

from sinks.block import BlockPlace
from sinks.reading.line_filter import LineFilter
from sinks.reading.line_places import PLACE_PATTERN, LinePlace, parse_place
from sinks.reading.ordered import OrderedLines, Reach
from sinks.reading.selecting import Selection
from sinks.row import TemplateId
from worker.asking.answers import ExportedJson
from worker.asking.filters import FILTERS
from worker.asking.moments import MOST_MS
from worker.asking.question import Query
from worker.asking.refusals import BadQuery
from worker.querying.counted_kinds import meant_lines
from worker.querying.form import Answer, Form, Sources
from worker.querying.query_words import with_all, words_of
from worker.querying.ranking import Index, OutOfTime
from worker.querying.scope import Scope, scope_of
from worker.querying.search import PreparedQuery
from worker.querying.whole_lines import MOST_LINES_BYTES, ShownLine, shown_lines

LINES: Final = 1_000
"""How many lines come at most, if the query does not say."""


def export_lines(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime) -> ExportedJson:
    """Return the next lines, how far they reach, and how to go on, as a reply holds it. Raises SinkBusy."""
    query = sought.query
    scope = scope_of(index, query.filters, deadline_passed)
    selection, complete = selected(index, sought, scope, deadline_passed)
    start_ms, end_ms = _ends(index, selection, deadline_passed)
    start = Reach(start_ms, None if query.after is None else parse_place(query.after))
    found = index.reader.lines_in_order(selection, start, end_ms, query.most_lines(LINES), deadline_passed=deadline_passed)
    lines, reach = _cut(found)
    is_over = reach.time_ms >= end_ms
    return {
        "lines": [line.document for line in lines],
        "until_ms": reach.time_ms,
        "end_ms": end_ms,
        "next": None if is_over else _next(query, selection, reach, end_ms),
        "complete": complete and found.complete,
    }


def selected(index: Index, sought: PreparedQuery, scope: Scope, deadline_passed: OutOfTime) -> tuple[Selection, bool]:
    """Return which lines a query means, and whether all that decides it was read: those that it filters; with a text, what fits it.

    Of a text of identifiers, the lines that have all of them; of any other, the lines of the templates that counts would count.
    """
    text = sought.query.text
    if text is None:
        return Selection(scope.only, scope.templates), scope.complete
    if sought.vector is None and sought.is_exact:
        words, complete = words_of(text), scope.complete
        holding: set[TemplateId] = set()
        for identifier in words.identifiers:
            held = index.templates.holding(identifier, deadline_passed)
            holding.update(hit.template for hit in held.hits)
            complete = complete and held.complete
        keys = tuple(sorted({key for identifier in words.identifiers for key in identifier.keys}))
        return Selection(scope.only, scope.templates, with_all(words.identifiers), keys, frozenset(holding)), complete
    meant = meant_lines(index, sought, scope, scope.only, deadline_passed)
    return Selection(scope.only, meant.templates), meant.complete


def _ends(index: Index, selection: Selection, deadline_passed: OutOfTime) -> tuple[int, int]:
    """Return the window: the filters'; where that is open, as far as there are lines of times that a query may name."""
    only: LineFilter = selection.only
    if only.since_ms is not None and only.until_ms is not None:
        return only.since_ms, max(only.until_ms, only.since_ms)
    span = index.reader.span_of(selection, deadline_passed=deadline_passed)
    if span is None:
        end_ms = next((end for end in (only.until_ms, only.since_ms) if end is not None), 0)
        return end_ms, end_ms
    first_ms, end_ms = (min(max(one, -MOST_MS), MOST_MS) for one in span)
    return (first_ms if only.since_ms is None else only.since_ms), (end_ms if only.until_ms is None else only.until_ms)


def _cut(found: OrderedLines) -> tuple[list[ShownLine], Reach]:
    """Keep as many lines as fit in an answer: up to the end of a millisecond, or else a part of the first one."""
    shown = shown_lines(found.lines)
    fitting = int(np.searchsorted(np.cumsum([one.size_bytes for one in shown]), MOST_LINES_BYTES, side="right"))
    if fitting == len(shown):
        return shown, found.reach
    whole = next((at for at in range(fitting, 0, -1) if shown[at].last.time > shown[at - 1].last.time), 0)
    if whole:
        return shown[:whole], Reach(shown[whole].last.time)
    last = shown[fitting - 1].last
    place = LinePlace(BlockPlace(last.topic, last.epoch, last.partition), last.offset, last.sub, last.chunk)
    return shown[:fitting], Reach(last.time, place)


def _next(query: Query, selection: Selection, reach: Reach, end_ms: int) -> dict[str, object]:
    """Return the question for the lines that follow."""
    asked = query.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"after", "filters"}) | {"as": "export"}
    filters = query.filters.model_dump(mode="json", exclude_unset=True) | {"since_ms": reach.time_ms, "until_ms": end_ms}
    if query.text is not None and selection.is_match is None and selection.templates is not None:
        asked = {name: value for name, value in asked.items() if name not in ("text", "mode")}
        named = [name for name, of in FILTERS.items() if of.names_templates]
        filters = {name: value for name, value in filters.items() if name not in named} | {"template": sorted(selection.templates)}
    return asked | {"filters": filters} | ({} if reach.after is None else {"after": str(reach.after)})


def _check(query: Query) -> None:
    if query.after is None:
        return
    if PLACE_PATTERN.fullmatch(query.after) is None:
        raise BadQuery("after", "give what the last answer said")
    if query.filters.since_ms is None:
        raise BadQuery("filters.since_ms", "is needed beside after: give what the last answer said")


def _open(sources: Sources) -> Answer:
    def answer(sought: PreparedQuery, deadline_passed: OutOfTime, _stop_s: float) -> ExportedJson:
        return export_lines(sources.index, sought, deadline_passed)

    return answer


EXPORT = Form("export", _open, takes=("after",), check=_check, says_reach=False)
