"""What must hold of any value that a decoder is given: one of the targets for each format.

A value stands between two neighbours that are well-formed. It is an entry, empty or rejected; the neighbours come out as they do without
it, and it comes out as it does alone. Everything of its entries is what their columns promise.
"""

import json
import zlib
from collections.abc import Sequence
from datetime import timedelta, timezone

import numpy as np

from consumers.decode.decoder import Decoder
from consumers.decode.entries import Decoded
from consumers.decode.found import NO_TIME
from consumers.decode.levels import LEVELS
from consumers.decode.registry_schemas import Schemas
from consumers.decode.rules import Clock, DecodeRules, FieldNames, Format
from consumers.record import Header
from tests.consumers.decode.seen import KAFKA_MS, Seen, seen

Headers = tuple[Header, ...]
NO_HEADERS: Headers = ()
_MOST_RECORD_BYTES = 65_536
_MOST_ENTRIES = 500
_MOST_FIELD_BYTES = 4_096
_DAY_MS = 24 * 3600 * 1000
_NAMES = FieldNames(text=("t", "a.b"), time=("when",), level=("l",), service=("s",), keep=("k", "a.b"))


class DecoderCheck:
    """Checks values of one format under two sets of rules; the value itself decides which.

    Thread: the fuzzer's.
    """

    def __init__(
        self,
        form: Format,
        neighbours: tuple[bytes, bytes],
        *,
        headers: Sequence[Headers] = (NO_HEADERS,),
        neighbour_headers: Headers = NO_HEADERS,
        schemas: Schemas | None = None,
    ) -> None:
        """`headers`: those that a value may have; where there are several its first byte says which, and is no part of it."""
        usual = DecodeRules(format=form, max_record_bytes=_MOST_RECORD_BYTES, max_entries=_MOST_ENTRIES)
        special = DecodeRules(
            format=form,
            strict=True,
            names=_NAMES,
            max_other_fields=2,
            clock=Clock(timezone(timedelta(hours=5, minutes=45)), 2020),
            max_record_bytes=_MOST_RECORD_BYTES,
            max_entries=_MOST_ENTRIES,
        )
        self._decoders = [Decoder(rules, schemas=schemas) for rules in (usual, special)]
        self._headers = headers
        self._neighbours = neighbours
        self._neighbour_headers = neighbour_headers
        self._without = [self._read_neighbours(decoder) for decoder in self._decoders]

    def check(self, given: bytes) -> None:
        """Decode a value; raises if anything is not as it must be."""
        choice = zlib.crc32(given) & 1
        headers, value = self._headers[0], given
        if len(self._headers) > 1:
            headers, value = self._headers[(given or b"\0")[0] % len(self._headers)], given[1:]
        first, last = self._neighbours
        own = self._neighbour_headers
        decoder = self._decoders[choice]
        among = self._decode(decoder, [first, value, last], [own, headers, own])
        alone = self._decode(decoder, [value], [headers])
        check_decoded(among, 3)
        check_decoded(alone, 1)
        entries = seen(among.entries)
        assert [entry for entry in entries if entry.row == 0] == self._without[choice][0], "it changes the value before it"
        assert [entry._replace(row=1) for entry in entries if entry.row == 2] == self._without[choice][1], "it changes the value after it"
        own_entries = [entry._replace(row=0) for entry in entries if entry.row == 1]
        assert own_entries == seen(alone.entries), "it has other entries alone"
        assert [one for row, one in among.rejected if row == 1] == [one for _, one in alone.rejected], "it has another reason alone"

    def _read_neighbours(self, decoder: Decoder) -> tuple[list[Seen], list[Seen]]:
        own = self._neighbour_headers
        entries = seen(self._decode(decoder, self._neighbours, [own, own]).entries)
        before, after = ([entry for entry in entries if entry.row == row] for row in (0, 1))
        assert before, "the value before is none"
        assert after, "the value after is none"
        return before, after

    def _decode(self, decoder: Decoder, values: Sequence[bytes], headers: Sequence[Headers]) -> Decoded:
        return decoder.decode(values, np.full(len(values), KAFKA_MS), headers if any(headers) else None)


def check_decoded(decoded: Decoded, size: int) -> None:
    """Check what was made of n values; raises if a column is not what it must be."""
    entries = decoded.entries
    rows = {*entries.row.tolist()}, {*decoded.empty.tolist()}, {row for row, _ in decoded.rejected}
    assert sorted(row for some in rows for row in some) == [*range(size)], "a value is none of entry, empty and rejected, or two of them"
    assert len(decoded.rejected) == len(rows[2]), "a value is rejected twice"
    for _, rejection in decoded.rejected:
        assert rejection.reason.isprintable(), "a reason is not one line"
    places = [*zip(entries.row.tolist(), entries.sub.tolist(), strict=True)]
    assert places == sorted(set(places)), "entries are not in order"
    assert all(sub >= 0 for _, sub in places), "an entry has no number"
    for column in (entries.text, entries.fields, *(column for column in (entries.trace, entries.template) if column is not None)):
        column.validate(full=True)
        assert len(column) == len(places), "a column has another length"
    assert all(entries.text.to_pylist()), "a text is empty"
    assert all(NO_TIME < time <= KAFKA_MS + _DAY_MS for time in entries.time_ms.tolist()), "a time is none, or in the future"
    assert {*entries.level.values} <= {"", *LEVELS}, "a level is none"
    for label in (entries.level, entries.service):
        assert len(label.codes) == len(places), "a column of labels has another length"
        assert {*label.codes.tolist()} == {*range(len(label.values))}, "a label is not used, or not there"
        assert len({*label.values}) == len(label.values), "a label is there twice"
    for fields in entries.fields.to_pylist():
        check_fields(fields)


def check_fields(fields: str | None) -> None:
    if fields is None:
        return
    assert len(fields.encode()) <= _MOST_FIELD_BYTES, "kept fields are too long"
    pairs = json.loads(fields, object_pairs_hook=list)
    assert pairs, "kept fields without a field"
    assert len({name for name, _ in pairs}) == len(pairs), "a field is kept twice"
    for _, value in pairs:
        assert isinstance(value, str | int | float), "a field is neither text nor number nor boolean"
