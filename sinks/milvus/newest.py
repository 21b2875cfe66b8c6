"""The newest lines of each of many templates, on a backend that cannot order: a search in time for all of them at once.

Pure functions, called by the reader. One query asks for every template in a window of its own and returns at most a page, in no order.
A page that is not full is exact for all of them: whose window held enough is done, the others have seen all from there on (`sparse`).
A full one tells of some template a time from which on there are enough (`dense`). So each template has two times that close in on its
newest lines: first a guess, then a gallop, then halving. All together take about as few queries as the busiest alone, for every query
costs a local folder a look at all its rows. Lines of one and the same millisecond cannot be parted by time: up to `MOST_ROWS` of those.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sinks.milvus.searching import MOST_ROWS, Place, Window

PAGE_ROWS = 256
_OLDEST_MS, _END_MS = -(1 << 63), 1 << 63
_FIRST_STRIDE_MS = 1_000


class Ask(NamedTuple):
    """Templates of which the same window is wanted.

    Thread: any.
    """

    templates: tuple[str, ...]
    window: Window


ReadEach = Callable[[Sequence[Ask], int], Sequence[tuple[str, Place]]]
"""Return at most so many lines of the windows with their templates, any of them: fewer than asked for means that those are all."""
ReadPlaces = Callable[[Window, int], list[Place]]
"""The same for one window, whatever the templates."""


@dataclass(slots=True)
class _Chase:
    """One template: its newest lines lie at `dense` or later, those from `sparse` on are all in `best`.

    Thread: one.
    """

    start: int
    sparse: int
    dense: int | None = None
    best: list[Place] = field(default_factory=list)
    newest_seen: int = _OLDEST_MS
    span_ms: int = 0
    lines: int = 1
    """How dense the lines were in the last full page: so many in so long a time."""
    stride_ms: int = _FIRST_STRIDE_MS
    moves: bool = False
    """Whether something was learnt since `start` was set."""
    halves: bool = False
    """Whether the next step is a sure one: every second is, the others are guesses."""


class _Wanted(NamedTuple):
    """What is wanted of each template; all times are milliseconds, and none is open.

    Thread: any.
    """

    limit: int
    since: int
    end: int
    latest: int


def newest_of_each(
    read: ReadEach, templates: Iterable[str], limit: int, within: Window, latest_ms: int, times: Mapping[str, int]
) -> dict[str, list[Place]]:
    """Return the newest `limit` places of each template in a window, newest first; a template without one is left out.

    `latest_ms` is a guess of the newest time of all; `times` holds times from which on some templates have `limit` lines, likely.
    Their number is the caller's to bound: twice `limit` lines of each must fit into `MOST_ROWS`.
    """
    since = _OLDEST_MS if within.since_ms is None else within.since_ms
    end = _END_MS if within.until_ms is None else within.until_ms
    if since >= end:
        return {}
    wanted = _Wanted(limit, since, end, min(latest_ms, end - 1))
    chased = {one: _Chase(min(max(times.get(one, since), since), end - 1), end) for one in templates}
    found: dict[str, list[Place]] = {}
    while chased:
        page = min(max(PAGE_ROWS, 8 * len(chased), 3 * limit * len(chased)), MOST_ROWS)
        rows = read(_asks(chased), page)
        seen: dict[str, list[Place]] = {one: [] for one in chased}
        for template, place in rows:
            seen[template].append(place)
        span_ms = max(place.time for _, place in rows) - min(place.time for _, place in rows) if rows else 0
        for one, places in seen.items():
            chase = chased[one]
            if len(rows) < page:
                if _settle(chase, places, wanted):
                    found[one] = chased.pop(one).best
            elif chase.start == chase.sparse - 1 and len(places) * len(seen) >= page:
                rest = read([Ask((one,), _window(chase.start, chase.sparse))], MOST_ROWS)
                found[one] = _top(chased.pop(one).best, [place for _, place in rest], limit)
            else:
                _learn(chase, places, wanted, span_ms)
        for chase in chased.values():
            if chase.moves:
                chase.start, chase.moves = _next_start(chase, wanted, page // (2 * len(chased))), False
    return {one: places for one, places in found.items() if places}


def newest(read: ReadPlaces, limit: int, within: Window, latest_ms: int) -> list[Place]:
    """Return the newest `limit` places of one window, newest first."""

    def read_each(asks: Sequence[Ask], rows: int) -> list[tuple[str, Place]]:
        return [("", place) for place in read(asks[0].window, rows)]

    return newest_of_each(read_each, [""], limit, within, latest_ms, {}).get("", [])


def _settle(chase: _Chase, places: list[Place], wanted: _Wanted) -> bool:
    """Note all lines of a window; True when no others are needed."""
    chase.best = _top(chase.best, places, wanted.limit)
    if len(chase.best) >= wanted.limit or chase.start in (wanted.since, chase.dense):
        return True
    chase.sparse, chase.moves = chase.start, True
    return False


def _learn(chase: _Chase, places: list[Place], wanted: _Wanted, span_ms: int) -> None:
    """Note what a full page shows of one template, if that is enough to learn from; else its window is asked for once more."""
    top = _top(chase.best, places, wanted.limit)
    if len(top) < wanted.limit or not places:
        return
    chase.dense = max(top[-1].time, chase.start)
    chase.newest_seen = max(places).time
    chase.span_ms, chase.lines = span_ms, len(places)
    chase.moves = True


def _next_start(chase: _Chase, wanted: _Wanted, share: int) -> int:
    """Return from when on to ask next; about `share` lines of each template fit into a page."""
    dense, sparse = chase.dense, chase.sparse
    if dense is None:
        return wanted.since
    if sparse - dense <= 1:
        return dense
    chase.halves = not chase.halves
    if chase.halves:
        last_ms = sparse - 1 if sparse < wanted.end else max(wanted.latest, chase.newest_seen)
        return max(dense, last_ms - chase.span_ms * share // chase.lines)
    start = (dense + sparse) // 2
    if sparse == wanted.end:
        start = min(chase.newest_seen + chase.stride_ms, sparse - 1)
        chase.stride_ms *= 2
    return start


def _asks(chases: Mapping[str, _Chase]) -> list[Ask]:
    together: dict[tuple[int, int], list[str]] = {}
    for one, chase in chases.items():
        together.setdefault((chase.start, chase.sparse), []).append(one)
    return [Ask(tuple(ones), _window(start, end)) for (start, end), ones in together.items()]


def _window(start: int, end: int) -> Window:
    return Window(None if start <= _OLDEST_MS else start, None if end >= _END_MS else end)


def _top(best: list[Place], places: list[Place], limit: int) -> list[Place]:
    return sorted(best + places, reverse=True)[:limit]
