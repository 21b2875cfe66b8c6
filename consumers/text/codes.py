"""Finds codes: numbers that are not variables but say what happened, so they stay in a masked text.

A code is three digits after a word that announces a status (`HTTP 503`, `status: 404`, `code=500`, `"GET / HTTP/1.1" 200`), one to three
digits after errno or behind how a program ended (`exit status 1`, `exited with code 137`, `killed by signal 9`), the version of TLS
(`TLSv1.3`), the class of a status (`4xx`), or a number that forms a code with the capitals before it (`E1234`, `CS0246`, `ORA-00942`); and
the status in a line of an access log, told by its place (`GET /cart 503`, `| 503 |`, `503 2750 - - SC--`). In C
(`consumers/text/flag_codes.c`, `consumers/text/flag_statuses.c`): RE2 has no look-behind, and numpy would pass over the whole text for
each byte beside a number.
"""

import numpy as np
from numpy.typing import NDArray

from consumers.native import BYTES, PLACES, SIZE, c_function, output_of

_flag_codes = c_function(__file__, "flag_codes", "flag_codes", BYTES, PLACES, SIZE, output_of(np.bool_))
_flag_statuses = c_function(__file__, "flag_statuses", "flag_statuses", BYTES, PLACES, SIZE, output_of(np.bool_))


def find_codes(data: NDArray[np.uint8], ends: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the places in `data` of the digits that belong to codes, ascending; the texts are those of `flag_codes`."""
    return np.flatnonzero(flag_codes(data, ends))


def flag_codes(data: NDArray[np.uint8], ends: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return for each byte whether it is a digit of a code: bool[len(data)]. No code depends on another text.

    `ends` is int32[n + 1], ascending, each at most `len(data)`: text i is `data[ends[i]:ends[i + 1]]`.
    """
    flags = np.zeros(len(data), np.bool_)
    _flag_codes(data, ends, len(ends) - 1, flags)
    _flag_statuses(data, ends, len(ends) - 1, flags)
    return flags
