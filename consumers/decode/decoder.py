"""Decodes the values of records into log entries: plain text and JSON.

Prepare calls `Decoder.decode` once for the values of many records. Texts stay in Arrow's memory; JSON is parsed value by value
(`consumers.decode.json_records`). The raw text is kept unchanged except for one line end. The reason of a rejection contains nothing of the
value.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from consumers.columns import (
    Coded,
    Column,
    as_text,
    byte_column,
    coded_alike,
    coded_texts,
    concat,
    null_column,
    string_column,
    strip_line_ends,
    take,
    text_bytes,
    used_values,
    utf8_of,
)
from consumers.decode.entries import Decoded, Entries
from consumers.decode.json_document import TooManyEntries
from consumers.decode.json_records import JsonEntries, JsonRecords
from consumers.rejection import Rejection

Format = Literal["auto", "text", "json"]
MAX_RECORD_BYTES = 1_000_000

UNDECODABLE = "undecodable"
"""The kind of a rejection that other settings of format or encoding can avoid; every other kind is the record's own fault."""

_WHITE_SPACE = b" \t\n\r\v\f"
_OBJECT, _ARRAY, _UNSURE = 1, 2, 4
_BEGINS, _FOLLOWS = np.zeros((2, 256), np.uint8)
_BEGINS[list(b"{[")] = _OBJECT, _ARRAY
_BEGINS[list(_WHITE_SPACE)] = _UNSURE
_FOLLOWS[list(b'"}{]')] = _OBJECT, _OBJECT, _ARRAY, _ARRAY
_FOLLOWS[list(_WHITE_SPACE)] = _OBJECT | _ARRAY
"""What a value is by its first byte, and what it may be by its second."""


class Decoder:
    """Has no state except its counters and a memory of names of levels; never returns an entry with an empty text.

    Thread: one; its counters may be read from any.
    """

    def __init__(
        self, *, form: Format = "auto", strict: bool = False, max_entries: int = 10_000, max_record_bytes: int = MAX_RECORD_BYTES
    ) -> None:
        """`strict` makes bytes that are not UTF-8 undecodable; `max_entries` bounds the entries of one record.

        `max_record_bytes` bounds its value, and so the time and memory that one record can take: JSON takes up to 25 times its size
        while it is decoded.
        """
        self._form = form
        self._strict = strict
        self._max_record_bytes = max_record_bytes
        self._json = JsonRecords(max_entries=max_entries)
        self.replaced_records = 0
        """Records in which bytes that are not UTF-8 were replaced."""
        self.text_records = 0
        self.json_records = 0
        self.refused_records = 0

    def decode(self, value: Sequence[bytes | None], time_ms: NDArray[np.int64]) -> Decoded:
        """Decode the values of n records, which have the times `time_ms`, int64[n]. A value above the size limit is not looked at."""
        rejected: dict[int, Rejection] = {}
        raw = byte_column(value)
        sizes = text_bytes(raw)
        is_open = sizes > 0
        for row in np.flatnonzero(sizes > self._max_record_bytes).tolist():
            rejected[row] = _rejection("too_large", f"{sizes[row]} bytes, {self._max_record_bytes} are allowed")
        is_open[list(rejected)] = False
        is_json = self._find_json(value, raw) & is_open
        if self._form == "json":
            rejected |= {row: _rejection(UNDECODABLE, "not a JSON object or array") for row in np.flatnonzero(is_open & ~is_json).tolist()}
        text = as_text(raw)
        if text is None:
            value = self._mend(value, is_json, rejected)
            text = as_text(byte_column(value))
        found = self._read_json(value, text, is_json, rejected)
        is_open[list(rejected)] = False
        text_rows = np.flatnonzero(is_open & ~is_json)
        self.text_records += len(text_rows)
        self.refused_records += len(rejected)
        entries = _entries_of(found, text_rows, text if len(text_rows) == len(value) else take(text, text_rows), time_ms)
        is_open[entries.row] = False
        is_empty = is_open | (sizes == 0)
        return Decoded(entries, np.flatnonzero(is_empty), sorted(rejected.items()))

    def _find_json(self, value: Sequence[bytes | None], raw: Column) -> NDArray[np.bool_]:
        """Return which values may be JSON by how they begin: bool[n]. Many lines of text begin with a bracket: `[Sun Dec 04 …`."""
        is_json = np.zeros(len(value), np.bool_)
        if self._form != "text":
            data, ends = utf8_of(raw)
            rows = np.flatnonzero(np.diff(ends))
            begins = _BEGINS[data[ends[rows]]]
            second = np.minimum(ends[rows] + 1, len(data) - 1)  # of one byte alone the next one's, but that is no JSON either way
            follows = _FOLLOWS[data[second]] if self._form == "auto" else _OBJECT | _ARRAY
            is_json[rows] = (begins & follows) != 0
            for row in rows[begins == _UNSURE].tolist():
                is_json[row] = (value[row] or b"").lstrip(_WHITE_SPACE).startswith((b"{", b"["))
        return is_json

    def _mend(self, value: Sequence[bytes | None], is_json: NDArray[np.bool_], rejected: dict[int, Rejection]) -> list[bytes | None]:
        """Return the values as valid UTF-8, without the rejected ones. One with invalid bytes is never JSON."""
        mended = list(value)
        for row, one in enumerate(value):
            if row in rejected:
                mended[row] = None
            elif one is not None and not _is_utf8(one):
                if is_json[row] and self._form == "json":
                    rejected[row] = _rejection(UNDECODABLE, "not valid JSON")
                elif self._strict:
                    rejected[row] = _rejection(UNDECODABLE, "not valid UTF-8")
                else:
                    self.replaced_records += 1
                is_json[row] = False
                mended[row] = None if row in rejected else one.decode("utf-8", "replace").encode()
        return mended

    def _read_json(
        self, value: Sequence[bytes | None], text: Column, is_json: NDArray[np.bool_], rejected: dict[int, Rejection]
    ) -> JsonEntries | None:
        """Read the values that are JSON; returns their entries, with the rows of the values as places. What turns out as text is marked."""
        rows = np.flatnonzero(is_json)
        if not len(rows):
            return None
        documents = [one for one, is_one in zip(value, is_json.tolist(), strict=True) if is_one and one]
        found = self._json.read(documents, text if len(rows) == len(value) else take(text, rows))
        for place, error in found.failed:
            row = int(rows[place])
            if isinstance(error, TooManyEntries):
                rejected[row] = _rejection("too_many_entries", str(error))
            elif self._form == "json":
                rejected[row] = _rejection(UNDECODABLE, str(error))
            else:
                is_json[row] = False  # a text line that happens to begin with a bracket
        self.json_records += len(rows) - len(found.failed)
        return found._replace(place=rows[found.place])


def _entries_of(found: JsonEntries | None, rows: NDArray[np.int64], text: Column, time_ms: NDArray[np.int64]) -> Entries:
    """Join the entries of JSON records and the texts of others, in the order of their rows, without those that are empty."""
    size = len(rows)
    sub = np.zeros(size, np.int32)
    service = level = coded_alike("", size)
    if found is not None:
        texts = string_column(found.text)
        text = concat([texts, text]) if size else texts
        rows, sub = np.concatenate([found.place, rows]), np.concatenate([found.sub, sub])
        service, level = _labels(found.service, size), _labels(found.level, size)
    text = strip_line_ends(text)
    order = np.argsort(rows, kind="stable")
    order = order[text_bytes(text)[order] > 0]
    if not np.array_equal(order, np.arange(len(rows))):
        text, rows, sub = take(text, order), rows[order], sub[order]
        service, level = used_values(service.codes[order], service.values), used_values(level.codes[order], level.values)
    return Entries(rows, sub, text, time_ms[rows], service, level, null_column(len(rows)))


def _labels(found: list[str], more: int) -> Coded:
    """Return labels as a column, followed by empty ones."""
    return coded_texts([*found, *[""] * more]) if any(found) else coded_alike("", len(found) + more)


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _rejection(kind: str, reason: str) -> Rejection:
    return Rejection("decode", kind, f"{kind}: {reason}")
