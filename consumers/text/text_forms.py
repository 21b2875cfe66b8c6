"""Forms: texts with every digit replaced by `8`, except a few that may stay when the text is masked.

Lines of one template differ mostly in digits, so thousands of lines have few forms, and a form is masked once for all its lines. This is
correct because the built-in masks do not distinguish one digit from another, except in the `0x` of a hexadecimal number, and a form keeps
`0x`; no mask makes another `0x`, because none that comes before `hex` removes what stands directly after a digit. Hence a text and its form
lose the same bytes, and if no `8` is left of the form, exactly the same is left of the text. So it is never wrong to replace a digit, but a
form of whose digits one is left says nothing about its texts.
"""

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, utf8_of
from consumers.native import BYTES, PLACES, SIZE, c_function, output_of
from consumers.text.codes import find_codes
from consumers.text.regex import column_of

DIGIT = "8"
"""Stands for other digits (in `consumers/text/write_forms.c` too); chosen because it is the rarest digit in codes of HTTP."""

_write_forms = c_function(__file__, "write_forms", "write_forms", BYTES, PLACES, SIZE, output_of(np.uint8))


def forms_of(column: Column, *, keep_codes: bool = False) -> Column:
    """Return the forms of n texts; with `keep_codes`, the digits of codes (`consumers/text/codes.py`) stay."""
    data, ends = utf8_of(column)
    forms = np.empty_like(data)
    _write_forms(data, ends, len(column), forms)
    if keep_codes:
        kept = find_codes(data, ends)
        forms[kept] = data[kept]
    return column_of(forms, ends)


def find_with_codes(column: Column) -> NDArray[np.int64]:
    """Return the places of the texts that hold codes, ascending."""
    data, ends = utf8_of(column)
    return np.unique(np.searchsorted(ends, find_codes(data, ends), side="right") - 1)
