"""What stands around a line: its neighbours in the same partition, by offset; or what its service, host or trace logged, by time."""

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from consumers.decode.kafka_times import is_far
from sinks.block import BlockPlace
from sinks.field_pairs import parsed_pairs
from sinks.line import Line
from sinks.reading.between import RecordRange
from sinks.reading.line_filter import LineFilter
from sinks.reading.line_places import LinePlace
from sinks.reading.ordered import Reach
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from worker.asking.answers import HitJson, HitsJson
from worker.asking.filters import Filters
from worker.asking.moments import MOST_MS
from worker.asking.question import Around, Query
from worker.asking.refusals import BadQuery
from worker.querying.answer_documents import shown_line
from worker.querying.family_listing import shown_group
from worker.querying.form import Answer, Form, Sources
from worker.querying.ranking import OutOfTime, groups_of_lines
from worker.querying.search import PreparedQuery

_WIDER = 8
"""Offsets have gaps (compaction, transactions): on a side that lacks records, a range this many times as wide is read."""
MOST_LINES = 10_000
"""A record may hold as many lines alone."""
SERVICE: Final = "service"
_KEPT: Final[Mapping[str, str]] = {"host": "host.name", "trace": "trace_id"}
"""The kept fields by which lines are neighbours."""


class Neighbours(NamedTuple):
    """Lines, in order."""

    lines: list[Line]
    complete: bool
    """False when a bound or the deadline cut it short; records that are nowhere are not missed."""


def lines_around(reader: BlockReader, place: Around, deadline_passed: OutOfTime, *, now_ms: float) -> Neighbours:
    """Return the lines of `before` records, of the one at `offset` and of `after` records. Raises SinkBusy."""
    first, end = max(place.offset - place.before, 0), place.offset + place.after + 1
    complete = True
    lines: list[Line] = []

    def read(first_offset: int, end_offset: int) -> list[Line]:
        nonlocal complete
        offsets = RecordRange(place.topic, place.partition, first_offset, end_offset)
        found = reader.lines_between(offsets, most_lines=MOST_LINES - len(lines), deadline_passed=deadline_passed)
        complete = complete and found.complete
        return found.lines

    lines += read(first, end)
    if len(_offsets(lines, first, place.offset)) < place.before and first > 0:
        lines += read(max(place.offset - _WIDER * place.before, 0), first)
    if len(_offsets(lines, place.offset + 1, end)) < place.after:
        lines += read(end, place.offset + _WIDER * place.after + 1)
    lines = _of_one_epoch(lines, place.offset, now_ms)
    before = _offsets(lines, 0, place.offset)
    after = _offsets(lines, place.offset + 1, place.offset + _WIDER * place.after + 1)
    shown = {*before[len(before) - min(place.before, len(before)) :], place.offset, *after[: place.after]}
    in_order = sorted((line for line in lines if line.offset in shown), key=lambda line: (line.offset, line.sub, line.chunk))
    return Neighbours(in_order, complete)


class Alike(NamedTuple):
    """Lines that have a value in common."""

    neighbours: Neighbours
    """By time, then topic, partition and offset."""
    name: str
    value: str | None
    """None: the line has none, and stands alone."""


def lines_alike(reader: BlockReader, place: Around, deadline_passed: OutOfTime, *, now_ms: float) -> Alike:
    """Return the line at `place`, and the lines of all partitions before and after it that have the same value. Raises SinkBusy."""
    by = place.by or SERVICE
    name = _KEPT.get(by, by)
    record = RecordRange(place.topic, place.partition, place.offset, place.offset + 1)
    stored = reader.lines_between(record, most_lines=MOST_LINES, deadline_passed=deadline_passed)
    own = [line for line in _of_one_epoch(stored.lines, place.offset, now_ms) if place.sub in (None, line.sub)]
    first = next((line for line in own if _value(line, name)), None)
    if first is None:
        return Alike(Neighbours(own, stored.complete), name, None)
    value = _value(first, name)
    selection = Selection(LineFilter(services=(value,)) if name == SERVICE else LineFilter(fields=((name, value),)))
    before = _lines_before(reader, selection, first, place.before, deadline_passed)
    after = _lines_after(reader, selection, first, place.after, deadline_passed)
    lines = [*before.lines, *(line for line in own if line.sub == first.sub), *after.lines]
    return Alike(Neighbours(lines, stored.complete and before.complete and after.complete), name, value)


def _value(line: Line, name: str) -> str:
    """Return what a line has of its service or a kept field; empty if it has none."""
    return line.service if name == SERVICE else dict(parsed_pairs(line.fields)).get(name, "")


def _lines_before(reader: BlockReader, selection: Selection, first: Line, most: int, deadline_passed: OutOfTime) -> Neighbours:
    """Return the last `most` lines of a selection before one; its newest lines up to that time are read, more until they are enough."""
    earlier = selection._replace(only=selection.only._replace(until_ms=min(first.time, MOST_MS) + 1))
    limit = most + 1
    while True:
        found = reader.lines_with(earlier, limit, deadline_passed=deadline_passed)
        is_cut = len(found.lines) == limit
        cut_ms = found.lines[-1].time if is_cut else None  # of this millisecond some lines are missing
        lines = sorted((line for line in found.lines if line.time != cut_ms and _order(line) < _order(first)), key=_order)
        entries = list(dict.fromkeys(map(_entry, lines)))
        if not is_cut or not found.complete or len(entries) >= most or limit >= MOST_LINES:
            break
        limit = min(limit * _WIDER, MOST_LINES)
    shown = set(entries[max(len(entries) - most, 0) :])
    return Neighbours([line for line in lines if _entry(line) in shown], found.complete and (len(shown) == most or not is_cut))


def _lines_after(reader: BlockReader, selection: Selection, first: Line, most: int, deadline_passed: OutOfTime) -> Neighbours:
    """Return the first `most` lines of a selection after one."""
    newest = reader.lines_with(selection, 1, deadline_passed=deadline_passed)
    end_ms = min(max(line.time for line in (*newest.lines, first)), MOST_MS) + 1
    place = BlockPlace(first.topic, first.epoch, first.partition)
    reach = Reach(first.time, LinePlace(place, first.offset, first.sub, first.chunks))
    lines: list[Line] = []
    complete = newest.complete
    while (missing := most - len(set(map(_entry, lines)))) > 0 and reach.time_ms < end_ms and not deadline_passed():
        found = reader.lines_in_order(selection, reach, end_ms, missing, deadline_passed=deadline_passed)
        lines += found.lines
        reach = found.reach
        complete = complete and found.complete
    return Neighbours(lines, complete and (missing <= 0 or reach.time_ms >= end_ms))


def _order(line: Line) -> tuple[int, str, str, int, int, int, int]:
    return line.time, line.topic, line.epoch, line.partition, line.offset, line.sub, line.chunk


def _entry(line: Line) -> tuple[str, str, int, int, int]:
    return line.topic, line.epoch, line.partition, line.offset, line.sub


def _offsets(lines: list[Line], first: int, end: int) -> list[int]:
    return sorted({line.offset for line in lines if first <= line.offset < end})


def _of_one_epoch(lines: list[Line], offset: int, now_ms: float) -> list[Line]:
    """Keep the lines of the newest topic: one that was deleted and made again under the same name has the same offsets."""
    if not lines:
        return []
    at_offset = [line for line in lines if line.offset == offset] or lines
    epoch = max(at_offset, key=lambda line: -1 if is_far(line.kafka_time, now_ms) else line.kafka_time).epoch
    return [line for line in lines if line.epoch == epoch]


def _check(query: Query) -> None:
    for name in sorted(query.model_fields_set - {"around", "deadline_ms"}):
        if name == "form" and query.form != "lines":
            raise BadQuery("as", "cannot be combined with around")
        if name == "filters" and query.filters != Filters():
            raise BadQuery(f"filters.{min(query.filters.model_fields_set)}", "cannot be combined with around: it shows all lines")
        if name not in ("form", "filters") and getattr(query, name) is not None:
            raise BadQuery(name, "cannot be combined with around")


def _open(sources: Sources) -> Answer:
    def answer(sought: PreparedQuery, deadline_passed: OutOfTime, _stop_s: float) -> HitsJson:
        place = sought.query.around
        assert place is not None  # noqa: S101 - the form of a query that has one
        reader, now_ms = sources.index.reader, sources.surroundings.wall_ms()
        alike = None if place.by is None else lines_alike(reader, place, deadline_passed, now_ms=now_ms)
        around = lines_around(reader, place, deadline_passed, now_ms=now_ms) if alike is None else alike.neighbours
        groups = groups_of_lines(sources.index, around.lines)
        hits = [cast("HitJson", {**shown_line(line), **shown_group(groups[line.template])}) for line in around.lines]
        document: HitsJson = {"hits": hits, "complete": around.complete}
        return document if alike is None else {**document, "same": {"name": alike.name, "value": alike.value}}

    return answer


AROUND = Form(
    "around",
    _open,
    takes=("around",),
    check=_check,
    head_start_s=6.0,
    path="/api/around",
    schema="Hits",
    summary="The lines around one place; `around` is required",
)
