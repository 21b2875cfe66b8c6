"""Lines in the format of Kubernetes' container runtimes (CRI): `2026-11-23T10:00:00.123456789Z stdout F text`.

A line of more than 16 KiB, or of which a runtime saw only a part, comes as pieces: all but the last, `F`, are marked `P`. They stay apart
here; `worker.indexing.record_pieces` joins them, and asks for what only the value says, of Docker's `json-file` logger too.
"""

import re
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, coded, cut_texts, take, text_bytes, utf8_of
from consumers.decode.json_text import NotJson, parse_json
from consumers.text.regex import extract_groups

_HEAD: Final = (
    r"^(?P<head>(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) "
    r"(?P<stream>stdout|stderr) (?P<tag>[FP])(?::[^ ]*)?(?: |$))"
)
_LEAST_BYTES: Final = len("2026-11-23T10:00:00Z stdout F")
_FIRST_BLANK, _LAST_BLANK = len("2026-11-23T10:00:00Z"), len("2026-11-23T10:00:00.123456789+00:00")
"""Where the blank before the stream can be."""
_EMPTY_END: Final = re.compile(rb"\d{4}-\d\d-\d\dT\S{8,40} (?P<stream>stdout|stderr) F(?::[^ ]*)? ?[\r\n\0]*")
DOCKER_PIECE_BYTES: Final = 16 * 1024
_DOCKER_BEGIN: Final = b'{"log":"'
_DOCKER_KEYS: Final = frozenset({"log", "stream", "attrs", "time"})
_TEN, _ZERO, _NINE, _BLANK, _S, _D = b"T09 sd"


class CriLines(NamedTuple):
    """The m of n texts that are such lines, as columns of length m.

    Thread: any.
    """

    row: NDArray[np.int64]
    """int64[m]: which of the texts; ascending."""
    text: Column
    """What the container wrote."""
    time: Column
    """When, in RFC 3339."""
    stream: Coded
    """`stdout` or `stderr`."""
    is_partial: NDArray[np.bool_]


def find_cri(text: Column) -> CriLines | None:
    """Return those of n texts that are CRI lines; None if there is none. Others cost a look at a few bytes."""
    row = _candidates(text)
    if not len(row):
        return None
    lines = text if len(row) == len(text) else take(text, row)
    is_cri, found = extract_groups(lines, _HEAD)
    if not is_cri.all():
        chosen = np.flatnonzero(is_cri)
        if not len(chosen):
            return None
        row, lines, found = row[chosen], take(lines, chosen), {name: take(column, chosen) for name, column in found.items()}
    tag = coded(found["tag"])
    return CriLines(
        row,
        cut_texts(lines, text_bytes(found["head"]), text_bytes(lines)),
        found["time"],
        coded(found["stream"]),
        np.array([value == "P" for value in tag.values])[tag.codes],
    )


def _candidates(text: Column) -> NDArray[np.int64]:
    """Return the texts that begin with a digit, have a `T` after the date, and ` st` or so after their first blank."""
    data, ends = utf8_of(text)
    every_byte = data.tobytes()  # a search of all of it costs less than a look at each text
    if b" std" not in every_byte:
        return np.empty(0, np.int64)
    row: NDArray[np.int64] = np.flatnonzero(np.diff(ends) >= _LEAST_BYTES)
    begins = ends[row]
    is_time = (data[begins + 10] == _TEN) & (data[begins] >= _ZERO) & (data[begins] <= _NINE)
    row = np.compress(is_time, row)
    if not len(row):
        return row
    begins = ends[row]
    found = np.zeros(len(row), np.bool_)
    for blank in range(_FIRST_BLANK, _LAST_BLANK + 1):
        place = np.minimum(begins + blank, len(data) - 4)
        found |= (data[place] == _BLANK) & (data[place + 1] == _S) & (data[place + 3] == _D)
    return np.compress(found, row)


class DockerPiece(NamedTuple):
    """A record of Docker's `json-file` logger.

    Thread: any.
    """

    stream: str
    time: str
    """The same in all pieces of a line, in nanoseconds."""
    is_partial: bool
    """The line goes on in the next record."""


def docker_piece(value: bytes) -> DockerPiece | None:
    """Return what Docker's `json-file` logger says in a value of a line's place; None if it did not write the value.

    It ends a line with a line feed, and cuts one of more than 16 KiB.
    """
    if not value.startswith(_DOCKER_BEGIN):
        return None
    try:
        document = parse_json(value)
    except NotJson:
        return None
    if not isinstance(document, dict) or not document.keys() <= _DOCKER_KEYS:
        return None
    text, stream, time = (document.get(name) for name in ("log", "stream", "time"))
    if not (isinstance(text, str) and isinstance(stream, str) and isinstance(time, str)):
        return None
    return DockerPiece(stream, time, not text.endswith("\n") and len(text.encode("utf-8", "replace")) >= DOCKER_PIECE_BYTES)


def stream_of_end(value: bytes) -> str | None:
    """Return the stream of a value that is the last, empty piece of a line; None if it is none."""
    found = _EMPTY_END.fullmatch(value)
    return None if found is None else found["stream"].decode()
