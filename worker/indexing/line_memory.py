"""How much memory lines take from being decoded until they are stored: what prepare tells the ledger of each record.

Measured with tracemalloc and Arrow's own count, CPython 3.11: see `tests/worker/indexing/test_line_memory.py`.
"""

from collections.abc import Sequence
from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import text_bytes
from sinks.block import CodedColumn, Lines

COPIES = 2
"""Lines are copied when they leave a batch and others stay behind: in their flight, or in the builder of their block."""
LINE_BYTES = 160
"""Of a line besides its texts: 76 of its columns, for each copy."""
BATCH_BYTES = 5_120
"""Of the columns themselves: 2,100 of a batch that is on its way, 3,000 of one that waits in flights."""
TEMPLATE_BYTES = 1_100
"""Of a template in flight besides its texts and the numbers of its vector: its id, its key and its place in the flights, 600; and before it
has a vector, the token ids of its text."""
_NUMBER_BYTES = 4


def held_bytes(lines: Lines, *, begins: Sequence[int], is_new: NDArray[np.bool_], dim: int) -> NDArray[np.int64]:
    """Return the memory of each of n ≥ 1 lines, in bytes: int64[n].

    Batches begin at the lines `begins`. `is_new` says which of the values of `lines.template` begin a flight, and so get a vector of `dim`
    float32. What several lines share counts for the first of them.
    """
    held = text_bytes(lines.text).astype(np.int64)
    held += text_bytes(lines.fields)
    held *= COPIES
    held += LINE_BYTES
    held[list(begins)] += BATCH_BYTES
    for column in (lines.service, lines.level, lines.template):
        held[_first_lines(column)] += np.fromiter(map(getsizeof, column.values), np.int64, len(column.values))
    if is_new.any():
        held[_first_lines(lines.template)[is_new]] += TEMPLATE_BYTES + _NUMBER_BYTES * dim
    return held


def _first_lines(column: CodedColumn[str]) -> NDArray[np.int64]:
    """Return the first line of each value: int64[values]."""
    first_lines = np.empty(len(column.values), np.int64)
    first_lines[column.codes[::-1]] = np.arange(len(column.codes) - 1, -1, -1)
    return first_lines
