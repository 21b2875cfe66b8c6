"""Lines of files: the same as from `bytes.split`, whatever the blocks, within the memory bound."""

import hashlib
import io
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from producers.file_lines import HEAD_BYTES, FileUnreadable, LineTooLarge, find_files, read_files, read_lines
from tests.unprivileged import unprivileged

ROOT = Path(__file__).parents[2]


class Trickle(io.RawIOBase):
    """A pipe that gives its bytes in pieces of the given sizes, in rotation."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self._content = content
        self._sizes = sizes
        self._at = 0
        self._reads = 0

    def read1(self, size: int = -1, /) -> bytes:
        size = min(size, self._sizes[self._reads % len(self._sizes)])
        self._reads += 1
        piece = self._content[self._at : self._at + size]
        self._at += len(piece)
        return piece


def oracle(content: bytes, max_record_bytes: int) -> list[bytes | LineTooLarge]:
    *ended, last = content.split(b"\n")
    lines = [line.removesuffix(b"\r") for line in ended] + ([last] if last else [])
    return [
        line if len(line) <= max_record_bytes else LineTooLarge("f", number, line[:HEAD_BYTES], len(line), hashlib.sha256(line).hexdigest())
        for number, line in enumerate(lines, start=1)
    ]


@settings(max_examples=500)
@example(content=b"abc\r\nd", sizes=[4], max_record_bytes=3)  # the return ends a block, and is not text
@example(content=b"abc\r", sizes=[4], max_record_bytes=3)  # no line end follows the return: it is text
@example(content=b"a\nbc\nd", sizes=[9], max_record_bytes=1)  # a whole line within one read is above the limit
@given(
    content=st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bc", b"\x00", b"\xff\xfe", b"x" * 7]), max_size=60).map(b"".join),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    max_record_bytes=st.integers(1, 12),
)
def test_lines_are_those_of_split_in_any_blocks(content: bytes, sizes: list[int], max_record_bytes: int) -> None:
    lines = list(read_lines(Trickle(content, sizes), file="f", max_record_bytes=max_record_bytes))

    assert lines == oracle(content, max_record_bytes)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_the_longest_line_passes_and_one_byte_more_does_not(end: bytes) -> None:
    longest, longer = b"x" * 1_000_000, b"x" * 1_000_001

    assert list(read_lines(io.BytesIO(b"a\n" + longest + end))) == [b"a", longest]
    assert list(read_lines(io.BytesIO(b"a\n" + longer + end))) == [
        b"a",
        LineTooLarge("-", 2, longer[:HEAD_BYTES], 1_000_001, hashlib.sha256(longer).hexdigest()),
    ]


def test_a_huge_line_is_not_held_and_its_neighbours_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    path.write_bytes(b"before\n" + b"=" * 30_000_000 + b"\nafter\n")

    tracemalloc.start()
    lines = list(read_files([str(path)]))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    before, huge, after = lines
    assert (before, after) == (b"before", b"after")
    assert isinstance(huge, LineTooLarge)
    assert (huge.file, huge.number, huge.size_bytes) == (str(path), 2, 30_000_000)
    assert peak_bytes < 4_000_000


def test_a_line_from_a_pipe_comes_before_the_pipe_ends() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as sink:
        lines = read_lines(source)
        sink.write(b"now\nlat")
        assert next(lines) == b"now"
        sink.write(b"er\n")
        assert next(lines) == b"later"


def test_files_are_read_in_turn_and_the_last_line_of_each_counts(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\n2")
    (tmp_path / "b").write_bytes(b"3\r\n")

    assert list(read_files([str(tmp_path / "a"), str(tmp_path / "b")])) == [b"1", b"2", b"3"]


def test_a_missing_file_is_named_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(b"1\n")

    assert find_files([str(tmp_path / "good"), "-"]) == (str(tmp_path / "good"), "-")
    with pytest.raises(FileUnreadable, match=r"absent: no such file$"):
        find_files([str(tmp_path / "good"), str(tmp_path / "absent")])


def test_a_file_that_goes_away_is_named_when_it_is_read(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match=r"absent: no such file$"):
        list(read_files([str(tmp_path / "absent")]))


@pytest.mark.process
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"1\n")
    secret.chmod(0)
    check = "import sys; from producers.file_lines import find_files; find_files(sys.argv[1:])"

    child = subprocess.run(unprivileged([sys.executable, "-c", check, str(secret)]), cwd=ROOT, capture_output=True, text=True, check=False)

    assert child.stderr.endswith(f"producers.file_lines.FileUnreadable: {secret}: no permission to read it\n")
