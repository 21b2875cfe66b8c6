"""Which format a value has: what `auto` decides by.

In this order: headers, first bytes (compressed values come decompressed), JSON or a string of JSON by its first two bytes, syslog by its
priority or its cookie, text. Byte 0 or a header means a schema only where there is a registry. `otlp_proto` and `logfmt` are never guessed:
nothing in a value says that it is one of them.
"""

from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, take, utf8_of
from consumers.decode.cloud_events import find_cloud_events
from consumers.decode.found import Values
from consumers.decode.registry_wire import find_framed
from consumers.decode.rules import Format
from consumers.decode.syslog_frames import find_syslog
from consumers.text.regex import find_matching

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""By the code that `find_formats` gives."""
_CODES: Final = {form: code for code, form in enumerate(FORMATS)}

_WHITE_SPACE = b" \t\n\r\v\f"
_BEFORE = _WHITE_SPACE + b"\x1e"
"""RS begins each object of a JSON text sequence (RFC 7464)."""
_OBJECT, _ARRAY, _UNSURE, _STRING = 1, 2, 4, 8
_BEGINS, _FOLLOWS = np.zeros((2, 256), np.uint8)
_BEGINS[list(b'{["')] = _OBJECT, _ARRAY, _STRING
_BEGINS[list(_BEFORE)] = _UNSURE
_FOLLOWS[list(b'"}{]')] = _OBJECT, _OBJECT, _ARRAY | _STRING, _ARRAY
_FOLLOWS[list(_WHITE_SPACE)] = _OBJECT | _ARRAY
"""What a value is by its first byte, and what it may be by its second."""
_AT, _C = b"@c"
_WITH_COOKIE: Final = (
    r"^(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT\S{8,26}) [^\s:\[]{1,255} [^\s:\[]{1,128}(?:\[[^\]\s]{1,32}\])?:"
    r" {0,2}@cee: {0,4}\{"
)


def find_formats(form: Format, values: Values, is_open: NDArray[np.bool_], *, has_registry: bool) -> NDArray[np.int8]:
    """Return the format of each of n values as its place in `FORMATS`: int8[n]; only those that `is_open` is true of are looked at.

    `has_registry`: there is a Schema Registry, so a value may name a schema.
    """
    if form != "auto":
        return np.full(values.size, _CODES[form], np.int8)
    found = np.full(values.size, _CODES["text"], np.int8)
    found[_may_be_json(values) & is_open] = _CODES["json"]
    syslog = find_syslog(values)
    found[syslog[is_open[syslog]]] = _CODES["syslog"]
    found[_find_cookies(values.column, np.flatnonzero(is_open & (found == _CODES["text"])))] = _CODES["syslog"]
    if has_registry:
        found[find_framed(values) & is_open] = _CODES["registry"]
    found[find_cloud_events(values.headers, values.size) & is_open] = _CODES["cloudevents"]
    return found


def _find_cookies(column: Column, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which values in these rows are syslog without a priority around JSON: a head, then the cookie of such messages."""
    lines = column if len(rows) == len(column) else take(column, rows)
    data, ends = utf8_of(lines)
    if b"@" not in data.tobytes():  # a search for one byte costs less than one for several
        return np.empty(0, np.int64)
    begins = np.flatnonzero(data[:-1] == _AT)
    found = np.unique(np.searchsorted(ends, begins[data[begins + 1] == _C], side="right") - 1)
    chosen: NDArray[np.int64] = rows[found[np.array(find_matching(take(lines, found), _WITH_COOKIE), np.int64)]]
    return chosen


def _may_be_json(values: Values) -> NDArray[np.bool_]:
    """Return which values may be JSON by how they begin: bool[n]. Many lines of text begin with a bracket: `[Sun Dec 04 …`."""
    is_json = np.zeros(values.size, np.bool_)
    data, ends = utf8_of(values.column)
    rows = np.flatnonzero(np.diff(ends))
    begins = _BEGINS[data[ends[rows]]]
    second = np.minimum(ends[rows] + 1, len(data) - 1)  # of one byte alone the next one's, but that is no JSON either way
    is_json[rows] = (begins & _FOLLOWS[data[second]]) != 0
    for row in rows[begins == _UNSURE].tolist():
        is_json[row] = (values.value[row] or b"").lstrip(_BEFORE).startswith((b"{", b"[", b'"{'))
    return is_json
