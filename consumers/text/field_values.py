"""Replaces values of a record's own kept fields in its text, before the text is masked: the mask `field`.

1. A value counts by the name of its field, a fixed list: users, hosts and addresses of clients, pods and containers, ids of requests,
   sessions, traces and spans. The last part of a dotted name decides, or the last two: `host`, `k8s.pod.name`, `ctx.userId`. So a level, a
   status, a state, a code, a method and a service stay, whatever they are.
2. It is replaced where it stands in the text as a whole word. It has at least three bytes and a letter: the masks see numbers themselves,
   and know which are codes.
3. A value with a digit, `-`, `_`, `.`, `@`, `:`, a letter beyond ASCII, or a capital behind a small letter is a name wherever it stands.
   Any other could be an ordinary word (a host called `error`), and is replaced only behind a word that announces it: `user ada`, `for ada`,
   `from gateway`, `pod: web`. A state is no name (a node called `Ready`), nor is what a field `session` holds without a digit.
4. A user leaves `someone`, a host or an address `host`, the others nothing.

A record has at most 16 such values; one that JSON escapes is none. In C (`consumers/text/replace_values.c`): it is done for every line
that has fields.
"""

import numpy as np

from consumers.columns import Column, present, replace_rows, utf8_of
from consumers.native import BYTES, PLACES, SIZE, array_of, c_function, output_of
from consumers.text.regex import column_of

_UNCHANGED, _GROWTH = -1, 3
"""What C says of a text without values; how many times as long a text may become."""

_replace_values = c_function(
    __file__,
    "replace_values",
    "replace_values",
    *(BYTES, PLACES, BYTES, PLACES, array_of(np.bool_), SIZE),
    *(output_of(np.int64), output_of(np.uint8)),
)


def replace_values(text: Column, fields: Column) -> Column:
    """Return n texts without the values of their own fields, n flat JSON objects or nulls; the same column if none holds one."""
    if fields.null_count == len(fields):
        return text
    data, ends = utf8_of(text)
    sizes, replaced = np.empty(len(text), np.int64), np.empty(_GROWTH * len(data), np.uint8)
    _replace_values(data, ends, *utf8_of(fields), present(fields), len(text), sizes, replaced)
    rows = np.flatnonzero(sizes != _UNCHANGED)
    if not len(rows):
        return text
    return replace_rows(text, rows, column_of(replaced, np.append(0, np.cumsum(sizes[rows]))))
