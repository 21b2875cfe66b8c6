r"""Native regular expressions over whole lists of texts: RE2 through `pyarrow.compute`, which frees the GIL.

Masks and redaction pass in lists and keep *columns* (UTF-8 strings in Arrow's memory) from one pattern to the next. RE2 never backtracks,
so time is linear in the text, whatever a producer writes into it; it has no look-around and no back-references. `\b`, `\d`, `\w` and `\s`
are ASCII only. This file is the only one that imports the binding.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Column = Any
"""n texts of together less than 2 GiB in Arrow's memory (`pyarrow.Array` of strings); the binding has no types."""

Places = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
"""Ascending indices of texts in a column, or offsets in its bytes."""

Utf8 = np.ndarray[Any, np.dtype[np.uint8]]

_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_BLOCK_BYTES = 64 * 1024
_LINE_FEED = ord("\n")
_PROBES = ("", "a", " a ", "1", "a-1 b\n", "é語")


def as_column(texts: Sequence[str]) -> Column:
    """Copy n texts into a column. Lone surrogates, which are not valid text, become `?`."""
    try:
        return pa.array(texts, type=pa.string())
    except UnicodeEncodeError:
        return pa.array([text.encode("utf-8", "replace") for text in texts], type=pa.binary()).cast(pa.string())


def as_texts(column: Column) -> list[str]:
    """Return the n texts of a column."""
    texts: list[str] = column.to_pylist()
    return texts


def unique_texts(column: Column) -> tuple[list[str], list[int]]:
    """Return the k distinct texts of n, and for each of the n texts its index in that list."""
    encoded = column.dictionary_encode()
    return as_texts(encoded.dictionary), encoded.indices.to_pylist()


def replace_matches(column: Column, pattern: str, replacement: str) -> Column:
    r"""Replace every match in all n texts.

    In `replacement`, `\1` to `\9` are the match's groups, `\0` is all of it and `\\` is a backslash. Patterns are compiled at every
    call (0.1 ms for a long one), so lists should be long.
    """
    return pc.replace_substring_regex(column, pattern=pattern, replacement=replacement)


def replace_matches_at(column: Column, places: Sequence[int] | Places, pattern: str, replacement: str) -> Column:
    """Replace every match in the texts at these places (ascending)."""
    if not len(places):
        return column
    if len(places) == len(column):
        return replace_matches(column, pattern, replacement)
    chosen = np.zeros(len(column), dtype=np.bool_)
    chosen[places] = True
    return pc.replace_with_mask(column, chosen, replace_matches(take_texts(column, places), pattern, replacement))


def find_matching(column: Column, pattern: str) -> list[int]:
    """Return the places of the texts in which the pattern matches somewhere."""
    places: list[int] = pc.indices_nonzero(pc.match_substring_regex(column, pattern=pattern)).to_pylist()
    return places


def find_containing(column: Column, literal: str) -> Places:
    """Return the places of the texts that contain this ASCII literal; may include a text where the literal crosses into the next."""
    text, offsets = _viewed(column)
    first, *others = literal.encode()
    blocks = [np.empty(0, dtype=np.int64)]
    for start in range(0, len(text), _BLOCK_BYTES):
        found = np.flatnonzero(text[start : start + _BLOCK_BYTES] == first) + start
        for more, byte in enumerate(others, start=1):
            found = found[: np.searchsorted(found, len(text) - more)]
            found = found[text[found + more] == byte]
        blocks.append(found)
    places: Places = np.searchsorted(offsets, np.concatenate(blocks), side="right") - 1
    return places[np.diff(places, prepend=-1) > 0]


def find_starting(column: Column, characters: str) -> Places:
    """Return the places of the texts that begin with one of these ASCII characters."""
    text, offsets = _viewed(column)
    filled = np.flatnonzero(np.diff(offsets))
    wanted = np.zeros(256, dtype=np.bool_)
    wanted[list(characters.encode())] = True
    places: Places = filled[wanted[text[offsets[filled]]]]
    return places


def take_texts(column: Column, places: Sequence[int] | Places) -> Column:
    """Return the texts at these places, in this order."""
    return column.take(pa.array(places, type=pa.int64()))


def pattern_error(pattern: str, replacement: str) -> str | None:
    """Return in one line why this pattern or its replacement cannot be used; None if they can."""
    if _ANY_BYTE.search(pattern):
        return r"it matches a part of a character (\C)"
    probes = as_column(_PROBES)
    try:
        as_texts(replace_matches(probes, pattern, replacement))
        marked = as_texts(replace_matches(probes, pattern, "\x00"))
        removed = as_texts(replace_matches(probes, pattern, ""))
    except ValueError as error:
        return " ".join(str(error).split())
    if any(one == probe != other for probe, one, other in zip(_PROBES, removed, marked, strict=True)):
        return "it matches the empty text"
    return None


def join_lines(column: Column) -> Column:
    r"""Join n texts into one, each ended by `\n`; a `\n` within them becomes `\r`. One long text is searched faster."""
    if (_viewed(column)[0] == _LINE_FEED).any():
        column = pc.replace_substring(column, pattern="\n", replacement="\r")
    utf8, _ = _viewed(pc.binary_join_element_wise(column, "\n", ""))
    return _from_bytes(utf8, np.array([0, len(utf8)]))


def as_bytes(column: Column) -> bytes:
    """Return the UTF-8 of n texts, concatenated."""
    return _viewed(column)[0].tobytes()


def split_lines(utf8: bytes) -> Column:
    r"""Make a column of lines, which each end with `\n`; Unicode white space is stripped from both ends of each."""
    text = np.frombuffer(utf8, dtype=np.uint8)
    ends = np.flatnonzero(text == _LINE_FEED) + 1
    return pc.utf8_trim_whitespace(_from_bytes(text, np.concatenate([[0], ends])))


def _viewed(column: Column) -> tuple[Utf8, Places]:
    """Return the UTF-8 of n texts and n + 1 offsets, without a copy: text i is `utf8[offsets[i]:offsets[i + 1]]`."""
    _, offsets, utf8 = column.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(utf8 if utf8 is not None else b"", dtype=np.uint8)
    return text[places[0] : places[-1]], places - places[0]


def _from_bytes(utf8: Utf8, offsets: Places) -> Column:
    """Make a column of what `_viewed` returns; no text may begin or end within a character."""
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(utf8))
