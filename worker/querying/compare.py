"""What differs between two windows of time: what is new, gone, or came clearly more or less often, of families, templates or labels.

The answer step calls it. In an index that is hardly older than the window, everything would be new: it says when the index begins, and
calls nothing new or rising. Both windows are counted as `as: counts` counts by family; windows of different length are compared by rate.
Whether a difference is noise is judged by the log-likelihood ratio of two Poisson rates (the G-test; 10.83 is its 0.1 % point), which
also holds for the small numbers of rare kinds. Real logs vary more than that, so a rate must at least double or halve as well. Windows may
have a hundred thousand families: they are compared as columns, and only what is shown becomes objects.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from consumers.decode.levels import LEVELS
from sinks.reading.counting import CountQuery
from sinks.reading.group_names import FIELD, FIELD_NAMES
from sinks.reading.line_filter import LineFilter
from sinks.reading.selecting import Selection
from sinks.row import TemplateId
from worker.asking.answers import ChangedGroupJson, ChangeJson, ChangesJson, GroupJson, TotalsJson
from worker.asking.question import Query, Window
from worker.asking.refusals import BadQuery
from worker.querying.counted_kinds import meant_lines, say_meant
from worker.querying.family_counts import count_families
from worker.querying.family_listing import shown_group
from worker.querying.form import Answer, Form, Sources, refuse_set
from worker.querying.ranking import Index, OutOfTime
from worker.querying.scope import scope_of
from worker.querying.search import PreparedQuery

Change = Literal["new", "gone", "up", "down"]
CHANGES: Final[tuple[Change, ...]] = ("new", "gone", "up", "down")
_SEVERITY: Final = {level: place for place, level in enumerate(LEVELS, 1)}
_OF_OLD_INDEX: Final = ("new", "up")
_NOT_COMPARED: Final = ("time", "template", "family", FIELD_NAMES)
LEAST_G: Final = 10.83
LEAST_RATIO: Final = 2.0
"""Rates that differ by less are not up or down, however sure it is."""


_Keys = NDArray[np.uint64] | NDArray[np.object_]
"""What families have as their number, and templates and groups as their name; sorted, each once."""


class _Counted(NamedTuple):
    """What one window has of a family, template or group."""

    first_ms: int
    last_ms: int
    templates: int
    frequent: TemplateId
    """Its most frequent template."""


class _Kinds(NamedTuple):
    """All families, templates or groups of one window."""

    keys: _Keys
    lines: NDArray[np.int64]
    complete: bool
    of: Callable[[Sequence[str]], Mapping[str, _Counted]]
    """Return what it has of some of them, by what an answer calls them."""


def compare_windows(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime) -> ChangesJson:
    """Return what differs, as a reply holds it: of each change the `k` most telling ones. Raises SinkBusy."""
    query = sought.query
    now, before = query.windows
    scope = scope_of(index, query.filters, deadline_passed)
    templates, complete, meant = scope.templates, scope.complete, None
    if query.text is not None:
        both = _within(scope.only, Window(since_ms=min(now.since_ms, before.since_ms), until_ms=max(now.until_ms, before.until_ms)))
        meant = meant_lines(index, sought, scope, both, deadline_passed)
        templates, complete = meant.templates, meant.complete
    by = None if query.by is None else query.groupings[0][0]
    count = partial(_groups, by=by) if by is not None else _templates if query.expand else _families
    ours, theirs = (count(index, _within(scope.only, window), templates, deadline_passed) for window in (now, before))
    pairs = _pairs(ours, theirs, now, before)
    begins_ms = _begins_late_ms(index, now, before, deadline_passed)
    entries: Sequence[ChangeJson | ChangedGroupJson]
    if by is not None:
        entries = [] if begins_ms is not None else _group_entries(by, query.k, pairs, (ours, theirs))
    else:
        changes = [one for one in CHANGES if begins_ms is None or one not in _OF_OLD_INDEX]
        entries = _entries(index, query, pairs, (ours, theirs), changes, deadline_passed)
    totals: TotalsJson = {"lines": int(pairs.now.sum()), "before": int(pairs.before.sum())}
    answer: ChangesJson = {"compare": [*entries], "totals": totals, "complete": complete and ours.complete and theirs.complete}
    if begins_ms is not None:
        answer["begins_ms"] = begins_ms
    if meant is not None:
        say_meant(index, answer, meant)
    return answer


def _begins_late_ms(index: Index, now: Window, before: Window, deadline_passed: OutOfTime) -> int | None:
    """Return when the index begins, if that is too late to call anything new: less than half of a window before this one.

    None if it begins early enough, whatever the filters are. Where nothing lies in the window before, it may begin long before that, too.
    """
    since_then = _within(LineFilter(), Window(since_ms=0, until_ms=now.until_ms))
    spans = (
        index.reader.span_of(Selection(lines), deadline_passed=deadline_passed) for lines in (_within(LineFilter(), before), since_then)
    )
    begins_ms = next((max(span[0], before.since_ms) for span in spans if span is not None), now.since_ms)
    needed_ms = min(now.until_ms - now.since_ms, before.until_ms - before.since_ms) // 2
    return begins_ms if before.until_ms - begins_ms < needed_ms else None


class _Pairs(NamedTuple):
    """Line counts of n templates, in this window and in the previous one; a window is given in milliseconds."""

    keys: _Keys
    now: NDArray[np.int64]
    before: NDArray[np.int64]
    now_ms: int
    before_ms: int

    def named(self, places: Iterable[int]) -> list[str]:
        """Return what an answer calls some of them."""
        return [key if isinstance(key, str) else f"{key:016x}" for key in (self.keys[at] for at in places)]

    def ratio(self, at: int) -> float | None:
        """Return by what the rate has changed, to four digits; None: from nothing."""
        if not self.before[at]:
            return None
        return float(f"{self.now[at] / self.before[at] * (self.before_ms / self.now_ms):.4g}")


def _pairs(ours: _Kinds, theirs: _Kinds, now: Window, before: Window) -> _Pairs:
    keys: _Keys = np.union1d(ours.keys, theirs.keys)
    lines, were = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    lines[np.searchsorted(keys, ours.keys)] = ours.lines
    were[np.searchsorted(keys, theirs.keys)] = theirs.lines
    return _Pairs(keys, lines, were, now.until_ms - now.since_ms, before.until_ms - before.since_ms)


def _entries(
    index: Index,
    query: Query,
    pairs: _Pairs,
    windows: tuple[_Kinds, _Kinds],
    changes: Sequence[Change],
    deadline_passed: OutOfTime,
) -> list[ChangeJson]:
    """Return of each change the first entries, as a reply shows them, the most severe first and of these the surest."""
    places = [(change, at) for change in changes for at in _most_telling(pairs, change)[: query.k].tolist()]
    names = pairs.named(at for _, at in places)
    counted = _counted(windows, names)
    frequent = {one.frequent for one in counted.values()}
    levels = _levels(index, frequent, query.windows, deadline_passed)
    chosen = [(change, at, key) for (change, at), key in zip(places, names, strict=True)]
    chosen.sort(key=lambda one: (CHANGES.index(one[0]), -_SEVERITY.get(levels.get(counted[one[2]].frequent, ""), 0)))
    texts = index.sink.templates.texts(frequent) if frequent else {}
    groups = index.templates.groups_of(texts)
    entries: list[ChangeJson] = []
    for change, at, key in chosen:
        one = counted[key]
        group = groups.get(one.frequent)
        named = GroupJson() if group is None else shown_group(group)
        entry = {
            "change": change,
            **({"template": key, **named} if query.expand else {**named, "family": key}),
            "text": texts.get(one.frequent, ""),
            "level": levels.get(one.frequent, ""),
            "templates": one.templates,
            "lines": int(pairs.now[at]),
            "before": int(pairs.before[at]),
            "ratio": pairs.ratio(at),
            "first": one.first_ms,
            "last": one.last_ms,
        }
        entries.append(cast("ChangeJson", entry))
    return entries


def _counted(windows: tuple[_Kinds, _Kinds], names: Sequence[str]) -> Mapping[str, _Counted]:
    """Return what now has of some kinds, or before of what is gone."""
    now, before = windows
    return {**before.of(names), **now.of(names)}


def _levels(
    index: Index, templates: Collection[TemplateId], windows: tuple[Window, Window], deadline_passed: OutOfTime
) -> dict[TemplateId, str]:
    """Return the level that most lines of each template have, in both windows; as far as there was time to count."""
    if not templates:
        return {}
    since_ms, until_ms = min(one.since_ms for one in windows), max(one.until_ms for one in windows)
    only = LineFilter(since_ms=since_ms, until_ms=until_ms)
    counted = index.reader.count(
        CountQuery(only, templates=tuple(sorted(templates)), by=("template", "level")), deadline_passed=deadline_passed
    )
    return {TemplateId(str(row.key[0])): str(row.key[1]) for row in sorted(counted.rows, key=lambda row: row.lines)}


def _group_entries(by: str, most: int, pairs: _Pairs, windows: tuple[_Kinds, _Kinds]) -> list[ChangedGroupJson]:
    """Return groups by a label or field, those that changed most surely first, and those that did not behind them."""
    changes = {int(at): change for change in CHANGES for at in _most_telling(pairs, change)}
    surprise = _surprise(pairs)
    order = sorted(range(len(pairs.keys)), key=lambda at: (at not in changes, -surprise[at], at))[:most]
    names = pairs.named(order)
    counted = _counted(windows, names)
    entries: list[ChangedGroupJson] = []
    for at, name in zip(order, names, strict=True):
        one = counted[name]
        entry = {
            by: name,
            "change": changes.get(at, "same"),
            "lines": int(pairs.now[at]),
            "before": int(pairs.before[at]),
            "ratio": pairs.ratio(at),
            "first": one.first_ms,
            "last": one.last_ms,
        }
        entries.append(cast("ChangedGroupJson", entry))  # whose further key is what is counted by
    return entries


def _most_telling(lines: _Pairs, change: Change) -> NDArray[np.int64]:
    """Return which kinds changed so, the surest ones first."""
    surprise = _surprise(lines)
    ratio = np.divide(lines.now * (lines.before_ms / lines.now_ms), lines.before, out=np.ones(len(surprise)), where=lines.before > 0)
    is_sure = (surprise >= LEAST_G) & (lines.before > 0) & (lines.now > 0)
    is_so = {
        "new": (lines.before == 0) & (lines.now > 0),
        "gone": (lines.now == 0) & (lines.before > 0),
        "up": is_sure & (ratio >= LEAST_RATIO),
        "down": is_sure & (ratio <= 1 / LEAST_RATIO),
    }[change]
    places = np.flatnonzero(is_so)
    order: NDArray[np.int64] = np.argsort(-surprise[places], kind="stable")
    return places[order]


def _surprise(lines: _Pairs) -> NDArray[np.float64]:
    """Return G: twice the log of how much likelier two rates make the numbers than one (Wilks 1938)."""
    share = lines.now_ms / (lines.now_ms + lines.before_ms)
    both = (lines.now + lines.before).astype(np.float64)
    return 2 * (_information(lines.now, both * share) + _information(lines.before, both * (1 - share)))


def _information(seen: NDArray[np.int64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    logs = np.log(np.divide(seen, expected, out=np.ones(len(seen)), where=seen > 0))
    return np.asarray(seen * logs, np.float64)


def _within(only: LineFilter, window: Window) -> LineFilter:
    return only._replace(since_ms=window.since_ms, until_ms=window.until_ms)


def _families(index: Index, only: LineFilter, templates: frozenset[TemplateId] | None, deadline_passed: OutOfTime) -> _Kinds:
    counted = count_families(index, only, templates, deadline_passed)

    def of(names: Sequence[str]) -> dict[str, _Counted]:
        return {key: _Counted(one.first_ms, one.last_ms, one.templates, one.frequent) for key, one in counted.of(names).items()}

    return _Kinds(counted.numbers, counted.lines, counted.complete, of)


def _templates(index: Index, only: LineFilter, templates: frozenset[TemplateId] | None, deadline_passed: OutOfTime) -> _Kinds:
    return _groups(index, only, templates, deadline_passed, "template")


def _groups(index: Index, only: LineFilter, templates: frozenset[TemplateId] | None, deadline_passed: OutOfTime, by: str) -> _Kinds:
    wanted = None if templates is None else tuple(sorted(templates))
    counted = index.reader.count(CountQuery(only, templates=wanted, by=(by,)), deadline_passed=deadline_passed)
    rows = {str(row.key[0]): row for row in counted.rows}
    keys = np.array(sorted(rows), np.object_)

    def of(names: Sequence[str]) -> dict[str, _Counted]:
        return {key: _Counted(rows[key].first_ms, rows[key].last_ms, 1, TemplateId(key)) for key in names if key in rows}

    return _Kinds(keys, np.array([rows[key].lines for key in keys.tolist()], np.int64), counted.complete, of)


def _check(query: Query) -> None:
    _ = query.windows
    if query.by is not None:
        if query.is_several or len(query.groupings[0]) > 1 or query.groupings[0][0] in _NOT_COMPARED:
            raise BadQuery("by", f"compare takes one label or field: service, level, topic or {FIELD}NAME; without it, families")
        refuse_set("is for families, not for groups", expand=query.expand)


def _open(sources: Sources) -> Answer:
    def answer(sought: PreparedQuery, deadline_passed: OutOfTime, _stop_s: float) -> ChangesJson:
        return compare_windows(sources.index, sought, deadline_passed)

    return answer


COMPARE = Form(
    "compare",
    _open,
    takes=("compare", "expand", "by"),
    check=_check,
    path="/api/compare",
    schema="Changes",
    summary="What is new, gone, up or down between two windows; `filters` and `compare` are required",
)
