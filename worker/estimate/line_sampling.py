"""Chooses the lines that `vectail estimate` reads: all of them, or short stretches spread over the files.

Logs come in bursts and change over time: the beginning of a file says little about its end, and single lines drawn at random lose the
bursts. A line is taken if it *begins* in one of many windows spread over the file, so long and short lines are equally likely, no line is
taken twice, and only the windows of a file are read and held, however large it is. Input that cannot be sought (standard input, a pipe,
a compressed file) gives its first lines.
"""

import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from producers.file_bytes import Say
from producers.file_lines import STDIN, FileUnreadable, find_files, is_read_in_place, opened_file, unsaid

Basis = Literal["all", "sample", "first"]
"""`first`: the first lines of standard input or of a pipe; an unknown number of lines may follow."""
Line = bytes | None
"""A line without its end; None if it is above the limit."""

STRETCH_LINES = 10
"""Approximate lines per stretch. Longer stretches mean fewer places and worse predictions (`worker.estimate.extrapolation`)."""
_LEAST_STRETCHES = 10
_GOLDEN = (5**0.5 - 1) / 2
"""Fractional parts of its multiples are equidistributed. They place each window within its part of the file, which avoids aliasing with
periodic lines (a report every hour)."""
_PROBES = 64
_PROBE_BYTES = 1 << 16
_BLOCK_BYTES = 1 << 20
_LIST_LINES = 500
_LIST_BYTES = 1 << 22
"""A file that is read whole comes in lists of at most this many lines or bytes."""


class LineStretch(NamedTuple):
    """Consecutive lines of a file."""

    lines: list[Line]
    size_bytes: int
    """In the file, line ends included."""


class LineSample:
    """About `sample_lines` lines of the files, or all of them if there are no more.

    Thread: one.
    """

    def __init__(self, files: Sequence[str], *, sample_lines: int, max_record_bytes: int, say: Say = unsaid) -> None:
        """Reads the sizes; `-` is standard input, a folder its files. `say` gets a line for what is left out. Raises FileUnreadable."""
        self.files = files = find_files(files, say)
        self._say = say
        self._sample_lines = sample_lines
        self._max_record_bytes = max_record_bytes
        self.basis: Basis = "all"
        """Final once everything is read."""
        self.total_bytes: int | None = None
        """Of all files; None if one of them cannot be sought."""
        sizes = [_size_bytes(file) for file in files]
        if None not in sizes:
            self.total_bytes = sum(size or 0 for size in sizes)
            self.basis = "sample" if _has_more_lines(files, sample_lines) else "all"

    def lists(self) -> Iterator[list[LineStretch]]:
        """Read the sample, once; stretches come in lists of some hundred lines, on which masks are fastest. Raises FileUnreadable."""
        waiting: list[LineStretch] = []
        lines = size_bytes = 0
        for stretch in self.stretches():
            waiting.append(stretch)
            lines += len(stretch.lines)
            size_bytes += stretch.size_bytes
            if lines >= _LIST_LINES or size_bytes >= _LIST_BYTES:
                yield waiting
                waiting, lines, size_bytes = [], 0, 0
        if waiting:
            yield waiting

    def stretches(self) -> Iterator[LineStretch]:
        """Read the sample, once. Raises FileUnreadable."""
        share = self._share() if self.basis == "sample" else 1.0
        left = self._sample_lines
        for file in self.files:
            with opened_file(file, self._say) as source:
                if self.basis == "sample":
                    yield from self._windows(source, _size_bytes(file) or 0, share)
                    continue
                for stretch in self._lists(source, left):
                    left -= len(stretch.lines) if self.total_bytes is None else 0
                    yield stretch
            if not left:
                self.basis = "first"
                return

    def _share(self) -> float:
        """Return the share of all bytes that the windows cover, from the density of line ends at even distances."""
        lines = seen_bytes = 0
        for file in self.files:
            size_bytes = _size_bytes(file) or 0
            with opened_file(file) as source:
                for probe in range(_PROBES):
                    source.seek(probe * size_bytes // _PROBES)
                    block = source.read(min(_PROBE_BYTES, size_bytes // _PROBES + 1))
                    lines += block.count(b"\n")
                    seen_bytes += len(block)
        expected_lines = lines * (self.total_bytes or 0) / max(seen_bytes, 1)
        return min(self._sample_lines / max(expected_lines, 1.0), 1.0)

    def _windows(self, source: BinaryIO, size_bytes: int, share: float) -> Iterator[LineStretch]:
        """Yield the lines that begin in windows spread over the file; a file gets windows in proportion to its size."""
        wanted = max(self._sample_lines // STRETCH_LINES, min(self._sample_lines, _LEAST_STRETCHES))
        windows = max(round(wanted * size_bytes / max(self.total_bytes or 0, 1)), 1)
        distance = size_bytes / windows
        reached = 0
        """A line begins here, or the file ends."""
        for window in range(windows):
            place = window + (1 - share) * (window * _GOLDEN % 1)
            begin, end = int(place * distance), int((place + share) * distance)
            if begin > reached:  # else a long line that began earlier reaches into this window, or beyond it
                source.seek(begin - 1)
                reached = begin - 1 + _rest_of_line_bytes(source)
            source.seek(reached)
            begin, lines = reached, []
            while reached < end:
                line, line_bytes = _next_line(source, self._max_record_bytes)
                if not line_bytes:
                    break
                lines.append(line)
                reached += line_bytes
            if lines:
                yield LineStretch(lines, reached - begin)

    def _lists(self, source: BinaryIO, most_lines: int) -> Iterator[LineStretch]:
        """Yield the lines of a file in order; at most `most_lines` if it cannot be sought."""
        found = iter(lambda: _next_line(source, self._max_record_bytes), (b"", 0))
        if self.total_bytes is None:
            found = islice(found, most_lines)  # not one more: on a silent pipe that would block
        lines: list[Line] = []
        size_bytes = 0
        for line, line_bytes in found:
            lines.append(line)
            size_bytes += line_bytes
            if len(lines) >= _LIST_LINES or size_bytes >= _LIST_BYTES:
                yield LineStretch(lines, size_bytes)
                lines, size_bytes = [], 0
        if lines:
            yield LineStretch(lines, size_bytes)


def _next_line(source: BinaryIO, max_record_bytes: int) -> tuple[Line, int]:
    r"""Return the next line and its bytes with the line end, 0 at the end of the file. Splits lines as `producers.file_lines` does."""
    raw = source.readline(max_record_bytes + 2)
    if not raw.endswith(b"\n"):
        rest_bytes = _rest_of_line_bytes(source) if len(raw) == max_record_bytes + 2 else 0
        return (raw if len(raw) <= max_record_bytes else None), len(raw) + rest_bytes
    text = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    return (text if len(text) <= max_record_bytes else None), len(raw)


def _rest_of_line_bytes(source: BinaryIO) -> int:
    """Skip to the end of the line; return the number of bytes skipped."""
    size_bytes = 0
    while block := source.readline(_BLOCK_BYTES):
        size_bytes += len(block)
        if block.endswith(b"\n"):
            break
    return size_bytes


def _has_more_lines(files: Sequence[str], lines: int) -> bool:
    """Whether the files have more than `lines` lines; reads no further than needed."""
    for file in files:
        with opened_file(file) as source:
            last = b"\n"
            while block := source.read(_BLOCK_BYTES):
                lines -= block.count(b"\n")
                if lines < 0:
                    return True
                last = block[-1:]
            lines -= last != b"\n"
    return lines < 0


def _size_bytes(file: str) -> int | None:
    """Return the size of a file, None if its lines cannot be sought. Raises FileUnreadable."""
    if file == STDIN:
        return None
    try:
        status = Path(file).stat()
    except OSError as error:
        raise FileUnreadable(f"{file}: {error.strerror or error}") from None
    return status.st_size if stat.S_ISREG(status.st_mode) and is_read_in_place(file) else None
