"""Counts: what `as: counts` asks for, how many lines there are under the filters, by time, template, family, service, level, topic, fields.

The answer step calls it. The reader counts; here the question is made ready for it: which templates a text means, how wide a bucket is;
and counts by family are summed up from those by template. Grouped by one of the two, chunks of long lines count one by one; otherwise
lines are counted.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from consumers.decode.kafka_times import is_far
from consumers.decode.line_zones import DAY_MS
from sinks.reading.counting import CountQuery, CountRow
from sinks.reading.field_figures import FieldFigures
from sinks.reading.group_names import FIELD, FIELD_NAMES
from sinks.reading.line_filter import LineFilter
from sinks.reading.reader import BlockReader
from sinks.row import TemplateId
from worker.asking.answers import CountedAnswerJson, CountedJson, CountsJson, FieldStatisticsJson, NumbersJson, OneCountJson
from worker.asking.question import GROUPINGS, Grouping, Query
from worker.asking.refusals import BadQuery
from worker.querying.count_by_family import count_by_family
from worker.querying.counted_kinds import MeantLines, meant_lines, say_meant
from worker.querying.form import Answer, Form, Sources, refuse_set
from worker.querying.ranking import Index, OutOfTime
from worker.querying.scope import Scope, line_filter, scope_of
from worker.querying.search import PreparedQuery

TOP = 20
"""Groups in an answer, if the query does not say."""
BUCKETS = 60
"""Of time, if the query does not say."""
_NO_FACETS: Final = ("time", "template", "family", FIELD_NAMES)
"""What has no filters that a facet could leave out."""
_NO_LINES: Final = CountRow((), 0, 0, 0)
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
    figures: FieldFigures | None = None
    """Of the field, where it is one field and nothing else that is counted by."""


class Counted(NamedTuple):
    """The counts of one question."""

    listings: list[CountListing]
    """One for each grouping."""
    meant: MeantLines | None
    """What its text means."""


def find_counts(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime, *, now_ms: float) -> Counted:
    """Count the lines under the query's filters, once for each grouping; with a text, those that it means.

    All counts are of one snapshot of the index. Raises SinkBusy.
    """
    scope = scope_of(index, sought.query.filters, deadline_passed)
    meant = None if sought.query.text is None else meant_lines(index, sought, scope, scope.only, deadline_passed)
    lines = _lines_of(scope, meant)

    def count_all(reader: BlockReader) -> list[CountListing]:
        counting = _Counting(index._replace(reader=reader), sought.query, lines, deadline_passed, now_ms)
        return [counting.by(_in_order(groups)) for groups in sought.query.groupings]

    return Counted(index.reader.over_one_snapshot(count_all, deadline_passed=deadline_passed), meant)


class _Wanted(NamedTuple):
    """Which lines are counted."""

    only: LineFilter
    templates: tuple[TemplateId, ...] | None
    complete: bool


def _lines_of(scope: Scope, meant: MeantLines | None) -> _Wanted:
    if meant is None:
        return _Wanted(scope.only, None if scope.templates is None else tuple(sorted(scope.templates)), scope.complete)
    return _Wanted(scope.only, tuple(sorted(meant.templates)), meant.complete)


class _Counting:
    """Counts the same lines by one grouping after another.

    Thread: one.
    """

    def __init__(self, index: Index, query: Query, lines: _Wanted, deadline_passed: OutOfTime, now_ms: float) -> None:
        self._index = index
        self._query = query
        self._lines = lines
        self._deadline_passed = deadline_passed
        self._now_ms = now_ms
        self._window: tuple[int, int] | None = None
        """The one that buckets cut, once it is known."""

    def by(self, by: tuple[Grouping, ...]) -> CountListing:
        """Count by one grouping."""
        index, (only, templates, is_all) = self._index, self._lines
        wanted = CountQuery(only, templates, by, top=self._query.top or TOP)
        if self._query.facets and (name := by[0]) not in _NO_FACETS and len(by) == 1:
            not_templates = only.not_templates
            wanted = wanted._replace(only=line_filter(self._query.filters.without(name))._replace(not_templates=not_templates))
        if "time" in by:
            self._window = window = self._window or self._window_ms(CountQuery(only, templates))
            bucket_ms = width_ms(*window, self._query.buckets or BUCKETS)
            wanted = wanted._replace(bucket_ms=bucket_ms, bucketed_ms=(window[0], window[1] - 1))
        if "family" in by:
            found = count_by_family(index, wanted, self._deadline_passed)
            texts = index.sink.templates.texts(set(found.frequent.values())) if found.rows else {}
            shown = {family: texts.get(template, "") for family, template in found.frequent.items()} | dict[str, str](texts.items())
            return _listing(wanted, found.rows, shown, found.names, complete=is_all and found.complete)
        counted = index.reader.count(wanted, deadline_passed=self._deadline_passed)
        texts = {}
        if "template" in by and counted.rows:
            texts = index.sink.templates.texts({TemplateId(str(row.key[by.index("template")])) for row in counted.rows})
        groups = index.templates.groups_of(texts)
        names: dict[str, str] = {template: group.name for template, group in groups.items() if group.name is not None}
        listing = _listing(wanted, counted.rows, dict(texts.items()), names, complete=is_all and counted.complete)
        return listing._replace(figures=counted.figures)

    def _window_ms(self, wanted: CountQuery) -> tuple[int, int]:
        """Return the window that buckets cut: the filter's; where that is open, or cannot be true, as far as there are lines."""
        since_ms, until_ms = map(self._if_likely, (wanted.only.since_ms, wanted.only.until_ms))
        if since_ms is None or until_ms is None:
            lines = self._likely(wanted)
            since_ms = lines.first_ms if since_ms is None else since_ms
            until_ms = lines.last_ms + 1 if until_ms is None else until_ms
        return since_ms, max(until_ms, since_ms + 1)

    def _if_likely(self, time_ms: int | None) -> int | None:
        return None if time_ms is None or is_far(time_ms, self._now_ms) else time_ms

    def _likely(self, wanted: CountQuery) -> CountRow:
        """Return the lines of times that can be true, all of them if there are no such: few others would make one bucket of all."""
        rows = self._index.reader.count(wanted, deadline_passed=self._deadline_passed).rows
        total = rows[0] if rows else _NO_LINES
        if not (is_far(total.first_ms, self._now_ms) or is_far(total.last_ms, self._now_ms)):
            return total
        since_ms, until_ms = wanted.only.since_ms, wanted.only.until_ms
        end_ms = int(self._now_ms) + DAY_MS
        only = wanted.only._replace(since_ms=max(since_ms or 0, 0), until_ms=end_ms if until_ms is None else min(until_ms, end_ms))
        rows = self._index.reader.count(wanted._replace(only=only), deadline_passed=self._deadline_passed).rows
        return rows[0] if rows else total


def _listing(counted: CountQuery, rows: list[CountRow], texts: dict[str, str], names: dict[str, str], *, complete: bool) -> CountListing:
    return CountListing(counted.by, rows, texts, names, counted.bucket_ms if rows else None, complete)


def counts_document(listings: Sequence[CountListing], *, is_several: bool = False) -> CountedAnswerJson:
    """Return the answer as a reply holds it: the counts, or a list of them."""
    counts = [_one_count(listing) for listing in listings]
    return {"groups": counts, "complete": all(one["complete"] for one in counts)} if is_several else cast("CountsJson", counts[0])


def _one_count(listing: CountListing) -> OneCountJson:
    shown: OneCountJson = {"counts": [_shown(listing, row) for row in listing.rows], "by": list(listing.by), "complete": listing.complete}
    if listing.bucket_ms is not None:
        shown["bucket_ms"] = listing.bucket_ms
    if listing.figures is not None:
        shown["statistics"] = _statistics(listing.figures)
    return shown


def _statistics(figures: FieldFigures) -> FieldStatisticsJson:
    names = ("lines", "min", "p50", "p95", "p99", "max", "error")
    numbers = None if figures.numbers is None else cast("NumbersJson", dict(zip(names, figures.numbers, strict=True)))
    lines, with_value, values, has_all_values, _ = figures
    return {"lines": lines, "with_value": with_value, "values": values, "all_values": has_all_values, "numbers": numbers}


def width_ms(since_ms: int, until_ms: int, buckets: int) -> int:
    """Return the smallest round width with which at most `buckets` (2 or more) buckets touch `since_ms` ≤ time < `until_ms`.

    A bucket begins at a multiple of its width, so two may be needed however wide they are.
    """
    width = next((one for one in WIDTHS_MS if (until_ms - 1) // one - since_ms // one < buckets), WIDTHS_MS[-1])
    while (until_ms - 1) // width - since_ms // width >= buckets:
        width *= 2
    return width


def _in_order(by: Sequence[Grouping]) -> tuple[Grouping, ...]:
    """Return what is grouped by, time first."""
    return (*(name for name in GROUPINGS if name in by), *(name for name in by if name not in GROUPINGS))


def _shown(listing: CountListing, row: CountRow) -> CountedJson:
    shown: dict[str, object] = dict(zip(listing.by, row.key, strict=True))
    ids = [str(shown[name]) for name in ("template", "family") if name in shown]
    if ids:
        shown["text"] = listing.texts.get(ids[0], "")
        if name := next((listing.names[one] for one in ids if one in listing.names), None):
            shown["name"] = name
    shown |= {"lines": row.lines, "first": row.first_ms, "last": row.last_ms}
    return cast("CountedJson", shown)  # whose further keys are what is counted by


def _check(query: Query) -> None:
    for by in query.groupings:
        if len(set(by)) < len(by):
            raise BadQuery("by", "names the same twice")
        if FIELD_NAMES in by and len(by) > 1:
            raise BadQuery("by", f"{FIELD_NAMES} stands alone: it counts names of fields; give {FIELD}NAME to count by values")
    if not any("time" in by for by in query.groupings):
        refuse_set("needs time among by", buckets=query.buckets)


def _open(sources: Sources) -> Answer:
    def answer(sought: PreparedQuery, deadline_passed: OutOfTime, _stop_s: float) -> CountedAnswerJson:
        found = find_counts(sources.index, sought, deadline_passed, now_ms=sources.surroundings.wall_ms())
        shown = counts_document(found.listings, is_several=sought.query.is_several)
        if found.meant is not None:
            say_meant(sources.index, shown, found.meant)
        return shown

    return answer


COUNTS = Form(
    "counts",
    _open,
    takes=("by", "buckets", "top", "facets"),
    check=_check,
    path="/api/counts",
    schema="CountedAnswer",
    summary="Count lines by time, template, family, label or field",
)
