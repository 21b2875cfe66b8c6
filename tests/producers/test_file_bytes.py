"""Compressed files and UTF-16: the same lines as the plain file has, whatever the form, and what comes before a cut."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from producers.file_bytes import open_text
from producers.file_lines import FileUnreadable, LineTooLarge, read_files, read_lines


def by_arrow(codec: str) -> Callable[[bytes], bytes]:
    def pack(content: bytes) -> bytes:
        out = pa.BufferOutputStream()
        with pa.CompressedOutputStream(out, codec) as stream:
            stream.write(content)
        return bytes(out.getvalue())

    return pack


PACK: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": by_arrow("zstd"),
    "lz4": by_arrow("lz4"),
}
RECODE: Final[Mapping[str, Callable[[str], bytes]]] = {
    "utf-8": str.encode,
    "utf-16-le": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "utf-16-be": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "utf-32": lambda text: b"\xff\xfe\0\0" + text.encode("utf-32-le"),
}
LINES: Final = [f"2026-11-23 10:00:{number % 60:02} ERROR café {number} closed 🎈" for number in range(3_000)]
TEXT: Final = "\r\n".join(LINES) + "\r\n"


class Pipe(io.RawIOBase):
    """Gives its bytes in pieces of one size, as a slow pipe does."""

    def __init__(self, content: bytes, piece_bytes: int) -> None:
        self._content = io.BytesIO(content)
        self._piece_bytes = piece_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any, /) -> int:  # noqa: ANN401 - a buffer
        piece = self._content.read(min(self._piece_bytes, len(room)))
        room[: len(piece)] = piece
        return len(piece)


def lines_of(content: bytes, *, piece_bytes: int = 1 << 16) -> tuple[list[str], list[str]]:
    """Return the lines of a file with this content, and what was said of it."""
    said: list[str] = []
    source = open_text(io.BufferedReader(Pipe(content, piece_bytes)), "f", said.append)
    return [line.decode() for line in read_lines(source) if isinstance(line, bytes)], said


@pytest.mark.parametrize("codec", PACK)
@pytest.mark.parametrize("encoding", RECODE)
def test_a_packed_file_has_the_lines_of_the_plain_one(codec: str, encoding: str) -> None:
    plain = RECODE[encoding](TEXT)
    assert lines_of(plain) == (LINES, [])
    assert lines_of(PACK[codec](plain)) == (LINES, [])


@pytest.mark.parametrize("codec", PACK)
def test_members_behind_one_another_are_one_file(codec: str) -> None:
    first, last = PACK[codec](b"one\ntw"), PACK[codec](b"o\nthree\n")
    padding = bytes(8) if codec in ("gzip", "xz") else b""
    assert lines_of(first + PACK[codec](b"") + padding + last + padding) == (["one", "two", "three"], [])


@settings(max_examples=60, deadline=None)
@given(
    codec=st.sampled_from(sorted(PACK)), encoding=st.sampled_from(sorted(RECODE)), piece_bytes=st.integers(1, 70),
    lines=st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), min_size=9, max_size=30), min_size=2),
)  # fmt: skip
def test_the_pieces_of_a_pipe_change_nothing(codec: str, encoding: str, piece_bytes: int, lines: list[str]) -> None:
    plain = RECODE[encoding]("\n".join(lines))
    assert lines_of(PACK[codec](plain), piece_bytes=piece_bytes) == (lines, [])
    assert lines_of(plain, piece_bytes=piece_bytes) == (lines, [])


@pytest.mark.parametrize("codec", PACK)
def test_a_cut_file_gives_its_lines_and_says_so_once(codec: str) -> None:
    noise = [os.urandom(40).hex() for _ in range(20_000)]
    packed = PACK[codec]("\n".join(noise).encode())
    found, said = lines_of(packed[: len(packed) * 2 // 3])
    assert said == [f"f: {codec} is cut off; what comes before is read"]
    assert found[:-1] == noise[: len(found) - 1]
    assert noise[len(found) - 1].startswith(found[-1])
    held = 1_000_000 if codec in ("bzip2", "xz") else 200_000  # a block of bzip2 is whole or nothing
    assert len(found) * 81 > len(noise) * 81 * 2 / 3 - held


@pytest.mark.parametrize("codec", PACK)
def test_a_file_cut_in_its_head_has_no_lines(codec: str) -> None:
    assert lines_of(PACK[codec](b"")[:-3] if codec != "lz4" else b"\x04\x22\x4d\x18\x60") == (
        [],
        [f"f: {codec} is cut off; what comes before is read"],
    )


@pytest.mark.parametrize("codec", ["gzip", "bzip2", "xz", "zstd"])
def test_bytes_behind_the_last_member_are_said_to_be_left_out(codec: str) -> None:
    found, (said,) = lines_of(PACK[codec](b"one\ntwo\n") + b"no member of this codec")
    assert found == ["one", "two"]
    assert said.startswith(f"f: {codec} is damaged (")


def test_half_a_character_at_the_end_of_utf_16_is_said() -> None:
    assert lines_of("\ufeffone\ntwo".encode("utf-16-le") + b"x") == (["one", "two"], ["f: UTF-16 is cut off; what comes before is read"])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_told_by_its_nul(encoding: str) -> None:
    assert lines_of(TEXT.encode(encoding)) == (LINES, [])
    assert lines_of(TEXT.encode(encoding), piece_bytes=2) == (LINES, [])
    assert lines_of(gzip.compress(TEXT.encode(encoding)), piece_bytes=1) == (LINES, [])


@pytest.mark.parametrize("content", [b"", b"B", b"BZh", b"BZh9 says hello\nnext", b"P", b"(\xb5 text", b"\xff", b"\x1f\x8b", b"\0" * 40])
def test_what_only_begins_like_a_form_is_passed_on(content: bytes) -> None:
    source = open_text(io.BufferedReader(Pipe(content, 1)), "f", pytest.fail)
    assert source.read() == content


@pytest.mark.parametrize("codec", PACK)
def test_a_bomb_is_one_line_that_is_too_large_in_little_memory(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(PACK[codec](b"=" * 50_000_000) + PACK[codec](b"\nafter\n"))
    tracemalloc.start()
    huge, after = list(read_files([str(path)]))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(huge, LineTooLarge)
    assert (huge.size_bytes, after) == (50_000_000, b"after")
    assert peak_bytes < 12_000_000


def test_an_archive_of_files_is_refused_by_name(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(b"one\n" * 200)
    with tarfile.open(tmp_path / "logs.tgz", "w:gz") as archive:
        archive.add(log, "app.log")
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as packed:
        packed.write(log, "app.log")
    for name, kind in (("logs.tgz", "tar"), ("logs.zip", "zip")):
        with pytest.raises(FileUnreadable, match=rf"{name}: is a {kind} archive of files: unpack it first$"):
            list(read_files([str(tmp_path / name)]))
