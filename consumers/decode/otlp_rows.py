"""Collects the entries of OTLP log records, in the order in which they are found, and makes columns of them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import coded_texts, null_column, string_column, used_values
from consumers.decode.entries import Entries
from consumers.decode.found import NO_TIME, Found
from consumers.decode.inner_objects import InnerObjects
from consumers.decode.json_text import Scalar
from consumers.decode.json_times import times_of
from consumers.decode.levels import LEVELS
from consumers.decode.otlp_entry import OtlpEntry
from consumers.decode.rules import DecodeRules
from consumers.rejection import Rejection

LEVEL_CODES: Final = {level: code for code, level in enumerate(("", *LEVELS))}
_NS_PER_MS: Final = 1_000_000


class TooManyRecords(Exception):
    """The value has more log records than are allowed, or more resources or scopes."""


class OtlpRows:
    """The entries that one call of `read` found, as lists of one length.

    Thread: one.
    """

    def __init__(self) -> None:
        self.place: list[int] = []
        self.sub: list[int] = []
        self.text: list[str] = []
        self.time_ns: list[int] = []
        self.service: list[str] = []
        self.level: list[int] = []
        """Codes, `LEVEL_CODES`."""
        self.fields: list[str | None] = []
        self.trace: dict[int, str] = {}
        """By row."""
        self.template: dict[int, str] = {}
        """By row."""
        self.time: dict[int, Scalar] = {}
        """By row: times as they are written, where the settings name a field of one."""
        self.written: dict[int, bool] = {}
        """Rows whose text is JSON that a reader has written, so that it is no object to be read."""
        self.failed: list[tuple[int, Rejection]] = []

    def add_entry(self, entry: OtlpEntry) -> None:
        """Add an entry; its place and sub come with `end_value`."""
        if entry.trace:
            self.trace[len(self.text)] = entry.trace
        if entry.template is not None:
            self.template[len(self.text)] = entry.template
        if entry.time is not None:
            self.time[len(self.text)] = entry.time
        if not entry.is_said:
            self.written[len(self.text)] = True
        self.text.append(entry.text)
        self.time_ns.append(entry.time_ns)
        self.service.append(entry.service)
        self.level.append(LEVEL_CODES[entry.level])
        self.fields.append(entry.fields)

    def end_value(self, place: int) -> None:
        """Say that the entries added since the last call are those of one value."""
        size = len(self.text) - len(self.place)
        self.place += [place] * size
        self.sub += range(size)

    def fail_value(self, place: int, rejection: Rejection) -> None:
        """Take back the entries added since the last call: their value cannot be read."""
        size = len(self.place)
        for column in (self.text, self.time_ns, self.service, self.level, self.fields):
            del column[size:]
        for rows in (self.trace, self.template, self.time, self.written):
            while rows and next(reversed(rows)) >= size:
                rows.popitem()
        self.failed.append((place, rejection))

    def found(self, rules: DecodeRules, kafka_ms: NDArray[np.int64], inner: InnerObjects) -> Found:
        """Return all as columns, with what `inner` reads in their texts; `kafka_ms`: Kafka's times of the values."""
        size = len(self.text)
        place = np.array(self.place, np.int64)
        entries = Entries(
            row=place,
            sub=np.array(self.sub, np.int32),
            text=string_column(self.text),
            time_ms=self._times(rules, kafka_ms[place]),
            service=coded_texts(self.service),
            level=used_values(np.array(self.level, np.int32), tuple(LEVEL_CODES)),
            fields=string_column(self.fields) if size else null_column(0),
            trace=string_column([self.trace.get(row) for row in range(size)]) if self.trace else None,
            template=string_column([self.template.get(row) for row in range(size)]) if self.template else None,
        )
        may_be_inside = None if not self.written else np.setdiff1d(np.arange(size), list(self.written))
        return Found(inner.open(entries, kafka_ms[place], may_be_inside), self.failed)

    def _times(self, rules: DecodeRules, kafka_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        time_ns = np.array(self.time_ns, np.uint64)
        time_ms = np.where(time_ns == 0, NO_TIME, (time_ns // np.uint64(_NS_PER_MS)).astype(np.int64))
        if self.time:
            rows = np.array(list(self.time), np.int64)
            given = times_of(list(self.time.values()), kafka_ms[rows], rules.clock)
            time_ms[rows] = np.where(given == NO_TIME, time_ms[rows], given)
        return time_ms
