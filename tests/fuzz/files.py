"""What `make fuzz` checks of files and of events: any bytes end, in pieces as at once; events are the same in any batches."""

import bz2
import gzip
import io
import lzma
from contextlib import suppress
from typing import Final

from producers.file_bytes import open_text
from tests.producers.test_file_bytes import Pipe
from tests.worker.indexing.language_events import BLOCKS
from tests.worker.indexing.test_event_languages import in_batches

_MOST_BYTES: Final = 1 << 22
_MOST_LINES: Final = 40
_STARTS: Final = tuple(BLOCKS)
_LINES: Final = b"2026-11-23 10:00:00 ERROR one\n" * 3
FILES: Final = (
    _LINES,
    gzip.compress(_LINES, mtime=0),
    gzip.compress(_LINES, mtime=0) * 2,
    bz2.compress(_LINES),
    lzma.compress(_LINES),
    bytes.fromhex("28b52ffd2403190000616263c5fd30a0"),
    bytes.fromhex("502a4d1800000000"),
    "\ufeffone\ntwo".encode("utf-16-le"),
    "one line of UTF-16".encode("utf-16-be"),
)
EVENTS: Final = tuple(bytes([number]) + text.encode() for number, text in enumerate(BLOCKS.values()))


def check_file(given: bytes) -> None:
    """Read a file with these bytes at once and in pieces; what is not damaged is the same."""
    with suppress(OSError):  # an archive
        whole, said = _read(given, len(given) + 1)
        pieces, said_of_pieces = _read(given, 3)
        assert len(said) <= 2 and len(said_of_pieces) <= 2  # noqa: PT018 - one of the codec, one of the encoding
        assert whole == pieces or said, "a pipe has other lines"


def _read(given: bytes, piece_bytes: int) -> tuple[bytes, list[str]]:
    said: list[str] = []
    return open_text(io.BufferedReader(Pipe(given, piece_bytes)), "f", said.append).read(_MOST_BYTES), said


def check_events(given: bytes) -> None:
    """Join lines of the language that the first byte names, at once and record by record."""
    start = _STARTS[given[0] % len(_STARTS)] if given else _STARTS[0]
    values = given[1:].split(b"\n")[:_MOST_LINES]
    assert in_batches(values, start, range(1, len(values))) == in_batches(values, start, ()), "events depend on batches"
