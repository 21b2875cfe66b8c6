r"""Files as lines: what `feed` and `demo` send to Kafka, one record a line.

Lines end at `\n`; one `\r` before it is not text; a last line without an end counts. Bytes pass untouched, whatever they
are. A line above the limit comes out as `TooLarge`, and never more than the limit and one block is held of it.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

MAX_RECORD_BYTES: Final = 1_000_000
HEAD_BYTES: Final = 1_024
STDIN: Final = "-"
_BLOCK_BYTES: Final = 1 << 18


class FileUnreadable(Exception):
    """A file cannot be read as lines; the message is one line for the user."""


class TooLarge(NamedTuple):
    """What is left of a line that is too long for a record.

    Thread: any.
    """

    file: str
    number: int
    """Its line number in the file, from 1."""
    head: bytes
    """Its first HEAD_BYTES bytes."""
    size_bytes: int
    sha256: str
    """64 hex digits, over the whole line without its end."""


class ByteSource(Protocol):
    """Anything that gives bytes as they come: an open file, a pipe, `io.BytesIO`."""

    def read1(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes as soon as there are some, none at the end."""


class _LongLine:
    r"""A line that has outgrown the limit, seen piece by piece; a last `\r` is held back until we know that it is text."""

    def __init__(self, begin: bytes) -> None:
        self._head = b""
        self._held = b""
        self._size_bytes = 0
        self._hash = hashlib.sha256()
        self.add(begin)

    def add(self, piece: bytes) -> None:
        seen = self._held + piece
        self._held = b"\r" if seen.endswith(b"\r") else b""
        self._take(seen[: len(seen) - len(self._held)])

    def end(self, file: str, number: int, *, at_newline: bool) -> TooLarge:
        if not at_newline:
            self._take(self._held)
        return TooLarge(file, number, self._head, self._size_bytes, self._hash.hexdigest())

    def _take(self, text: bytes) -> None:
        self._head += text[: HEAD_BYTES - len(self._head)]
        self._size_bytes += len(text)
        self._hash.update(text)


def read_lines(source: ByteSource, *, file: str = STDIN, max_record_bytes: int = MAX_RECORD_BYTES) -> Iterator[bytes | TooLarge]:
    """Yield every line of `source` as soon as it is complete; `file` is only named in a TooLarge.

    A block is never larger than the limit, so only the line that began in an earlier block can exceed it: the lines that
    lie within one block need no look at all.
    """
    block_bytes = min(_BLOCK_BYTES, max_record_bytes)
    begin = b""
    long: _LongLine | None = None
    number = 0
    while block := source.read1(block_bytes):
        end = block.find(b"\n")
        if end < 0:
            if long is not None:
                long.add(block)
                continue
            begin += block
            if len(begin) > max_record_bytes + begin.endswith(b"\r"):
                long, begin = _LongLine(begin), b""
            continue
        number += 1
        if long is None:
            yield _finish(begin + block[:end], file, number, max_record_bytes)
        else:
            long.add(block[:end])
            yield long.end(file, number, at_newline=True)
            long = None
        rest = block[end + 1 :]
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n")
        lines = rest.split(b"\n")
        begin = lines.pop()
        number += len(lines)
        yield from lines
    if long is None and len(begin) > max_record_bytes:
        long = _LongLine(begin)
    if long is not None:
        yield long.end(file, number + 1, at_newline=False)
    elif begin:
        yield begin


def check_files(paths: Sequence[str]) -> None:
    """Refuse what cannot be read, before anything is started. Raises FileUnreadable; opens nothing, so that pipes stay whole."""
    for path in paths:
        if path == STDIN:
            continue
        if not Path(path).exists():
            message = f"{path}: no such file"
        elif Path(path).is_dir():
            message = f"{path}: is a folder, not a file of lines"
        elif not os.access(path, os.R_OK):
            message = f"{path}: no permission to read it"
        else:
            continue
        raise FileUnreadable(message)


def read_files(paths: Sequence[str], *, max_record_bytes: int = MAX_RECORD_BYTES) -> Iterator[bytes | TooLarge]:
    """Yield the lines of all files in turn, `-` being standard input. Raises FileUnreadable."""
    for path in paths:
        try:
            with open(0 if path == STDIN else path, "rb", closefd=path != STDIN) as source:
                yield from read_lines(source, file=path, max_record_bytes=max_record_bytes)
        except OSError as error:
            raise FileUnreadable(f"{path}: {error.strerror or error}") from None


def _finish(line: bytes, file: str, number: int, max_record_bytes: int) -> bytes | TooLarge:
    text = line[:-1] if line.endswith(b"\r") else line
    return text if len(text) <= max_record_bytes else _LongLine(line).end(file, number, at_newline=True)
