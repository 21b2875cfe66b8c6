"""What a sender put around a value, of whatever format: compression, then a byte order mark.

`consumers.decode.decoder` opens the values before it looks for their formats. Values without either cost one look at their first bytes, and
one at the names of their headers.
"""

import codecs
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import byte_column, utf8_of
from consumers.decode.compressed import (
    FIRST_BYTES,
    Damaged,
    ValueTooLarge,
    codec_of_magic,
    content_encoding,
    decompress,
    find_codec,
    may_be_text,
)
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.found import Values, decode_rejection, undecodable
from consumers.decode.rules import DecodeRules
from consumers.record import Header
from consumers.rejection import Rejection

_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MARKS: Final = (codecs.BOM_UTF8, *_UTF_16)
_IS_WRAPPED: Final = np.zeros(256, np.bool_)
"""Whether a value may be wrapped, by its first byte."""
_IS_WRAPPED[[*FIRST_BYTES, *(mark[0] for mark in _MARKS)]] = True


class Opener:
    """Opens values; its answer depends on the value, its headers and the rules alone.

    Thread: one; it counts in the tally.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally) -> None:
        self._max_bytes = rules.max_record_bytes
        self._strict = rules.strict
        self._tally = tally

    def open_all(
        self, values: Values, is_open: NDArray[np.bool_], *, part_bytes: int
    ) -> Iterator[tuple[int, Values, dict[int, Rejection]]]:
        """Open those of n values that `is_open` is true of, in parts: its end, its values, and its values that cannot be opened by row.

        A part ends with the value whose content makes `part_bytes` of what was wrapped.
        """
        first, content_bytes = 0, 0
        opened: dict[int, bytes] = {}
        failed: dict[int, Rejection] = {}
        for row in self.find_wrapped(values, is_open):
            content = self.open(values.value[row], () if values.headers is None else values.headers[row])
            if isinstance(content, Rejection):
                failed[row - first] = content
            elif content is not values.value[row]:
                opened[row - first] = content
                content_bytes += len(content)
            if content_bytes >= part_bytes:
                yield row + 1, _replaced(values, first, row + 1, opened), failed
                first, content_bytes, opened, failed = row + 1, 0, {}, {}
        if first < values.size or not values.size:
            yield values.size, _replaced(values, first, values.size, opened), failed

    def find_wrapped(self, values: Values, is_open: NDArray[np.bool_]) -> list[int]:
        """Return the rows of the values that may be wrapped, ascending, among those that `is_open` is true of."""
        data, ends = utf8_of(values.column)
        rows = np.flatnonzero(is_open)
        is_wrapped = _IS_WRAPPED[data[ends[rows]]]
        if values.headers is not None:
            is_wrapped |= np.fromiter((content_encoding(values.headers[row]) is not None for row in rows.tolist()), np.bool_, len(rows))
        return [int(row) for row in rows[is_wrapped]]

    def open(self, value: bytes, headers: tuple[Header, ...] = ()) -> bytes | Rejection:
        """Return what is in a value, the same object if nothing is around it; or why it cannot be opened."""
        codec = find_codec(value, headers)
        if codec is not None:
            try:
                content = decompress(value, codec, max_bytes=self._max_bytes)
            except ValueTooLarge:
                return decode_rejection("too_large", f"compressed as {codec}, more than {self._max_bytes} bytes when decompressed")
            except Damaged:
                return value if may_be_text(value) else undecodable(f"damaged, or not compressed as {codec}")
            if codec_of_magic(content) is not None and not may_be_text(content):
                return undecodable(f"compressed as {codec}, and what is in it is compressed too")
            self._tally.decompressed[codec] += 1
            value = content
        return self._unmarked(value) if value.startswith(_MARKS) else value

    def content_bytes(self, value: bytes, headers: tuple[Header, ...] = ()) -> int:
        """Return how many bytes a value has once it is open; those of the value itself if it cannot be opened."""
        content = self.open(value, headers)
        return len(value) if isinstance(content, Rejection) else len(content)

    def _unmarked(self, value: bytes) -> bytes | Rejection:
        """Remove the byte order mark; UTF-16 becomes UTF-8."""
        encoding = _UTF_16.get(value[:2])
        if encoding is None:
            return value[len(codecs.BOM_UTF8) :]
        marked = value[2:]
        try:
            return marked.decode(encoding).encode()
        except UnicodeDecodeError:
            if self._strict:
                return undecodable("it begins as UTF-16 and is not valid")
        self._tally.replaced_records += 1
        return marked.decode(encoding, "replace").encode()


def _replaced(values: Values, first: int, end: int, opened: Mapping[int, bytes]) -> Values:
    """Return the values `first` to before `end`, with what was opened in the place of its value."""
    if not opened and end - first == values.size:
        return values
    part = list(values.value[first:end])
    for row, content in opened.items():
        part[row] = content
    headers = None if values.headers is None else values.headers[first:end]
    return Values(part, byte_column(part), values.kafka_ms[first:end], headers)
