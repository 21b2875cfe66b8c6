"""The objects that a value of JSON holds: one, those of an array, or several one after another.

`consumers.decode.json_reader` asks for them. A value that is a string of JSON is what the string says. A value that cannot be read is
repaired (`consumers.decode.json_repair`) as a whole, else line by line, because an object never goes beyond its line where others do not.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from json import JSONDecoder
from typing import Final

from consumers.decode.json_repair import LINE, RepairedJson, replace_defects
from consumers.decode.json_text import NotJson, parse_json, write_flat

_BLANKS: Final = re.compile("[ \t\r\n]*")
_BORDER: Final = re.compile(rb"[\n\x00\x1e]++")
_GOES_ON: Final = (b"{", b"[", b",", b":")
"""How a line ends whose object goes on in the next one."""
_LINE_NAME: Final = "body"
"""The name that stands before all others as the one of a text."""
_scan = JSONDecoder().raw_decode


class TooManyEntries(Exception):
    """The value has more log entries than are allowed."""


def documents_in(value: bytes, *, max_entries: int) -> list[Mapping[str, object]]:
    """Return the objects of a value: one, those of an array, or several one after another. Raises NotJson, TooManyEntries."""
    try:
        document = parse_json(value)
    except NotJson:
        documents = _several(value, max_entries)
    else:
        documents = document if isinstance(document, list) else [document]
    if len(documents) > max_entries:
        raise TooManyEntries
    objects: list[Mapping[str, object]] = [element for element in map(_object_of, documents) if element is not None]
    if len(objects) < len(documents):
        raise NotJson("JSON, but neither an object nor an array of objects")
    return objects


def repaired_value(value: bytes, *, max_entries: int, strict: bool, keeps_lines: bool) -> RepairedJson | None:
    """Return a value that `documents_in` does not read as one that it may read; None if there is none.

    `keeps_lines`: among lines that are objects, one that begins like an object and is none becomes the text of an object.
    """
    repaired = replace_defects(_without_quotes(value), strict=strict)
    if repaired is not None and _is_read(repaired.value, max_entries):
        return repaired
    return _by_lines(value, max_entries, strict=strict) if keeps_lines else repaired


def _without_quotes(value: bytes) -> bytes:
    """Return what a value says that is a string; the value itself if it is none."""
    if value.lstrip().startswith(b'"'):
        with suppress(NotJson):
            return str(parse_json(value)).encode("utf-8", "replace")
    return value


def _is_read(value: bytes, max_entries: int) -> bool:
    try:
        documents_in(value, max_entries=max_entries)
    except NotJson:
        return False
    except TooManyEntries:
        pass
    return True


def _by_lines(value: bytes, max_entries: int, *, strict: bool) -> RepairedJson | None:
    """Return lines as JSON: at least half of them are objects, maybe after a repair, and the others begin like one and do not go on."""
    lines = [line for line in _BORDER.split(value) if line.strip()]
    if len(lines) > max_entries:
        return None
    written: list[bytes] = []
    what: set[str] = set()
    bad = 0
    for line in lines:
        if _is_object(line):
            written.append(line)
        elif (repaired := replace_defects(line, strict=strict)) and _is_object(repaired.value):
            written.append(repaired.value)
            what |= repaired.what
        elif line.lstrip().startswith(b"{") and not line.rstrip().endswith(_GOES_ON):
            written.append(write_flat({_LINE_NAME: line.decode("utf-8", "replace").rstrip("\r")}))
            what.add(LINE)
            bad += 1
        else:
            return None
    return RepairedJson(b"\n".join(written), frozenset(what)) if what and 2 * bad <= len(lines) else None


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except NotJson:
        return False


def _object_of(element: object) -> Mapping[str, object] | None:
    """Return an element that is an object, or a string of JSON that is one."""
    if isinstance(element, str) and element.lstrip().startswith("{"):
        element = parse_json(element)
    return element if isinstance(element, dict) else None


def _several(value: bytes, max_entries: int) -> list[object]:
    """Return what stands in a value one after another: mostly one object a line. Raises NotJson, TooManyEntries."""
    lines = [line for line in value.split(b"\n") if line.strip()]
    if len(lines) > 1:
        try:
            return [parse_json(line) for line in lines[: max_entries + 1]]
        except NotJson:
            pass
    text = value.decode("utf-8", "replace")
    documents: list[object] = []
    start = _end_of_blanks(text, 0)
    while start < len(text) and len(documents) <= max_entries:
        if text[start] != "{":
            raise NotJson("not valid JSON")
        try:
            _, end = _scan(text, start)
        except (ValueError, RecursionError):
            raise NotJson("not valid JSON") from None
        documents.append(parse_json(text[start:end]))
        start = _end_of_blanks(text, end)
    if not documents:
        raise NotJson("not valid JSON")
    return documents


def _end_of_blanks(text: str, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    return blanks.end() if blanks else start
