"""Decodes the values of records into log entries.

Prepare calls `Decoder.decode` once for the values of many records. Each value goes to the reader of its format; what the readers found
comes back as one list of entries. What a record does not say of itself is taken from the beginning of its text (`from_line`), and the time
from Kafka at last.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, byte_column, coded_texts, present, replace_rows, take, text_bytes
from consumers.decode.cloud_events import CloudEventsReader
from consumers.decode.decode_tally import NO_TEXT, DecodeTally
from consumers.decode.entries import Decoded, Entries
from consumers.decode.formats import FORMATS, find_formats
from consumers.decode.found import NO_TIME, Reader, Values, decode_rejection
from consumers.decode.from_line import LineHeaders
from consumers.decode.inner_objects import InnerObjects
from consumers.decode.joined import join_entries, with_texts
from consumers.decode.json_reader import JsonReader
from consumers.decode.line_zones import DAY_MS
from consumers.decode.logfmt import LogfmtReader
from consumers.decode.msgpack_reader import MsgpackReader
from consumers.decode.opened import Opener
from consumers.decode.otlp_json import OtlpJsonReader
from consumers.decode.otlp_proto import OtlpProtoReader
from consumers.decode.registry_reader import RegistryReader
from consumers.decode.registry_schemas import Schemas
from consumers.decode.rules import DecodeRules, Format
from consumers.decode.syslog import SyslogReader
from consumers.decode.text_reader import TextReader
from consumers.record import Header
from consumers.rejection import Rejection

_PART_BYTES = 8 * 1024 * 1024
"""Of values as they are decoded at once, after decompression; a part exceeds it by less than one value."""
_FALL_BACK: frozenset[Format] = frozenset({"json", "syslog"})
"""Formats that `auto` guesses from first bytes: what turns out to be none of them is text."""


class Decoder:
    """Never returns an entry without a text; the same rules, values, times and headers give the same entries.

    Thread: one; its tally may be read from any.
    """

    def __init__(self, rules: DecodeRules = DecodeRules(), *, tally: DecodeTally | None = None, schemas: Schemas | None = None) -> None:  # noqa: B008 - immutable
        """`tally`: shared by the decoders of a worker; and so are `schemas`, of its Schema Registry. None: it has none."""
        self.tally = DecodeTally() if tally is None else tally
        self._rules = rules
        self._schemas = schemas
        self._opener = Opener(rules, self.tally)
        self._headers = LineHeaders(rules.clock)
        self._inner = InnerObjects(rules, self.tally)
        self._readers: dict[Format, Reader] = {}

    def decode(
        self, value: Sequence[bytes | None], kafka_ms: NDArray[np.int64], headers: Sequence[tuple[Header, ...]] | None = None
    ) -> Decoded:
        """Decode the values of n records with the bounded times `kafka_ms`, int64[n]. A value above the size limit is not looked at."""
        ((_, _, decoded),) = self._decode_parts(value, kafka_ms, headers, part_bytes=sys.maxsize)
        return decoded

    def decode_parts(
        self, value: Sequence[bytes | None], kafka_ms: NDArray[np.int64], headers: Sequence[tuple[Header, ...]] | None = None
    ) -> Iterator[tuple[int, int, Decoded]]:
        """Decode as `decode` does, in parts: the values `first` to before `end`, and what became of them.

        There is more than one only where the senders' compression makes much of few bytes: 4 MB of values can hold gigabytes.
        """
        return self._decode_parts(value, kafka_ms, headers, part_bytes=_PART_BYTES)

    def open_texts(self, entries: Entries, rows: NDArray[np.int64]) -> Entries:
        """Return decoded entries whose texts in `rows`, ascending, became whole later, and are read as objects of JSON if they are."""
        return entries if self._rules.format == "text" else self._inner.open(entries, entries.time_ms, rows)

    def _decode_parts(
        self,
        value: Sequence[bytes | None],
        kafka_ms: NDArray[np.int64],
        headers: Sequence[tuple[Header, ...]] | None,
        *,
        part_bytes: int,
    ) -> Iterator[tuple[int, int, Decoded]]:
        value, rejected = self._without_too_large(value)
        values = Values(value, byte_column(value), kafka_ms, headers)  # type: ignore[arg-type]  # those that are None are not open
        is_open = text_bytes(values.column) > 0
        first = 0
        for end, opened, failed in self._opener.open_all(values, is_open, part_bytes=part_bytes):
            failed |= {row - first: rejected[row] for row in rejected if first <= row < end}
            yield first, end, self._decode_opened(opened, failed)
            first = end

    def _without_too_large(self, value: Sequence[bytes | None]) -> tuple[Sequence[bytes | None], dict[int, Rejection]]:
        """Return values with None for those that are too large, none of which is copied, and why they are rejected."""
        most_bytes = self._rules.max_record_bytes
        if max(map(len, filter(None, value)), default=0) <= most_bytes:
            return value, {}
        sizes = {row: len(one) for row, one in enumerate(value) if one is not None and len(one) > most_bytes}
        kept = [None if row in sizes else one for row, one in enumerate(value)]
        return kept, {row: decode_rejection("too_large", f"{size} bytes, {most_bytes} are allowed") for row, size in sizes.items()}

    def _decode_opened(self, values: Values, rejected: dict[int, Rejection]) -> Decoded:
        """Decode n values that are as their format has them; those in `rejected` are not looked at."""
        sizes = text_bytes(values.column)
        is_open = sizes > 0
        is_open[list(rejected)] = False
        form = find_formats(self._rules.format, values, is_open, has_registry=self._schemas is not None)
        found: list[Entries] = []
        for code in np.unique(form[is_open]).tolist():
            found += self._read(FORMATS[code], values, np.flatnonzero(is_open & (form == code)), rejected)
        self.tally.records["none"] += len(rejected)
        joined = join_entries(found)
        with_text = with_texts(joined)
        self.tally.dropped[NO_TEXT] += joined.size - with_text.size
        entries = self._completed(with_text, values.kafka_ms)
        is_empty = np.ones(values.size, np.bool_)
        is_empty[list(rejected)] = False
        is_empty[entries.row] = False
        return Decoded(entries, np.flatnonzero(is_empty), sorted(rejected.items()))

    def _read(self, form: Format, values: Values, rows: NDArray[np.int64], rejected: dict[int, Rejection]) -> list[Entries]:
        """Read the values in `rows` as one format; `auto` reads as text what turns out not to be of the format that it guessed."""
        found = self._reader(form).read(values.at(rows)).placed(rows)
        self.tally.records[form] += len(rows) - len(found.failed)
        again: list[int] = []
        for place, rejection in found.failed:
            if self._rules.format == "auto" and form in _FALL_BACK and rejection.kind == "undecodable":
                again.append(place)
            else:
                rejected[place] = rejection
        return [found.entries, *self._read("text", values, np.array(again), rejected)] if again else [found.entries]

    def _completed(self, entries: Entries, kafka_ms: NDArray[np.int64]) -> Entries:
        """Return entries with the time, level, service and fields that their texts name, and at last Kafka's time."""
        if not entries.size:
            return entries
        kafka_ms = kafka_ms[entries.row]
        time_ms = _filled(entries.time_ms, NO_TIME, lambda rows: self._headers.times(_texts_at(entries.text, rows), kafka_ms[rows]))
        is_wrong = (time_ms == NO_TIME) | ((kafka_ms > 0) & (time_ms > kafka_ms + DAY_MS))
        level = _labelled(entries.level, entries.text, self._headers.levels)
        service = _labelled(entries.service, entries.text, self._headers.services)
        fields = _with_fields(entries.fields, entries.text, self._headers.fields)
        self._headers.forget()
        return entries._replace(time_ms=np.where(is_wrong, kafka_ms, time_ms), level=level, service=service, fields=fields)

    def _reader(self, form: Format) -> Reader:
        if form not in self._readers:
            if form == "registry":
                self._readers[form] = RegistryReader(self._rules, self._schemas or Schemas(), self.tally)
            else:
                self._readers[form] = _NEW_READER[form](self._rules, self.tally)
        return self._readers[form]


_NEW_READER: Mapping[Format, Callable[[DecodeRules, DecodeTally], Reader]] = {
    "text": TextReader,
    "json": lambda rules, tally: JsonReader(
        rules, tally=tally, batches=OtlpJsonReader(rules, tally), events=CloudEventsReader(rules, tally)
    ),
    "otlp_proto": OtlpProtoReader,
    "otlp_json": OtlpJsonReader,
    "cloudevents": CloudEventsReader,
    "msgpack": MsgpackReader,
    "logfmt": LogfmtReader,
    "syslog": SyslogReader,
}


def _texts_at(text: Column, rows: NDArray[np.int64]) -> Column:
    """Return the texts in these rows, ascending; uncopied if these are all, as they are in topics of plain lines."""
    return text if len(rows) == len(text) else take(text, rows)


def _with_fields(fields: Column, text: Column, find: Callable[[Column], Column]) -> Column:
    """Return fields with those that texts name in place of those that are null."""
    if not fields.null_count:
        return fields
    if fields.null_count == len(fields):  # as in topics of plain lines
        return find(text)
    rows = np.flatnonzero(~present(fields))
    found = find(take(text, rows))
    return fields if found.null_count == len(rows) else replace_rows(fields, rows, found)


def _filled(
    column: NDArray[np.int64], absent: int, find: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> NDArray[np.int64]:  # fmt: skip
    rows = np.flatnonzero(column == absent)
    if not len(rows):
        return column
    filled = column.copy()
    filled[rows] = find(rows)
    return filled


def _labelled(column: Coded, text: Column, find: Callable[[Column], Coded]) -> Coded:
    """Return labels with those that texts name in place of those that are empty."""
    if column.values == ("",):  # as in topics of plain lines
        return find(text)
    if "" not in column.values:
        return column
    empty = column.values.index("")
    rows = np.flatnonzero(column.codes == empty)
    found = find(_texts_at(text, rows))
    if found.values in ((), ("",)):
        return column
    if len(rows) == len(column.codes):
        return found
    labels = coded_texts([*column.values, *found.values])
    codes = labels.codes[: len(column.values)][column.codes]
    codes[rows] = labels.codes[len(column.values) :][found.codes]
    # The empty label may be in use no more.
    used = np.unique(codes, return_inverse=True)
    return Coded(used[1].astype(np.int32), tuple(labels.values[code] for code in used[0].tolist()))
