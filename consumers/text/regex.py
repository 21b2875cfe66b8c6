r"""Native regular expressions over whole columns of texts: RE2 through `pyarrow.compute`, which frees the GIL.

Columns (`consumers/columns.py`) have no nulls here and less than 2 GiB of text. RE2 never backtracks, so time is linear in the text,
whatever a producer writes into it; it has no look-around and no back-references. `\b`, `\d`, `\w` and `\s` are ASCII only. This file is
the only one of this room that imports the binding.
"""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from consumers.columns import Column, as_texts, string_column, take

Places = NDArray[np.signedinteger]
"""Ascending indices of texts in a column, or offsets in its bytes."""

Utf8 = NDArray[np.uint8]

_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_BLOCK_BYTES = 64 * 1024
_LINE_FEED = ord("\n")
_PROBES = ("", "a", " a ", "1", "a-1 b\n", "é語")


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
    return pc.replace_with_mask(column, chosen, replace_matches(take(column, np.asarray(places, dtype=np.int64)), pattern, replacement))


def find_matching(column: Column, pattern: str) -> list[int]:
    """Return the places of the texts in which the pattern matches somewhere."""
    places: list[int] = pc.indices_nonzero(pc.match_substring_regex(column, pattern=pattern)).to_pylist()
    return places


def find_literal(column: Column, literal: str) -> list[int]:
    """Return the places of the texts that contain this text; nulls do not."""
    places: list[int] = pc.indices_nonzero(pc.match_substring(column, pattern=literal)).to_pylist()
    return places


def extract_groups(column: Column, pattern: str) -> tuple[NDArray[np.bool_], dict[str, Column]]:
    """Return which of n texts the pattern matches, bool[n], and what each of its named groups holds at the first match.

    A group holds an empty text where it takes no part, and where the pattern does not match.
    """
    found = pc.extract_regex(column, pattern=pattern)
    is_match = np.asarray(found.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    return is_match, {field.name: pc.fill_null(found.field(field.name), "") for field in found.type}


def find_containing(column: Column, literal: str) -> Places:
    """Return the places of the texts that contain this ASCII literal; may include a text where the literal crosses into the next."""
    text, offsets = view_text(column)
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
    text, offsets = view_text(column)
    filled = np.flatnonzero(np.diff(offsets))
    wanted = np.zeros(256, dtype=np.bool_)
    wanted[list(characters.encode())] = True
    places: Places = filled[wanted[text[offsets[filled]]]]
    return places


def pattern_error(pattern: str, replacement: str) -> str | None:
    """Return in one line why this pattern or its replacement cannot be used; None if they can."""
    if _ANY_BYTE.search(pattern):
        return r"it matches a part of a character (\C)"
    probes = string_column(_PROBES)
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
    if (view_text(column)[0] == _LINE_FEED).any():
        column = pc.replace_substring(column, pattern="\n", replacement="\r")
    utf8, _ = view_text(pc.binary_join_element_wise(column, "\n", ""))
    return column_of(utf8, np.array([0, len(utf8)]))


def as_bytes(column: Column) -> bytes:
    """Return the UTF-8 of n texts, concatenated."""
    return view_text(column)[0].tobytes()


def split_lines(utf8: bytes) -> Column:
    r"""Make a column of lines, which each end with `\n`; Unicode white space is stripped from both ends of each."""
    text = np.frombuffer(utf8, dtype=np.uint8)
    ends = np.flatnonzero(text == _LINE_FEED) + 1
    return pc.utf8_trim_whitespace(column_of(text, np.concatenate([[0], ends])))


def view_text(column: Column) -> tuple[Utf8, Places]:
    """Return the UTF-8 of n texts and n + 1 offsets, without a copy: text i is `utf8[offsets[i]:offsets[i + 1]]`."""
    _, offsets, utf8 = column.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(utf8 if utf8 is not None else b"", dtype=np.uint8)
    return text[places[0] : places[-1]], places - places[0]


def column_of(utf8: Utf8, offsets: Places) -> Column:
    """Make a column of what `view_text` returns; no text may begin or end within a character."""
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(utf8))
