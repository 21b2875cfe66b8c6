"""What stands around a line: its neighbours in the same partition, by offset."""

from typing import NamedTuple, cast

from consumers.decode.kafka_times import is_far
from sinks.line import Line
from sinks.reading.between import RecordRange
from sinks.reading.reader import BlockReader
from worker.asking.answers import HitJson, HitsJson
from worker.asking.filters import Filters
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


class Neighbours(NamedTuple):
    """Lines of one partition, in order."""

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
        around = lines_around(sources.index.reader, place, deadline_passed, now_ms=sources.surroundings.wall_ms())
        groups = groups_of_lines(sources.index, around.lines)
        hits = [cast("HitJson", {**shown_line(line), **shown_group(groups[line.template])}) for line in around.lines]
        return {"hits": hits, "complete": around.complete}

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
