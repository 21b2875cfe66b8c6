"""Log entries as columns: what decoding makes of the values of records.

`consumers.decode.decoder` makes them; redaction, chunking and masking go on with them. One record may hold several entries.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, coded_alike, null_column, string_column, take, used_values
from consumers.rejection import Rejection


class Entries(NamedTuple):
    """n log entries as columns, each of length n, in the order of `row` and `sub`.

    Thread: any.
    """

    row: NDArray[np.int64]
    """int64[n]: which of the given values the entry came from; ascending."""
    sub: NDArray[np.int32]
    """int32[n]: which entry of its value, from 0."""
    text: Column
    """Texts, never empty and never null."""
    time_ms: NDArray[np.int64]
    """int64[n]: when it was logged, milliseconds since 1970; its record's time where the entry does not say."""
    service: Coded
    """Empty where the entry names none."""
    level: Coded
    """`consumers.decode.levels.LEVELS`, or empty."""
    fields: Column
    """The kept fields as a flat JSON object, or null."""
    trace: Column | None = None
    """Stack traces, which become chunks of their own after the text; null where there is none. None: no entry has one."""
    template: Column | None = None
    """Source templates (`consumers.decode.source_template`); null where an entry has none. None: no entry has one."""
    records: NDArray[np.int32] | None = None
    """int32[n]: how many records in a row an entry was joined of, from its row on. None: of one each."""

    @property
    def size(self) -> int:
        """How many entries; `len` counts the columns."""
        return len(self.row)

    def take(self, rows: NDArray[np.int64]) -> "Entries":
        """Copy the given entries, in this order."""
        return Entries(
            row=self.row[rows],
            sub=self.sub[rows],
            text=take(self.text, rows),
            time_ms=self.time_ms[rows],
            service=used_values(self.service.codes[rows], self.service.values),
            level=used_values(self.level.codes[rows], self.level.values),
            fields=take(self.fields, rows),
            trace=None if self.trace is None else take(self.trace, rows),
            template=None if self.template is None else take(self.template, rows),
            records=None if self.records is None else self.records[rows],
        )


def no_entries() -> Entries:
    """Return no entries."""
    none = np.empty(0, np.int64)
    label = coded_alike("", 0)
    return Entries(none, none.astype(np.int32), string_column(()), none, label, label, null_column(0))


class Decoded(NamedTuple):
    """What became of a list of values: each is the row of some entry, or empty, or rejected.

    Thread: any.
    """

    entries: Entries
    empty: NDArray[np.int64]
    """int64[m]: the values that hold nothing to index, ascending: tombstones, and those without text."""
    rejected: list[tuple[int, Rejection]]
    """The values that cannot be decoded, ascending, each with the reason."""
