"""What a reader must answer, by brute force: blocks as lists of lines, one line at a time, nothing shared with the product."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sinks.block import BlockId, BlockPlace
from sinks.line import Line
from sinks.reading.counting import CountQuery, CountRow
from sinks.reading.line_filter import LineFilter


class Stored(NamedTuple):
    id: BlockId
    lines: Sequence[Line]


def outermost(stored: Iterable[Stored]) -> list[Stored]:
    """Leave out blocks inside another of their run."""
    every = list(stored)
    return [one for one in every if not any(_is_inside(one.id, other.id) for other in every)]


class _Version(NamedTuple):
    """What some runs wrote of a record."""

    place: BlockPlace
    offset: int
    records: int
    entries: int
    kafka_time: int

    def spanned(self) -> set[tuple[BlockPlace, int]]:
        return {(self.place, offset) for offset in range(self.offset, self.offset + self.records)}


class _Copy(NamedTuple):
    """The best copy of one entry of one version: whole before torn, then the latest."""

    is_whole: bool
    run: str
    chunks: int
    cut: int
    pieces: tuple[Line, ...]


def union(stored: Iterable[Stored]) -> list[Line]:
    """Return each record once: as its latest whole version has it, else each entry of torn ones in its latest copy. No events."""
    versions = _versions(stored)
    whole = {version: chosen for version, copies in versions.items() if (chosen := _complete(version.entries, copies))}
    held: list[Line] = []
    taken: set[tuple[BlockPlace, int]] = set()
    for version in sorted(whole, key=lambda version: min(copy.run for copy in whole[version]), reverse=True):
        if taken.isdisjoint(version.spanned()):
            taken |= version.spanned()
            held += [line for copy in whole[version] for line in copy.pieces]
    torn: dict[tuple[BlockPlace, int, int], _Copy] = {}
    for version in sorted(versions.keys() - whole.keys(), key=lambda version: version[1:]):
        if taken.isdisjoint(version.spanned()):
            for sub, copy in versions[version].items():
                key = (version.place, version.offset, sub)
                if key not in torn or copy[:2] >= torn[key][:2]:
                    torn[key] = copy
    return held + [line for copy in torn.values() for line in copy.pieces]


def _versions(stored: Iterable[Stored]) -> dict[_Version, dict[int, _Copy]]:
    pieces: dict[tuple[_Version, int, int, int], dict[int, Line]] = defaultdict(dict)
    runs: dict[tuple[_Version, int, int, int], str] = {}
    for one in sorted(outermost(stored), key=lambda one: one.id.run):
        for line in one.lines:
            shape = _Version(one.id.place, line.offset, line.records, line.entries, line.kafka_time), line.sub, line.chunks, line.cut
            pieces[shape][line.chunk] = line
            runs[shape] = one.id.run
    versions: dict[_Version, dict[int, _Copy]] = defaultdict(dict)
    for (version, sub, chunks, cut), found in pieces.items():
        copy = _Copy(len(found) == chunks, runs[version, sub, chunks, cut], chunks, cut, tuple(found.values()))
        versions[version][sub] = max(versions[version].get(sub, copy), copy, key=lambda one: one[:4])
    return versions


def _complete(entries: int, copies: dict[int, _Copy]) -> list[_Copy]:
    """Return the copies that a version is made of, the latest runs first until none is missing; nothing if it is torn."""
    whole = {sub: copy for sub, copy in copies.items() if copy.is_whole}
    chosen: dict[int, _Copy] = {}
    for run in sorted({copy.run for copy in whole.values()}, reverse=True):
        chosen |= {sub: copy for sub, copy in whole.items() if copy.run == run}
        if len(chosen) >= (entries or max(chosen) + 1):
            return list(chosen.values())
    return []


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
        and all(any(_holds(line.text, one) for one in phrases) for phrases in only.phrases)
        and not any(_holds(line.text, one) for one in only.not_phrases)
    )


def _holds(text: str | None, phrase: str) -> bool:
    """Whether a text has a phrase; blanks stand between the words of both."""
    return f" {phrase} " in f" {text or ''} "


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
