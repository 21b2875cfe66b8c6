"""Bytes that are not UTF-8: replaced, or a reason to reject their value.

The readers of text, logfmt and syslog call it for the values of a batch.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, as_text, byte_column
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.found import Values, undecodable
from consumers.rejection import Rejection


class ValidText(NamedTuple):
    """The m values that are text.

    Thread: any.
    """

    place: NDArray[np.int64]
    """int64[m]: which of the given values; ascending."""
    text: Column
    failed: list[tuple[int, Rejection]]
    """The others, ascending, each with the reason."""


def read_text(values: Values, *, strict: bool, tally: DecodeTally) -> ValidText:
    """Return n values as texts; `strict`: what is not valid is not replaced."""
    text = as_text(values.column)
    if text is not None:
        return ValidText(np.arange(values.size), text, [])
    mended: list[bytes] = []
    good: list[int] = []
    failed: list[tuple[int, Rejection]] = []
    for row, value in enumerate(values.value):
        valid = value.decode("utf-8", "replace").encode()
        if valid != value:
            if strict:
                failed.append((row, undecodable("not valid UTF-8")))
                continue
            tally.replaced_records += 1
        mended.append(valid)
        good.append(row)
    return ValidText(np.array(good, np.int64), as_text(byte_column(mended)), failed)
