"""Removes terminals' escape codes, colours above all, from texts: they are no part of a message.

`consumers.decode.joined` calls it for the entries of every format: a container's coloured line comes as text or within JSON.
"""

from typing import Final

from consumers.columns import Column
from consumers.text.regex import find_containing, replace_matches_at

_ESCAPE: Final = "\x1b"
_CODES: Final = (
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, moves
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[()*+][0-9A-B]"  # character sets
    r"|[@-Z\\^_78=>]"  # those of one character
    r")"
)
"""ECMA-48. A code that is cut off stays."""


def strip_escapes(column: Column) -> Column:
    """Remove escape codes from n texts without nulls, or with nulls; the same column if no text has one."""
    return replace_matches_at(column, find_containing(column, _ESCAPE), _CODES, "")
