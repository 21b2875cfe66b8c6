"""Counts: what `as: counts` asks for, how many lines there are under the filters, by time, template, family, service, level, topic, fields.

The answer step calls it. The reader counts; here the question is made ready for it: which templates a text means, how wide a bucket is;
and counts by family are summed up from those by template. Grouped by one of the two, chunks of long lines count one by one; otherwise
lines are counted.
"""

from typing import Any, NamedTuple

from consumers.decode.kafka_times import is_far
from consumers.decode.line_zones import DAY_MS
from sinks.reading.counting import CountQuery, CountRow
from sinks.reading.tally import FIELD, FIELD_NAMES
from worker.asking.question import GROUPINGS, Grouping, Query
from worker.asking.refusals import BadQuery
from worker.querying.count_by_family import count_by_family
from worker.querying.form import Answer, Form, Sources, refuse_set
from worker.querying.ranking import Index, OutOfTime, SearchBounds
from worker.querying.scope import scope_of
from worker.querying.search import PreparedQuery, rank

MOST_TEMPLATES = 64
"""Of the templates that fit a text, these many are counted."""
TOP = 20
"""Groups in an answer, if the query does not say."""
BUCKETS = 60
"""Of time, if the query does not say."""
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, DAY_MS
WIDTHS_MS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(_SECOND * number for number in (1, 2, 5, 10, 15, 30)),
    *(_MINUTE * number for number in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * number for number in (1, 2, 3, 6, 12)),
    *(_DAY * number for number in (1, 2, 7, 14, 28)),
)
"""Widths of buckets; above them, powers of two times the widest."""


class CountListing(NamedTuple):
    """The answer. Where it is not complete, there are at least as many lines as it says."""

    by: tuple[Grouping, ...]
    rows: list[CountRow]
    """By time, if that is asked for, else those with the most lines first."""
    texts: dict[str, str]
    """Of the templates in it by their ids, and of the most frequent template of each family by the family's."""
    names: dict[str, str]
    """What users call templates and families, by their ids."""
    bucket_ms: int | None
    """Width of a bucket; each begins at a multiple of it since 1970."""
    complete: bool
    """False when a bound or the deadline cut it short."""


def find_counts(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime, *, now_ms: float) -> CountListing:
    """Count the lines under the query's filters; with a text, those of the templates that fit it best. Raises SinkBusy."""
    query = sought.query
    by = _groups_of(query)
    scope = scope_of(index, query.filters, deadline_passed)
    templates = None if scope.templates is None else tuple(sorted(scope.templates))
    complete = scope.complete
    if query.text is not None:
        ranking = rank(index, sought, SearchBounds(MOST_TEMPLATES, 1, scope.only, deadline_passed, scope.templates))
        templates = tuple(template.template for template in ranking.templates[:MOST_TEMPLATES])
        complete = complete and (ranking.complete or len(ranking.templates) >= MOST_TEMPLATES)
    wanted = CountQuery(scope.only, templates=templates)
    bucket_ms = None
    if "time" in by:
        total = index.reader.count(wanted, deadline_passed=deadline_passed)
        if not total.rows:
            return CountListing(by, [], {}, {}, None, complete and total.complete)
        since_ms, until_ms = _window_ms(query, _likely(index, wanted, total.rows[0], deadline_passed, now_ms), now_ms)
        bucket_ms = width_ms(since_ms, until_ms, query.buckets or BUCKETS)
        wanted = wanted._replace(bucketed_ms=(since_ms, until_ms - 1))
    wanted = wanted._replace(by=by, bucket_ms=bucket_ms, top=query.top or TOP)
    if "family" in by:
        found = count_by_family(index, wanted, deadline_passed)
        texts = index.sink.templates.texts(set(found.frequent.values())) if found.rows else {}
        shown = {family: texts.get(template, "") for family, template in found.frequent.items()} | texts
        return CountListing(by, found.rows, shown, found.names, bucket_ms, complete and found.complete)
    counted = index.reader.count(wanted, deadline_passed=deadline_passed)
    texts = {}
    if "template" in by and counted.rows:
        texts = index.sink.templates.texts({str(row.key[by.index("template")]) for row in counted.rows})
    groups = index.templates.groups_of(texts)
    names = {template: group.name for template, group in groups.items() if group.name is not None}
    return CountListing(by, counted.rows, texts, names, bucket_ms, complete and counted.complete)


def counts_document(listing: CountListing) -> dict[str, Any]:
    """Return the answer as a reply holds it."""
    width = {} if listing.bucket_ms is None else {"bucket_ms": listing.bucket_ms}
    return {"counts": [_shown(listing, row) for row in listing.rows], "by": list(listing.by), **width, "complete": listing.complete}


def width_ms(since_ms: int, until_ms: int, buckets: int) -> int:
    """Return the smallest round width with which at most `buckets` (2 or more) buckets touch `since_ms` ≤ time < `until_ms`.

    A bucket begins at a multiple of its width, so two may be needed however wide they are.
    """
    width = next((one for one in WIDTHS_MS if (until_ms - 1) // one - since_ms // one < buckets), WIDTHS_MS[-1])
    while (until_ms - 1) // width - since_ms // width >= buckets:
        width *= 2
    return width


def _groups_of(query: Query) -> tuple[Grouping, ...]:
    """Return what is grouped by, time first."""
    by = query.by or (["template"] if query.buckets is None else ["time"])
    return (*(name for name in GROUPINGS if name in by), *(name for name in by if name not in GROUPINGS))


def _likely(index: Index, wanted: CountQuery, total: CountRow, deadline_passed: OutOfTime, now_ms: float) -> CountRow:
    """Return the lines of times that can be true; all of them if there are no such. Few with another time would make one bucket of all."""
    if not (is_far(total.first_ms, now_ms) or is_far(total.last_ms, now_ms)):
        return total
    since_ms, until_ms = wanted.only.since_ms, wanted.only.until_ms
    end_ms = int(now_ms) + DAY_MS
    only = wanted.only._replace(since_ms=max(since_ms or 0, 0), until_ms=end_ms if until_ms is None else min(until_ms, end_ms))
    rows = index.reader.count(wanted._replace(only=only), deadline_passed=deadline_passed).rows
    return rows[0] if rows else total


def _window_ms(query: Query, total: CountRow, now_ms: float) -> tuple[int, int]:
    """Return the window that buckets cut: the filter's; where that is open, or further than any line can be, as far as there are lines."""
    since_ms, until_ms = query.filters.since_ms, query.filters.until_ms
    first_ms = total.first_ms if since_ms is None or is_far(since_ms, now_ms) else since_ms
    end_ms = total.last_ms + 1 if until_ms is None or is_far(until_ms, now_ms) else until_ms
    return first_ms, end_ms


def _shown(listing: CountListing, row: CountRow) -> dict[str, Any]:
    shown: dict[str, Any] = dict(zip(listing.by, row.key, strict=True))
    ids = [shown[name] for name in ("template", "family") if name in shown]
    if ids:
        shown["text"] = listing.texts.get(ids[0], "")
        if name := next((listing.names[one] for one in ids if one in listing.names), None):
            shown["name"] = name
    return shown | {"lines": row.lines, "first": row.first_ms, "last": row.last_ms}


def _check(query: Query) -> None:
    by = query.by
    if by is None:
        return
    if len(set(by)) < len(by):
        raise BadQuery("by", "names the same twice")
    if FIELD_NAMES in by and len(by) > 1:
        raise BadQuery("by", f"{FIELD_NAMES} stands alone: it counts names of fields; give {FIELD}NAME to count by values")
    if "time" not in by:
        refuse_set("needs time among by", buckets=query.buckets)


def _open(sources: Sources) -> Answer:
    def answer(sought: PreparedQuery, deadline_passed: OutOfTime, _stop_s: float) -> dict[str, Any]:
        return counts_document(find_counts(sources.index, sought, deadline_passed, now_ms=sources.wall_ms()))

    return answer


COUNTS = Form(
    "counts",
    _open,
    takes=("by", "buckets", "top"),
    check=_check,
    path="/api/counts",
    schema="Counts",
    summary="Count lines by time, template, family, label or field",
)
