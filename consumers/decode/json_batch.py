"""The columns of a list of JSON objects, and how the objects are parted into groups whose bits are all alike.

`consumers.decode.json_columns` fills it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column
from consumers.decode.json_text import Scalar

Bits = int | NDArray[np.int64]
"""The bits of a column: one number where all are alike, else int64[n]."""
UNREADABLE: Final = -1
"""The form of nested texts for which the general rules must be asked."""
ABSENT: Final = -1
"""In place of bits: the field is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """What one nested text holds. Only the same one is equal.

    Thread: one.
    """

    leaves: Mapping[str, Scalar]
    flags: Mapping[str, int]
    """The bits of each leaf but `TIME`."""
    form: int
    """Alike for those that have the same names and bits; `UNREADABLE`: ask the general rules."""


class NestedColumn(NamedTuple):
    """A column of nested texts.

    Thread: one.
    """

    key: str
    codes: NDArray[np.int64]
    """int64[n]: places in `values`."""
    values: Sequence[Nested]

    def leaves(self, name: str) -> list[Scalar | None]:
        """Return one field of all n."""
        by_code = [one.leaves.get(name) for one in self.values]
        return [by_code[code] for code in self.codes.tolist()]


class JsonBatch:
    """The columns of n objects, and how they are parted into groups.

    Thread: one.
    """

    def __init__(self, size: int, kafka_ms: NDArray[np.int64], *, has_escapes: bool) -> None:
        self.size = size
        self.has_escapes = has_escapes
        """Whether a string may have a line end in it: JSON writes it as an escape."""
        self.kafka_ms = kafka_ms
        self.columns: dict[str, Sequence[Scalar | None]] = {}
        self.flags: dict[str, Bits] = {}
        """By name: the bits of all n, or int64[n], `ABSENT` where there is none."""
        self.texts: dict[str, Column] = {}
        self.times: dict[str, NDArray[np.int64]] = {}
        self.nested: list[NestedColumn] = []
        self.nested_times: dict[str, Bits] = {}
        """By name of a leaf: `TIME` or 0, for all n or each."""
        self._splits: list[NDArray[np.int64]] = []
        self._left = np.zeros(size, np.bool_)

    def split(self, by: NDArray[np.int64]) -> None:
        """Keep those apart that have different numbers."""
        self._splits.append(by)

    def leave(self, is_left: NDArray[np.bool_]) -> None:
        """Leave objects to the general rules."""
        self._left |= is_left

    def parts(self) -> list[NDArray[np.int64]]:
        """Return the rows of each group."""
        for name, flags in self.flags.items():
            if isinstance(flags, np.ndarray):
                if (flags == flags[0]).all():
                    self.flags[name] = int(flags[0])
                else:
                    self._splits.append(flags)
        if self._left.any():
            self._splits.append(self._left.astype(np.int64))
        if not self._splits:
            return [np.arange(self.size)]
        codes = np.zeros(self.size, np.int64)
        for by in self._splits:
            distinct, places = np.unique(by, return_inverse=True)
            codes = np.unique(codes * len(distinct) + places, return_inverse=True)[1]
        order = np.argsort(codes, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)

    def flags_at(self, row: int) -> dict[str, int] | None:
        """Return the bits of an object by name; None if it is left to the general rules, or one name comes from two places."""
        if self._left[row]:
            return None
        found: dict[str, int] = {}
        for name, flags in self.flags.items():
            flag = flags if isinstance(flags, int) else int(flags[row])
            if flag != ABSENT:
                found[name] = flag
        for nested in self.nested:
            for name, flag in nested.values[int(nested.codes[row])].flags.items():
                if name in found:
                    return None
                time = self.nested_times.get(name, 0)
                found[name] = flag | (time if isinstance(time, int) else int(time[row]))
        return found
