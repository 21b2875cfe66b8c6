r"""Reads files as lines, which `feed` and `demo` send to Kafka, one record per line.

Lines end at `\n`; one `\r` before it is not part of the text; a last line without an end counts. Bytes are passed on unchanged, those of
compressed files and of UTF-16 as `producers.file_bytes` reads them. A line above the limit becomes a `LineTooLarge`; at most the limit
and one block are held of it.
"""

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from producers.file_bytes import Say, is_plain, open_text
from producers.rotated_files import in_order

MAX_RECORD_BYTES: Final = 1_000_000
HEAD_BYTES: Final = 1_024
STDIN: Final = "-"
_BLOCK_BYTES: Final = 1 << 18


def unsaid(_line: str) -> None:
    """Say nothing, for those who read a file only to look at it."""


class FileUnreadable(Exception):
    """A file cannot be read as lines; the message is one line for the user."""


class LineTooLarge(NamedTuple):
    """A line that is too long for a record."""

    file: str
    number: int
    """Its line number in the file, from 1."""
    head: bytes
    """Its first HEAD_BYTES bytes."""
    size_bytes: int
    sha256: str
    """64 hex digits, over the whole line without its end."""


class ByteSource(Protocol):
    """A stream of bytes: an open file, a pipe, `io.BytesIO`."""

    def read1(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes as soon as some are there, none at the end."""


class _LongLine:
    r"""A line above the limit, read piece by piece; a final `\r` is held back until the next byte shows whether it is text."""

    def __init__(self, begin: bytes) -> None:
        self._head = b""
        self._held = b""
        self._size_bytes = 0
        self._hash = hashlib.sha256()
        self.add_piece(begin)

    def add_piece(self, piece: bytes) -> None:
        seen = self._held + piece
        self._held = b"\r" if seen.endswith(b"\r") else b""
        self._take(seen[: len(seen) - len(self._held)])

    def end(self, file: str, number: int, *, at_newline: bool) -> LineTooLarge:
        if not at_newline:
            self._take(self._held)
        return LineTooLarge(file, number, self._head, self._size_bytes, self._hash.hexdigest())

    def _take(self, text: bytes) -> None:
        self._head += text[: HEAD_BYTES - len(self._head)]
        self._size_bytes += len(text)
        self._hash.update(text)


def read_lines(source: ByteSource, *, file: str = STDIN, max_record_bytes: int = MAX_RECORD_BYTES) -> Iterator[bytes | LineTooLarge]:
    """Yield every line of `source` as soon as it is complete; `file` is only the name in a TooLarge."""
    return chain.from_iterable(_lists_in(source, file, max_record_bytes))


def _lists_in(source: ByteSource, file: str, max_record_bytes: int) -> Iterator[list[bytes | LineTooLarge]]:
    """Yield the lines of `source` as soon as they are complete, those that end in one block together.

    A block is never larger than the limit, so only a line that began in an earlier block can exceed it; lines within one block need no
    check.
    """
    block_bytes = min(_BLOCK_BYTES, max_record_bytes)
    begin = b""
    long: _LongLine | None = None
    number = 0
    while block := source.read1(block_bytes):
        end = block.find(b"\n")
        if end < 0:
            if long is not None:
                long.add_piece(block)
                continue
            begin += block
            if len(begin) > max_record_bytes + begin.endswith(b"\r"):
                long, begin = _LongLine(begin), b""
            continue
        number += 1
        if long is None:
            first = _finish(begin + block[:end], file, number, max_record_bytes)
        else:
            long.add_piece(block[:end])
            first = long.end(file, number, at_newline=True)
            long = None
        rest = block[end + 1 :]
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n")
        *lines, begin = rest.split(b"\n")
        number += len(lines)
        yield [first, *lines]
    if long is None and len(begin) > max_record_bytes:
        long = _LongLine(begin)
    if long is not None:
        yield [long.end(file, number + 1, at_newline=False)]
    elif begin:
        yield [begin]


def find_files(paths: Sequence[str], say: Say = unsaid) -> tuple[str, ...]:
    """Return the files that these paths name, a folder's oldest first, without opening a pipe. Raises FileUnreadable.

    Of a folder, files that hold no lines (archives, other binary files) or may not be read are left out, and `say` gets a line for each.
    """
    return tuple(chain.from_iterable(_files_at(path, say) for path in paths))


def _files_at(path: str, say: Say) -> Iterator[str]:
    if path == STDIN:
        yield path
    elif not Path(path).exists():
        raise FileUnreadable(f"{path}: no such file")
    elif not os.access(path, os.R_OK):
        raise FileUnreadable(f"{path}: no permission to read it")
    elif Path(path).is_dir():
        yield from _files_in(path, say)
    else:
        yield path


def _files_in(folder: str, say: Say) -> Iterator[str]:
    try:
        files = [str(path) for path in in_order(Path(folder))]
    except OSError as error:
        raise FileUnreadable(f"{folder}: {error.strerror or error}") from None
    refused = {file: why for file in files if (why := _why_not_lines(file)) is not None}
    if len(refused) == len(files):
        raise FileUnreadable(f"{folder}: this folder holds no files of lines; folders in it are not read")
    for file in files:
        if file in refused:
            say(f"{file}: left out, {refused[file]}")
        else:
            yield file


def _why_not_lines(file: str) -> str | None:
    """Return why a file of a folder is left out; None: it is read."""
    try:
        with opened_file(file) as source:
            return "it is binary" if b"\0" in source.peek()[:HEAD_BYTES] else None
    except FileUnreadable as error:
        return str(error).removeprefix(f"{file}: ")


@contextmanager
def opened_file(path: str, say: Say = unsaid) -> Iterator[io.BufferedReader]:
    """Open what a file says; `-` is standard input. `say` gets a line if it is cut off or damaged. Raises FileUnreadable."""
    try:
        with open(0 if path == STDIN else path, "rb", closefd=path != STDIN) as source:
            yield open_text(source, path, say)
    except OSError as error:
        raise FileUnreadable(f"{path}: {error.strerror or error}") from None


def is_read_in_place(path: str) -> bool:
    """Whether a regular file is neither compressed nor recoded, so that its lines are at its bytes. Raises FileUnreadable."""
    try:
        with Path(path).open("rb") as source:
            return is_plain(source)
    except OSError as error:
        raise FileUnreadable(f"{path}: {error.strerror or error}") from None


def read_files(paths: Sequence[str], *, say: Say = unsaid, max_record_bytes: int = MAX_RECORD_BYTES) -> Iterator[bytes | LineTooLarge]:
    """Yield the lines of all files in turn; `-` is standard input. Raises FileUnreadable."""
    return chain.from_iterable(read_lists(paths, say=say, max_record_bytes=max_record_bytes))


def read_lists(
    paths: Sequence[str], *, say: Say = unsaid, max_record_bytes: int = MAX_RECORD_BYTES
) -> Iterator[list[bytes | LineTooLarge]]:
    """Yield the lines that `read_files` yields, those together that were read together. Raises FileUnreadable."""
    for path in find_files(paths, say):
        with opened_file(path, say) as source:
            yield from _lists_in(source, path, max_record_bytes)


def _finish(line: bytes, file: str, number: int, max_record_bytes: int) -> bytes | LineTooLarge:
    text = line[:-1] if line.endswith(b"\r") else line
    return text if len(text) <= max_record_bytes else _LongLine(line).end(file, number, at_newline=True)
