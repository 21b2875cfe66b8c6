"""What the index should hold for a record: the lines that the worker would write with these settings, or why there are none.

`worker.inspecting.verify` compares them with what is stored; a replay of dead letters stores them. It calls the functions of the prepare
step, so it cannot differ from it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.decode.decode_tally import DecodeTally
from consumers.decode.entries import Decoded
from consumers.decode.kafka_times import bounded_times
from consumers.decode.opened import Opener
from consumers.decode.rules import MAX_RECORD_BYTES, DecodeRules
from consumers.record import Record
from consumers.rejection import RejectedPiece, Rejection
from consumers.text.redact import Redactor
from sinks.block import BlockPlace, Lines
from sinks.line import Line
from sinks.lines import all_lines, take_lines
from worker.connections import open_registry
from worker.embedding.loaded import model_of
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.indexing.entry_rules import NO_RULE
from worker.indexing.events import EventJoiner
from worker.indexing.pieces import entries_of_records, lines_of_pieces, split_entries
from worker.indexing.record_columns import RecordColumns
from worker.indexing.record_pieces import MOST_PIECES
from worker.indexing.schema_fetch import SchemaFetch
from worker.indexing.topic_readers import TopicReader, TopicReaders
from worker.inspecting.entry_writer import wall_ms
from worker.settings.settings import Settings

MOST_EVENT_RECORDS = 10_000
"""Of `topic.multiline`."""


class Expected(NamedTuple):
    """What one record should have left: lines, dead letters, or nothing (a tombstone, an empty line, a line that a rule drops)."""

    record: Record
    lines: tuple[Line, ...]
    """In the order of `sub` and `chunk`."""
    rejects: tuple[RejectedPiece, ...] = ()
    """Pieces that belong in a dead letter instead."""
    dropped: tuple[Line, ...] = ()
    """What would be stored if today's rules did not drop it; it may be there from before."""
    refusal: Rejection | None = None
    """Why the whole record belongs in a dead letter."""

    @property
    def rejection(self) -> Rejection | None:
        """The one that its dead letter names; None if it needs no dead letter."""
        return self.rejects[0].rejection if self.refusal is None and self.rejects else self.refusal


class ExpectedLines:
    """Computes what each record should have left in the index.

    Thread: one; it holds a tokenizer.
    """

    def __init__(
        self,
        *,
        reader_of: Callable[[str], TopicReader],
        redactor: Redactor,
        tokenizer: Tokenizer,
        wall_ms: Callable[[], float],
        schemas: SchemaFetch | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        """`reader_of` returns the reader of a topic; `tokenizer` is that of their chunkers, and `close` closes it.

        `schemas` fetches those that values name, if there is a registry; then what decodes raises RegistryAway.
        """
        self._schemas = schemas
        self._reader_of = reader_of
        self._redactor = redactor
        self._tokenizer = tokenizer
        self._wall_ms = wall_ms
        self._opener = Opener(DecodeRules(max_record_bytes=max_record_bytes), DecodeTally())

    def compute_expected(self, records: Sequence[Record]) -> list[Expected]:
        """Decode, redact, split and mask records of any partitions, all at once, in their order; the caller bounds their `content_bytes`.

        Records that are lines of one event must be there together; all but the first of them have no lines of their own.
        """
        rows: dict[TopicReader, list[int]] = {}
        for row, record in enumerate(records):
            rows.setdefault(self._reader_of(record.topic), []).append(row)
        expected: dict[int, Expected] = {}
        for reader, own in rows.items():
            own.sort(key=lambda row: (records[row].topic, records[row].partition, records[row].epoch, records[row].offset))
            expected.update(zip(own, self._compute([records[row] for row in own], reader), strict=True))
        return [expected[row] for row in range(len(records))]

    def content_bytes(self, record: Record) -> int:
        """Return how many bytes a record's value has, after decompression if its sender compressed it."""
        return self._opener.content_bytes(record.value or b"", record.headers)

    def most_records(self, topic: str) -> int:
        """Return how many records an entry of this topic may be joined of, whatever its bounds were when it was stored."""
        joiner = self._reader_of(topic).joiner
        if joiner is None:
            return 1
        return MOST_EVENT_RECORDS if joiner.joins_lines else MOST_PIECES

    def events_end(self, records: Sequence[Record]) -> int:
        """Return how many of the first of n ≥ 2 records of one partition are of events that do not go on in the last; may be 0."""
        reader = self._reader_of(records[0].topic)
        before = records[:-1]
        if reader.joiner is None or not (reader.joiner.joins_lines or self._is_piece(before[-1], reader, reader.joiner)):
            return len(before)
        if not reader.joiner.joins_lines:
            records = before  # the last one may be the end of the line, and no line is cut before its end
        columns = _columns(records)
        return min(reader.joiner.join(columns, self._decode(records, columns, reader)).held[0], len(before))

    def _is_piece(self, record: Record, reader: TopicReader, joiner: EventJoiner) -> bool:
        """Whether the next record may belong to this one."""
        columns = _columns([record])
        return joiner.may_join(self._decode([record], columns, reader), columns.value)

    def _decode(self, records: Sequence[Record], columns: RecordColumns, reader: TopicReader) -> Decoded:
        headers = [record.headers for record in records] if any(record.headers for record in records) else None
        if self._schemas is not None:
            self._schemas.fetch_for(columns.value, headers)
        return reader.decoder.decode(columns.value, bounded_times(columns.time_ms, self._wall_ms()), headers)

    def _compute(self, records: Sequence[Record], reader: TopicReader) -> list[Expected]:
        columns = _columns(records)
        decoded = self._decode(records, columns, reader)
        if reader.joiner is not None:
            decoded = reader.joiner.join(columns, decoded, is_over=True).decoded
        rule_of = reader.dropped_by(decoded.entries)
        is_dropped = np.zeros(decoded.entries.size, np.bool_) if rule_of is None else rule_of != NO_RULE
        pieces = split_entries(decoded.entries, redactor=self._redactor, chunker=reader.chunker)
        entry_row = pieces.entries.row
        leader_epoch = np.fromiter((record.leader_epoch for record in records), np.int32, len(records))
        stored = lines_of_pieces(pieces, columns.offset, columns.time_ms, leader_epoch)
        line_row, line_dropped = entry_row[pieces.cut.row], is_dropped[pieces.cut.row]
        kept = np.flatnonzero(~line_dropped)
        if len(kept) < stored.size:
            stored.entries[kept] = entries_of_records(line_row[kept], stored.sub[kept])
        lines = _lines_by_record(records, line_row, stored, kept)
        dropped = _lines_by_record(records, line_row, stored, np.flatnonzero(line_dropped))
        rejects: list[list[RejectedPiece]] = [[] for _ in records]
        too_long = pieces.cut.too_long[~is_dropped[pieces.cut.too_long]]
        for row, sub in zip(entry_row[too_long].tolist(), pieces.entries.sub[too_long].tolist(), strict=True):
            rejects[row].append(RejectedPiece(sub, 0, TOO_MANY_CHUNKS))
        refusals = dict(decoded.rejected)
        return [
            Expected(record, tuple(lines[row]), tuple(rejects[row]), tuple(dropped[row]), refusals.get(row))
            for row, record in enumerate(records)
        ]

    def close(self) -> None:
        """Free the tokenizer."""
        self._tokenizer.close()


def open_expected_lines(settings: Settings) -> ExpectedLines:
    """Build the parts from the settings; prepares the model if needed, loads no engine. Raises ModelError or RegistryMisconfigured."""
    registry = open_registry(settings.registry)
    fetch = None if registry is None else SchemaFetch(registry)
    schemas = None if fetch is None else fetch.schemas
    model = model_of(settings)
    tokenizer = Tokenizer(model)
    readers = TopicReaders(settings, model, tokenizer, schemas)
    return ExpectedLines(
        reader_of=readers.of_topic,
        redactor=readers.redactor,
        tokenizer=tokenizer,
        wall_ms=wall_ms,
        schemas=fetch,
        max_record_bytes=settings.decode.max_record_bytes,
    )


def _columns(records: Sequence[Record]) -> RecordColumns:
    """Return records as columns; those of one partition and epoch are neighbours, in the order of their offsets."""
    places = [(record.topic, record.partition, record.epoch) for record in records]
    return RecordColumns(
        offset=np.fromiter((record.offset for record in records), np.int64, len(records)),
        time_ms=np.fromiter((record.time_ms for record in records), np.int64, len(records)),
        key=[record.key for record in records],
        value=[record.value for record in records],
        ends=[row for row in range(1, len(records) + 1) if row == len(records) or places[row] != places[row - 1]],
    )


def _lines_by_record(records: Sequence[Record], row: NDArray[np.int64], lines: Lines, chosen: NDArray[np.int64]) -> list[list[Line]]:
    """Return the chosen lines of each record; `row` says which record each line is of."""
    found: list[list[Line]] = [[] for _ in records]
    if not len(chosen):
        return found
    place = [BlockPlace(record.topic, record.epoch, record.partition) for record in records]
    codes = {one: code for code, one in enumerate(dict.fromkeys(place))}
    code_of_line = np.fromiter((codes[one] for one in place), np.int64, len(place))[row[chosen]]
    for one, code in codes.items():
        of_place = chosen[code_of_line == code]
        for i, line in zip(row[of_place].tolist(), all_lines(one, take_lines(lines, of_place)), strict=True):
            found[i].append(line)
    return found
