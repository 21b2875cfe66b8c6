"""Finds the level at the beginning of lines, as a column; `consumers.decode.from_line` asks.

`find_levels.c` reads them, one line after another from left to right, and says which words count as a level.
"""

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, utf8_of
from consumers.native import BYTES, PLACES, SIZE, c_function, output_of

Levels = NDArray[np.int8]
Bytes = NDArray[np.uint8]


def find_levels(text: Column, start: Bytes, end: Bytes, kind: Bytes) -> Levels:
    """Return the level of each of n lines as a place in `LEVELS`, -1 where it names none: int8[n].

    `start`, `end` and `kind`, uint8[n], are those of `LineTimes`. Raises ValueError where one of them has another length.
    """
    if not len(text) == len(start) == len(end) == len(kind):
        raise ValueError(f"{len(text)} lines have times of {len(start)}, {len(end)} and {len(kind)}")
    data, places = utf8_of(text)
    levels = np.empty(len(text), np.int8)
    _FIND_LEVELS(data, places, len(text), start, end, kind, levels)
    return levels


_FIND_LEVELS = c_function(__file__, "find_levels", "find_levels", BYTES, PLACES, SIZE, BYTES, BYTES, BYTES, output_of(np.int8))
