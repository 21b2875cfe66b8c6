"""What a reader of one format is given and what it returns: values in, columns of entries out.

`consumers.decode.decoder` gives each reader the values of its format and joins what the readers found. A reader is a class with
`read(values) -> Found`; it has no state that changes a result. No text of a rejection contains anything of a value.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, take
from consumers.decode.entries import Entries
from consumers.record import Header
from consumers.rejection import Rejection

NO_TIME: Final = -(1 << 63)
"""The entry does not say when it was logged."""

UNDECODABLE = "undecodable"
"""The kind of a rejection that other settings of format or encoding can avoid."""
UNKNOWN_SCHEMA: Final = "unknown_schema"
"""The kind of the rejection of a value whose schema the registry does not have: another registry may. Every other kind is the record's own
fault."""


class Values(NamedTuple):
    """n ≥ 1 values of one format, none empty, none above the size limit.

    Thread: any.
    """

    value: Sequence[bytes]
    column: Column
    """The same values in Arrow's memory, as bytes (`pyarrow.binary`)."""
    kafka_ms: NDArray[np.int64]
    """int64[n]: Kafka's times of their records, milliseconds since 1970; 0 where the broker gave none."""
    headers: Sequence[tuple[Header, ...]] | None = None
    """The headers of their records; None: no record has any."""

    @property
    def size(self) -> int:
        """How many values; `len` counts the columns."""
        return len(self.value)

    def at(self, rows: NDArray[np.int64]) -> "Values":
        """Return the values of ascending rows; these values themselves if the rows are all of them."""
        if len(rows) == self.size:
            return self
        return Values(
            [self.value[row] for row in rows.tolist()],
            take(self.column, rows),
            self.kafka_ms[rows],
            None if self.headers is None else [self.headers[row] for row in rows.tolist()],
        )


class Found(NamedTuple):
    """What a reader made of n values; the entries of one value are neighbours, in their order.

    Until the decoder has completed them, a text may be empty (its entry is left out then) and may end with a line end, and a time may be
    `NO_TIME`. Thread: any.
    """

    entries: Entries
    failed: Sequence[tuple[int, Rejection]] = ()
    """The values that cannot be read, ascending, each with the reason; they have no entries."""

    def placed(self, row: NDArray[np.int64]) -> "Found":
        """Return the same, given which rows of a longer list the values are."""
        return Found(self.entries._replace(row=row[self.entries.row]), [(int(row[place]), rejection) for place, rejection in self.failed])


class Reader(Protocol):
    """Reads the values of one format.

    Thread: one.
    """

    def read(self, values: Values) -> Found:
        """Read n values. Never raises for what a value holds: such a value is among `failed`."""


def undecodable(reason: str) -> Rejection:
    """Return the rejection of a value that is not of its format."""
    return decode_rejection(UNDECODABLE, reason)


def decode_rejection(kind: str, reason: str) -> Rejection:
    """Return a rejection by decoding; `reason` is one line and contains nothing of the value."""
    return Rejection("decode", kind, f"{kind}: {reason}")


def too_many_entries(most: int, what: str = "entries in one record") -> Rejection:
    """Return the rejection of a value that holds more than is allowed."""
    return decode_rejection("too_many_entries", f"more than {most} {what}")
