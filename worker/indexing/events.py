"""Joins records that are lines of one event into the entry of the first: its text is the first line, its trace are the others.

Prepare calls it, and so do the tools that compute what records must have left. Pieces of one line are joined first, in every topic
(`worker.indexing.record_pieces`), then lines where the topic has `topic.multiline`. Only neighbours join: records of one partition with
consecutive offsets and one key that hold one entry each. A pure function of the records from an event's first one on: bounds are of
records, bytes and Kafka's times, never of a clock.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, as_texts, null_column, replace_rows, string_column, take, text_bytes
from consumers.decode.entries import Decoded
from worker.indexing.event_languages import EventRule
from worker.indexing.event_rules import event_rule, is_blank_letter, letters_of
from worker.indexing.record_columns import RecordColumns
from worker.indexing.record_pieces import JoinedPieces, OpenTexts, PieceBounds, find_partial, join_pieces
from worker.settings.topic_tables import MultilineTable


class JoinedEvents(NamedTuple):
    """What became of n records.

    Thread: any.
    """

    decoded: Decoded
    """Without what is held."""
    held: tuple[int, ...]
    """For each partition the row from which on its records are held, for the next one may belong to their event; its end if none is."""


class _Lines(NamedTuple):
    """Records of one partition that may be lines of events."""

    row: NDArray[np.int64]
    last: NDArray[np.int64]
    """Row of the last record of each line, which may have come in pieces."""
    entry: NDArray[np.int64]
    """Which entry; -1 for a blank line."""
    ends_bytes: NDArray[np.int64]
    """How many bytes all lines up to each have, with a line feed for each."""
    first_ms: NDArray[np.int64]
    """Kafka's time of the first record of each."""
    time_ms: NDArray[np.int64]
    """Kafka's time of the last record of each."""
    letters: bytes


class EventJoiner:
    """Joins as one `[topic.multiline]` table says.

    Thread: any.
    """

    def __init__(self, table: MultilineTable | None, open_texts: OpenTexts) -> None:
        """None: only the pieces of lines are joined. `open_texts` reads lines of several pieces that are objects of JSON."""
        self._rule: EventRule | None = None
        self._bounds = PieceBounds()
        self._open_texts = open_texts
        if table is not None:
            self._rule = event_rule(table.start, table.pattern)
            self._bounds = PieceBounds(table.max_lines, ms=round(table.max_s * 1000))

    @property
    def joins_lines(self) -> bool:
        """Whether several lines may be one event, so that the last line of a partition always waits for the next one."""
        return self._rule is not None

    def may_join(self, decoded: Decoded, value: Sequence[bytes | None]) -> bool:
        """Whether one of these records may belong to the next one; `value` is that of each. If not, `join` changes nothing."""
        return self.joins_lines or len(find_partial(decoded.entries, value)) > 0

    def join(self, records: RecordColumns, decoded: Decoded, *, is_over: bool = False) -> JoinedEvents:
        """Join decoded records. The last event of each partition is held if it may go on, unless no record follows (`is_over`)."""
        pieces = join_pieces(records, decoded, self._bounds, self._open_texts, is_over=is_over)
        if self._rule is not None:
            return self._join_lines(self._rule, records, pieces, is_over=is_over)
        return JoinedEvents(_joined(pieces.decoded, (), (), _held_rows(records.ends, pieces.open_from)), pieces.open_from)

    def _join_lines(self, rule: EventRule, records: RecordColumns, pieces: JoinedPieces, *, is_over: bool) -> JoinedEvents:
        decoded, held = pieces.decoded, list(pieces.open_from)
        events: list[NDArray[np.int64]] = []
        firsts: list[tuple[int, int]] = []
        begin = 0
        for place, end in enumerate(records.ends):
            stop = held[place]
            lines = _lines_between(rule, records, decoded, begin, stop)
            is_open = not is_over and bool(len(lines.row)) and int(lines.last[-1]) == stop - 1
            for first, after in self._events(rule, lines, is_open=is_open):
                if is_open and after == len(lines.row):
                    held[place] = int(lines.row[first])
                elif after - first > 1:
                    events.append(lines.entry[first:after])
                    firsts.append((int(lines.entry[first]), int(lines.last[after - 1] - lines.row[first]) + 1))
            begin = end
        return JoinedEvents(_joined(decoded, events, firsts, _held_rows(records.ends, held)), tuple(held))

    def _events(self, rule: EventRule, lines: _Lines, *, is_open: bool) -> Iterator[tuple[int, int]]:
        """Yield the events of several lines within the bounds, and the last line if it is open: first line, and the one after the last."""
        letters = lines.letters if is_open else lines.letters + b"|"
        size, at = len(lines.letters), 0
        while at < size:
            found = rule.event.search(letters, at)
            if found is None:
                break
            first, after = found.start(), self._bounded(lines, found.start(), found.end())
            if is_open and after < found.end() == size and after > _decided_end(rule, letters, first):
                after = size  # whether the lines up to the bound belong to the event is not known yet
            if is_blank_letter(lines.letters[first]):
                at = first + 1
                continue
            yield first, after
            at = after
        if is_open and at < size:
            yield size - 1, size

    def _bounded(self, lines: _Lines, first: int, after: int) -> int:
        """Return where an event ends, given where its lines end."""
        sizes, times = lines.ends_bytes, lines.time_ms
        begin_row, (most_records, most_bytes, most_ms) = int(lines.row[first]), self._bounds
        longest = sizes[first - 1] + most_bytes if first else most_bytes
        latest = lines.first_ms[first] + most_ms
        if lines.last[after - 1] - begin_row < most_records and sizes[after - 1] <= longest and times[first:after].max() <= latest:
            return after
        most = min(int(np.searchsorted(lines.last, begin_row + most_records)), int(np.searchsorted(sizes, longest, side="right")))
        after = min(after, max(most, first + 1))
        late = np.flatnonzero(times[first + 1 : after] > latest)
        after = first + 1 + int(late[0]) if len(late) else after
        while after > first + 1 and is_blank_letter(lines.letters[after - 1]):
            after -= 1
        return after


def _decided_end(rule: EventRule, letters: bytes, first: int) -> int:
    """Return where an event that begins at `first` ends at least, whatever comes."""
    found = rule.event.match(letters + b"|", first)
    return first + 1 if found is None else found.end()


def _lines_between(rule: EventRule, records: RecordColumns, decoded: Decoded, begin: int, end: int) -> _Lines:
    entries = decoded.entries
    first, after = np.searchsorted(entries.row, [begin, end]).tolist()
    own = np.arange(first, after)
    row = entries.row[own]
    is_single = np.append(row[1:] != row[:-1], True) & np.append(True, row[1:] != row[:-1]) if len(row) else np.empty(0, np.bool_)
    if entries.trace is not None and len(own):
        is_single &= text_bytes(take(entries.trace, own)) == 0
    own, row = own[is_single], row[is_single]
    last = row if entries.records is None else row + entries.records[own] - 1
    blank = decoded.empty[(decoded.empty >= begin) & (decoded.empty < end)]
    blank = np.array([one for one in blank.tolist() if records.value[one] is not None], np.int64)
    row, last = np.concatenate([row, blank]), np.concatenate([last, blank])
    order = np.argsort(row)
    entry = np.concatenate([own, np.full(len(blank), -1)])[order]
    row, last = row[order], last[order]
    text = _texts(entries.text, entry)
    letters = letters_of(rule, text, entry < 0, records.are_linked(row, last))
    ends_bytes = np.cumsum(text_bytes(text).astype(np.int64) + 1)
    return _Lines(row, last, entry, ends_bytes, records.time_ms[row], records.time_ms[last], letters.tobytes())


def _texts(text: Column, entry: NDArray[np.int64]) -> Column:
    """Return the texts of entries; an empty one for -1."""
    if not len(entry):
        return string_column(())
    blank = np.flatnonzero(entry < 0)
    if not len(blank):
        return take(text, entry)
    if len(blank) == len(entry):
        return string_column([""] * len(entry))
    return replace_rows(take(text, np.maximum(entry, 0)), blank, string_column([""] * len(blank)))


def _held_rows(ends: Sequence[int], held: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(0), *(np.arange(first, end) for first, end in zip(held, ends, strict=True))])


def _joined(
    decoded: Decoded, events: Sequence[NDArray[np.int64]], firsts: Sequence[tuple[int, int]], held: NDArray[np.int64]
) -> Decoded:  # fmt: skip
    """Return what was decoded without the held rows, each event as its first entry; `firsts` has it, and the records of the event."""
    entries = decoded.entries
    is_left = ~np.isin(entries.row, held)
    covered = held
    if events:
        first, number = np.array(firsts).T
        records = np.ones(entries.size, np.int32) if entries.records is None else entries.records.copy()
        records[first] = number
        followers = np.concatenate([event[1:] for event in events])
        is_left[followers[followers >= 0]] = False
        texts = as_texts(_texts(entries.text, followers))
        ends = np.cumsum([len(event) - 1 for event in events]).tolist()
        traces = ["".join(f"\n{text}" for text in texts[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]
        trace = null_column(entries.size) if entries.trace is None else entries.trace
        order = np.argsort(first)
        trace = replace_rows(trace, first[order], string_column([traces[place] for place in order.tolist()]))
        begins = entries.row[first] + 1
        places = np.cumsum(number - 1)
        covered = np.concatenate([held, np.repeat(begins - places + number - 1, number - 1) + np.arange(places[-1])])
        entries = entries._replace(trace=trace, records=records)
    if not is_left.all():
        entries = entries.take(np.flatnonzero(is_left))
    return decoded._replace(entries=entries, empty=np.setdiff1d(decoded.empty, covered))
