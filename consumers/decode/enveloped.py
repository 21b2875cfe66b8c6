"""Entries of values that are inside of others: an envelope says when, and adds fields of its own.

The readers of CloudEvents and MessagePack open the envelopes; what is in them goes the way of JSON or text.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import byte_column, string_column
from consumers.decode.entries import Entries
from consumers.decode.found import NO_TIME, Found, Reader, Values, too_many_entries
from consumers.decode.joined import join_entries
from consumers.decode.json_text import Scalar, write_flat
from consumers.decode.json_times import times_of
from consumers.decode.kept_fields import MOST_BYTES, fits
from consumers.decode.rules import DecodeRules
from consumers.rejection import Rejection


class Content(NamedTuple):
    """What is in an envelope. It may hold several entries, and a value several envelopes.

    Thread: any.
    """

    value: bytes
    """Not empty."""
    is_json: bool
    time: Scalar | None = None
    """When it was logged, if what is inside does not say it."""
    fields: Mapping[str, str] | None = None
    """Kept besides those inside; of one name the one inside counts."""


class Contents:
    """The contents of n values.

    Thread: one.
    """

    def __init__(self, values: Values, rules: DecodeRules) -> None:
        self._values = values
        self._rules = rules
        self._place: list[int] = []
        self._content: list[Content] = []
        self._failed: dict[int, Rejection] = {}

    def admits(self, place: int, events: int) -> bool:
        """Whether a value may hold this many events; if not, it cannot be read."""
        if events <= self._rules.max_entries:
            return True
        self.fail_value(place, too_many_entries(self._rules.max_entries, "events"))
        return False

    def add_value(self, place: int, contents: Sequence[Content]) -> None:
        """Add what a value holds, in its order; the places of values ascend."""
        self._place += [place] * len(contents)
        self._content += contents

    def fail_value(self, place: int, rejection: Rejection) -> None:
        """Say that a value cannot be read."""
        self._failed[place] = rejection

    def found(self, json: Reader, text: Reader) -> Found:
        """Return the entries of all values; a value whose contents cannot all be read has none."""
        is_json = np.array([content.is_json for content in self._content], np.bool_)
        together = join_entries([*self._read(json, np.flatnonzero(is_json)), *self._read(text, np.flatnonzero(~is_json))])
        place = np.array(self._place, np.int64)[together.row]
        counts = np.bincount(place, minlength=self._values.size)
        for many in np.flatnonzero(counts > self._rules.max_entries).tolist():
            self._failed[many] = too_many_entries(self._rules.max_entries)
        left = np.flatnonzero(~np.isin(place, np.array(list(self._failed), np.int64)))
        content, row = together.row[left], place[left]
        sub = (np.arange(len(row)) - np.searchsorted(row, row)).astype(np.int32)
        entries = together.take(left)._replace(row=row, sub=sub)
        entries = entries._replace(time_ms=self._times(entries.time_ms, content, row))
        return Found(self._with_fields(entries, content), sorted(self._failed.items()))

    def _read(self, reader: Reader, rows: NDArray[np.int64]) -> list[Entries]:
        """Read some of the contents; the entries' rows are those of contents, not of values."""
        if not len(rows):
            return []
        place = np.array(self._place, np.int64)[rows]
        inside = [self._content[row].value for row in rows.tolist()]
        found = reader.read(Values(inside, byte_column(inside), self._values.kafka_ms[place])).placed(rows)
        for row, rejection in found.failed:
            self._failed[self._place[row]] = rejection
        return [found.entries]

    def _times(self, time_ms: NDArray[np.int64], content: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return times, those of the envelopes where what is inside names none."""
        given = [(row, self._content[content[row]].time) for row in np.flatnonzero(time_ms == NO_TIME).tolist()]
        written = [(row, time) for row, time in given if time is not None]
        if not written:
            return time_ms
        rows = np.array([row for row, _ in written], np.int64)
        rules, kafka_ms = self._rules, self._values.kafka_ms[place[rows]]
        filled = time_ms.copy()
        filled[rows] = times_of([time for _, time in written], kafka_ms, rules.clock)
        return filled

    def _with_fields(self, entries: Entries, content: NDArray[np.int64]) -> Entries:
        added = [self._content[row].fields for row in content.tolist()]
        if not any(added):
            return entries
        kept: list[str | None] = entries.fields.to_pylist()
        return entries._replace(fields=string_column([_both(one, more or {}) for one, more in zip(kept, added, strict=True)]))


def _both(kept: str | None, added: Mapping[str, str]) -> str | None:
    """Return kept fields with others in front of them; those of an envelope that do not fit are left out, and so are those behind them."""
    own = kept or ""
    more = {name: value for name, value in added.items() if value and fits(value) and write_flat({name: ""})[1:-3].decode() not in own}
    while more:
        written = write_flat(more).decode()
        joined = f"{written[:-1]},{kept[1:]}" if kept else written
        if len(joined.encode()) <= MOST_BYTES:
            return joined
        more.popitem()
    return kept
