r"""Finds the JSON records whose fate only orjson knows: numbers that may exceed a double's range, and very deep nesting.

orjson refuses both, and so do the general rules (`consumers.decode.json_document`). The fast path does not compute numbers in fields that
nobody looks at, so `consumers.decode.json_records` takes such records from it. May find a record in which nothing is wrong.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, text_bytes
from consumers.text.regex import find_matching

_MOST_NESTED = 900
"""orjson reads 1,024 levels."""
_LARGE_NUMBER = r"[ \t\r\n]*-?[0-9](?:[0-9.]*[eE]\+?[0-9]{3}|[0-9]{199})"
"""What is above 1.8e308 has an exponent of three digits, or more than 200 digits."""
_BEFORE_NUMBER = (":", ",", r"\[")
"""One pattern each: RE2 looks for a fixed first byte five times as fast as for one of several."""


def find_beyond_limits(values: Sequence[bytes], column: Column) -> NDArray[np.bool_]:
    """Return for each of n values whether it may exceed orjson's limits: bool[n]. `column` holds the same n values as texts."""
    found = np.zeros(len(values), np.bool_)
    for before in _BEFORE_NUMBER:
        found[find_matching(column, before + _LARGE_NUMBER)] = True
    for row in np.flatnonzero(text_bytes(column) > _MOST_NESTED).tolist():
        found[row] |= values[row].count(b"{") + values[row].count(b"[") > _MOST_NESTED
    return found
