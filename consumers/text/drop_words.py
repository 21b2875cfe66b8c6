"""Drops words that hold digits and are names or values: the mask `word`, in C over whole columns (`consumers/text/flag_words.c`).

Parts of words are looked at: runs of letters, digits and the marks that join them, between white space, brackets, quotes, `/`, `:`, `=` and
the like. A part with letters and digits goes if

1. it has no capital: `cart-7f9c6d5b8-x2x9z`, `web01`, `enp3s0`; of a thing that is numbered the word stays: `worker` of `worker-7`,
2. or it begins with a digit: `1.2.3-rc1`, `2:4.1-3ubuntu2`,
3. or its letters and digits change as in no word: `dQw4w9WgXcQ`;

and `kafka:9092` goes, a host of one label or a program before a number. Codes stay, as do hosts with a domain, files and classes, which
other masks know, and names of which digits are a part: `utf8`, `x86_64`. No digit is distinguished from another, and a part goes with all
its digits, so this is as true for a form (`consumers/text/text_forms.py`).
"""

import numpy as np

from consumers.columns import Column, utf8_of
from consumers.native import BYTES, PLACES, SIZE, array_of, c_function, output_of
from consumers.text.codes import flag_codes
from consumers.text.regex import column_of

_flag_words = c_function(__file__, "flag_words", "flag_words", BYTES, PLACES, SIZE, array_of(np.bool_), output_of(np.bool_))


def drop_words(column: Column) -> Column:
    """Return n texts without such words; the same column if there are none."""
    data, ends = utf8_of(column)
    flags = np.zeros(len(data), np.bool_)
    _flag_words(data, ends, len(ends) - 1, flag_codes(data, ends), flags)
    dropped = np.flatnonzero(flags)
    return column_of(data[~flags], ends - np.searchsorted(dropped, ends)) if len(dropped) else column
