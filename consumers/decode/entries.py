"""Log entries as columns: what decoding makes of the values of records.

`consumers.decode.decoder` makes them; redaction, chunking and masking go on with them. One record may hold several entries.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column
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
    """The kept fields as a JSON object, or null."""

    @property
    def size(self) -> int:
        """How many entries; `len` counts the columns."""
        return len(self.row)


class Decoded(NamedTuple):
    """What became of a list of values: each is the row of some entry, or empty, or rejected.

    Thread: any.
    """

    entries: Entries
    empty: NDArray[np.int64]
    """int64[m]: the values that hold nothing to index, ascending: tombstones, and those without text."""
    rejected: list[tuple[int, Rejection]]
    """The values that cannot be decoded, ascending, each with the reason."""
