r"""Native regular expressions over whole lists of texts: RE2 through `pyarrow.compute`, which frees the GIL.

Masks and redaction hand in lists and stay in *columns* (UTF-8 strings in Arrow's memory) from one pattern to the next. RE2 never
backtracks, so time grows with the text and not with what somebody wrote into it; it has no look-around and no back-references.
`\b`, `\d`, `\w` and `\s` know ASCII alone. This file is the only one that knows the binding.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Column = Any
"""n texts in Arrow's memory (`pyarrow.Array` of strings); the binding has no types."""

_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_PROBES = ("", "a", " a ", "1", "a-1 b\n", "é語")


def as_column(texts: Sequence[str]) -> Column:
    """Copy n texts into a column. Lone surrogates, which are no text, become `?`."""
    try:
        return pa.array(texts, type=pa.string())
    except UnicodeEncodeError:
        return pa.array([text.encode("utf-8", "replace") for text in texts], type=pa.binary()).cast(pa.string())


def as_texts(column: Column) -> list[str]:
    """Return the n texts of a column."""
    texts: list[str] = column.to_pylist()
    return texts


def replaced(column: Column, pattern: str, stand_in: str) -> Column:
    r"""Put `stand_in` in place of every match, in all n texts.

    In a stand-in `\1` to `\9` are the match's groups, `\0` is all of it and `\\` is a backslash. Patterns are compiled at every
    call (0.1 ms for a long one), so lists should be long.
    """
    return pc.replace_substring_regex(column, pattern=pattern, replacement=stand_in)


def replaced_at(column: Column, places: Sequence[int], pattern: str, stand_in: str) -> Column:
    """Do as `replaced`, but only in the texts at these places (ascending)."""
    if not places:
        return column
    chosen = np.zeros(len(column), dtype=np.bool_)
    chosen[list(places)] = True
    return pc.replace_with_mask(column, chosen, replaced(taken(column, places), pattern, stand_in))


def trimmed(column: Column) -> Column:
    """Take white space (Unicode's) off both ends of n texts."""
    return pc.utf8_trim_whitespace(column)


def matching(column: Column, pattern: str) -> list[int]:
    """Return the places (indices, ascending) of the texts in which the pattern matches somewhere."""
    places: list[int] = pc.indices_nonzero(pc.match_substring_regex(column, pattern=pattern)).to_pylist()
    return places


def taken(column: Column, places: Sequence[int]) -> Column:
    """Return the texts at these places, in this order."""
    return column.take(pa.array(places, type=pa.int64()))


def find_fault(pattern: str, stand_in: str) -> str | None:
    """Say in one line why this pattern or its stand-in cannot be used, None if they can."""
    if _ANY_BYTE.search(pattern):
        return r"it matches a part of a character (\C)"
    probes = as_column(_PROBES)
    try:
        as_texts(replaced(probes, pattern, stand_in))
        marked = as_texts(replaced(probes, pattern, "\x00"))
        removed = as_texts(replaced(probes, pattern, ""))
    except ValueError as error:
        return " ".join(str(error).split())
    if any(one == probe != other for probe, one, other in zip(_PROBES, removed, marked, strict=True)):
        return "it matches the empty text"
    return None


def terminated(column: Column) -> Column:
    r"""Put a `\n` at the end of all n texts."""
    return pc.binary_join_element_wise(column, "\n", "")


def as_bytes(column: Column) -> tuple[bytes, np.ndarray[Any, np.dtype[np.int32]]]:
    """Return the UTF-8 of n texts, end to end, and n + 1 offsets: text i is `utf8[offsets[i]:offsets[i + 1]]`."""
    _, offsets, utf8 = column.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return (utf8.to_pybytes() if utf8 is not None else b""), places


def from_bytes(utf8: np.ndarray[Any, np.dtype[np.uint8]], offsets: np.ndarray[Any, np.dtype[np.int32]]) -> Column:
    """Make a column of what `as_bytes` returns; the bytes must be whole characters."""
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(utf8))
