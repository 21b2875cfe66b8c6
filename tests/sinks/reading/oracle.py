"""What a reader must answer, by brute force: blocks as lists of lines, one line at a time, nothing shared with the product."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sinks.block import BlockId
from sinks.line import Line
from sinks.reading.counting import CountQuery, CountRow
from sinks.reading.filters import LineFilter


class Stored(NamedTuple):
    id: BlockId
    lines: Sequence[Line]


def outermost(stored: Iterable[Stored]) -> list[Stored]:
    """Leave out blocks inside another of their run."""
    every = list(stored)
    return [one for one in every if not any(_is_inside(one.id, other.id) for other in every)]


def union(stored: Iterable[Stored]) -> list[Line]:
    """Return each entry's pieces once, as the latest whole copy has them; of torn ones, the latest."""
    entries: dict[tuple[object, ...], dict[tuple[int, int], dict[str, dict[int, Line]]]] = defaultdict(dict)
    for one in outermost(stored):
        for line in one.lines:
            copies = entries[(*one.id.place, line.offset, line.sub)]
            copies.setdefault((line.chunks, line.cut), {}).setdefault(one.id.run, {})[line.chunk] = line
    held: list[Line] = []
    for copies in entries.values():
        groups = []
        for (chunks, cut), runs in copies.items():
            pieces: dict[int, Line] = {}
            for run in sorted(runs):
                pieces |= runs[run]
            groups.append(((len(pieces) == chunks, max(runs), chunks, cut), pieces))
        held += max(groups, key=lambda group: group[0])[1].values()
    return held


def are_whole(lines: Iterable[Line]) -> set[tuple[object, ...]]:
    """Return the entries of which every piece is there: only those are promised."""
    pieces: dict[tuple[object, ...], set[int]] = defaultdict(set)
    chunks = {}
    for line in lines:
        pieces[entry(line)].add(line.chunk)
        chunks[entry(line)] = line.chunks
    return {one for one, found in pieces.items() if len(found) == chunks[one]}


def entry(line: Line) -> tuple[object, ...]:
    return line.topic, line.epoch, line.partition, line.offset, line.sub


def passes(line: Line, only: LineFilter) -> bool:
    return (
        (only.since_ms is None or line.time >= only.since_ms)
        and (only.until_ms is None or line.time < only.until_ms)
        and (not only.services or line.service in only.services)
        and (not only.levels or line.level in only.levels)
        and (not only.topics or line.topic in only.topics)
        and line.service not in only.not_services
        and line.level not in only.not_levels
        and line.topic not in only.not_topics
        and line.template not in only.not_templates
    )


def newest_first(lines: Iterable[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (-line.time, line.topic, line.epoch, line.partition, -line.offset, -line.sub, -line.chunk))


def in_order(lines: Iterable[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.epoch, line.offset, line.sub, line.chunk))


def counts(lines: Iterable[Line], query: CountQuery) -> list[CountRow]:
    """Return the groups in order; without `top`."""
    groups: dict[tuple[int | str, ...], list[Line]] = defaultdict(list)
    names_templates = query.templates is not None or query.only.not_templates
    for line in lines:
        is_first = line.chunk == 0 or "template" in query.by
        if (is_first or not names_templates) and passes(line, query.only) and (query.templates is None or line.template in query.templates):
            groups[tuple(_part(line, name, query.bucket_ms) for name in query.by)].append(line)
    rows = []
    for key, found in groups.items():
        number = len(found) if "template" in query.by else sum(line.chunk == 0 for line in found)
        if number:
            rows.append(CountRow(key, number, min(line.time for line in found), max(line.time for line in found)))
    at = query.by.index("time") if "time" in query.by else None
    return sorted(rows, key=lambda row: (0 if at is None else row.key[at], -row.lines, row.key))


def _part(line: Line, name: str, bucket_ms: int | None) -> int | str:
    if name == "time":
        assert bucket_ms is not None
        return line.time // bucket_ms * bucket_ms
    part: str = getattr(line, name)
    return part


def _is_inside(inner: BlockId, outer: BlockId) -> bool:
    numbers, around = range(inner.first, inner.last + 1), range(outer.first, outer.last + 1)
    return inner[:2] == outer[:2] and set(numbers) < set(around)
