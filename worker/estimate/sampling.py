"""Which lines of the files `vectail estimate` looks at: all of them, or short stretches spread over the files.

Logs come in bursts and change with time: the beginning of a file says little about its end, and lines drawn one by one tear apart what
belongs together. A line is taken when it *begins* in one of many windows all over the file, so long and short lines are as likely to be
taken, nothing is taken twice, and of a file of any size only the windows are read and held. What cannot be sought (standard input, a
pipe) gives its first lines.
"""

import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from producers.lines import STDIN, FileUnreadable

Basis = Literal["all", "sample", "first"]
"""`first`: the first lines of standard input or of a pipe; more may follow, and nobody knows how many."""
Line = bytes | None
"""A line without its end; None for one above the limit."""

STRETCH_LINES = 10
"""About so many lines in a stretch. Longer ones mean fewer places, and foretell worse (`worker.estimate.extrapolation`)."""
_LEAST_STRETCHES = 10
_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples, without what stands before the point, are spread evenly: where each window lies in its part of the file, so that what
comes at even distances itself (a report every hour) is met as often as it should be."""
_PROBES = 64
_PROBE_BYTES = 1 << 16
_BLOCK_BYTES = 1 << 20
_LIST_LINES = 500
_LIST_BYTES = 1 << 22
"""Lines of a file that is read whole come in lists of so many, or of so many bytes."""


class Stretch(NamedTuple):
    """Consecutive lines, and the bytes that they take in their file, with their ends.

    Thread: any.
    """

    lines: list[Line]
    size_bytes: int


class Sample:
    """About `sample_lines` lines of the files; all of them if there are no more.

    Thread: one.
    """

    def __init__(self, files: Sequence[str], *, sample_lines: int, max_record_bytes: int) -> None:
        """Look at the sizes; `-` is standard input. Raises FileUnreadable."""
        self._files = files
        self._sample_lines = sample_lines
        self._max_record_bytes = max_record_bytes
        self.basis: Basis = "all"
        """Final when everything is read."""
        self.total_bytes: int | None = None
        """Of all files; None where one cannot be sought."""
        sizes = [_size_bytes(file) for file in files]
        if None not in sizes:
            self.total_bytes = sum(size or 0 for size in sizes)
            self.basis = "sample" if _has_more_lines(files, sample_lines) else "all"

    def lists(self) -> Iterator[list[Stretch]]:
        """Read, once; stretches come in lists of some hundred lines, because masks work best on those. Raises FileUnreadable."""
        waiting: list[Stretch] = []
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

    def stretches(self) -> Iterator[Stretch]:
        """Read, once. Raises FileUnreadable."""
        share = self._share() if self.basis == "sample" else 1.0
        left = self._sample_lines
        for file in self._files:
            with _opened(file) as source:
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
        """Return the part of all bytes in which the lines must begin, from the density of line ends at even distances."""
        lines = seen_bytes = 0
        for file in self._files:
            size_bytes = _size_bytes(file) or 0
            with _opened(file) as source:
                for probe in range(_PROBES):
                    source.seek(probe * size_bytes // _PROBES)
                    block = source.read(min(_PROBE_BYTES, size_bytes // _PROBES + 1))
                    lines += block.count(b"\n")
                    seen_bytes += len(block)
        foreseen = lines * (self.total_bytes or 0) / max(seen_bytes, 1)
        return min(self._sample_lines / max(foreseen, 1.0), 1.0)

    def _windows(self, source: BinaryIO, size_bytes: int, share: float) -> Iterator[Stretch]:
        """Yield the lines that begin in windows all over the file, which has its part of all windows."""
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
                yield Stretch(lines, reached - begin)

    def _lists(self, source: BinaryIO, most_lines: int) -> Iterator[Stretch]:
        """Yield the lines of a file in order, at most so many of one that cannot be sought."""
        found = iter(lambda: _next_line(source, self._max_record_bytes), (b"", 0))
        if self.total_bytes is None:
            found = islice(found, most_lines)  # and not one more, for which a silent pipe would be waited for
        lines: list[Line] = []
        size_bytes = 0
        for line, line_bytes in found:
            lines.append(line)
            size_bytes += line_bytes
            if len(lines) >= _LIST_LINES or size_bytes >= _LIST_BYTES:
                yield Stretch(lines, size_bytes)
                lines, size_bytes = [], 0
        if lines:
            yield Stretch(lines, size_bytes)


def _next_line(source: BinaryIO, max_record_bytes: int) -> tuple[Line, int]:
    r"""Return the next line, and its bytes with its end: 0 at the end of the file. As `producers.lines` reads them."""
    raw = source.readline(max_record_bytes + 2)
    if not raw.endswith(b"\n"):
        rest_bytes = _rest_of_line_bytes(source) if len(raw) == max_record_bytes + 2 else 0
        return (raw if len(raw) <= max_record_bytes else None), len(raw) + rest_bytes
    text = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    return (text if len(text) <= max_record_bytes else None), len(raw)


def _rest_of_line_bytes(source: BinaryIO) -> int:
    """Read to the end of a line, however long; returns the bytes of it."""
    size_bytes = 0
    while block := source.readline(_BLOCK_BYTES):
        size_bytes += len(block)
        if block.endswith(b"\n"):
            break
    return size_bytes


def _has_more_lines(files: Sequence[str], lines: int) -> bool:
    """Whether there are more lines than that; reads no further than it must."""
    for file in files:
        with _opened(file) as source:
            last = b"\n"
            while block := source.read(_BLOCK_BYTES):
                lines -= block.count(b"\n")
                if lines < 0:
                    return True
                last = block[-1:]
            lines -= last != b"\n"
    return lines < 0


def _size_bytes(file: str) -> int | None:
    """Return the size of a file that can be sought, else None. Raises FileUnreadable."""
    if file == STDIN:
        return None
    try:
        status = Path(file).stat()
    except OSError as error:
        raise FileUnreadable(f"{file}: {error.strerror or error}") from None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    try:
        with open(0 if file == STDIN else file, "rb", closefd=file != STDIN) as source:
            yield source
    except OSError as error:
        raise FileUnreadable(f"{file}: {error.strerror or error}") from None
