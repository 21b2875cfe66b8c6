r"""Gives what a file says as UTF-8, whether it is compressed, in UTF-16, or both: found by its first bytes, never by its name.

`producers.file_lines` and the sampler of lines read through it. Everything streams in blocks, so a small file that becomes a huge one costs
time and no memory; members behind one another count as one file. Where a file is cut off or damaged, everything before that is given, and
`say` gets one line. A file in none of these forms is passed on untouched.
"""

import bz2
import codecs
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import tee
from typing import TYPE_CHECKING, Final, Literal, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

Say = Callable[[str], None]
_Codec = Literal["gzip", "bzip2", "xz", "zstd", "lz4"]

_BLOCK_BYTES: Final = 1 << 16
_XZ_MEMORY_BYTES: Final = 1 << 28
"""`xz -9` needs 65 MiB; a file may ask for 4 GiB."""
_MAGIC: Final[Mapping[bytes, _Codec]] = {
    b"\x1f\x8b\x08": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    **{bytes([0x50 + number]) + b"\x2a\x4d\x18": "zstd" for number in range(16)},  # a frame to skip: pzstd begins with one
    b"\x04\x22\x4d\x18": "lz4",
    **{b"BZh%d" % level + begin: "bzip2" for level in range(1, 10) for begin in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")},
}
_MARKS: Final[Mapping[bytes, str]] = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins like that of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_ARCHIVES: Final[Mapping[bytes, str]] = {b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z"}
_TAR: Final = slice(257, 262), b"ustar"
_WITHOUT_MARK_BYTES: Final = 16
"""So many bytes, each second of them NUL and the others ASCII, are UTF-16."""
_BEGINS: Final = (*_MAGIC, *_MARKS, *_ARCHIVES)
_TEXT_BYTES: Final = frozenset(b"\t\n\r") | frozenset(range(0x20, 0x7F))


class _Cut(Exception):
    """The bytes end before what they hold does."""


class _Stream(Protocol):
    """A decompressor of one member, as in `bz2` and `lzma`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _GzipStream:
    """One member of gzip, with the interface of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        piece = self._stream.decompress(self._stream.unconsumed_tail + data, max_length)
        self.needs_input = not self._stream.unconsumed_tail and len(piece) < max_length
        return piece


_NEW_STREAM: Final[Mapping[_Codec, Callable[[], _Stream]]] = {
    "gzip": _GzipStream,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY_BYTES),
}


class _Blocks(io.RawIOBase):
    """A stream of the bytes of some blocks; it ends where they do."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, room: memoryview, /) -> int:  # type: ignore[override] # typeshed says Buffer; BufferedReader gives a memoryview
        if not self._left:
            self._left = memoryview(next(filter(None, self._blocks), b""))
        size = min(len(room), len(self._left))
        room[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def open_text(source: io.BufferedReader, name: str, say: Say) -> io.BufferedReader:
    """Return what to read instead of `source`, itself if it is plain. Raises OSError for an archive of several files.

    Reads no further than the first bytes demand, so that lines of a pipe come as they are written.
    """
    source, head = _peek(source)
    codec = next((codec for magic, codec in _MAGIC.items() if head.startswith(magic)), None)
    if codec is not None:
        source, head = _peek(_buffered(_said(_decompressed(_blocks_of(source), codec), f"{name}: {codec}", say)), _TAR[0].stop)
    if archive := _archive_of(head):
        raise OSError(f"is a {archive} archive of files: unpack it first")
    encoding = _encoding_of(head)
    if encoding is not None:
        source = _buffered(_said(_recoded(_blocks_of(source), encoding), f"{name}: {encoding.upper()}", say))
    return source


def is_plain(source: io.BufferedReader) -> bool:
    """Whether the bytes of a file are those of its lines, so that it may be read from any place."""
    _, head = _peek(source)
    return not head.startswith((*_MAGIC, *_MARKS)) and _encoding_of(head) is None


def _peek(source: io.BufferedReader, least_bytes: int = 1) -> tuple[io.BufferedReader, bytes]:
    """Return the source and its first bytes; of a pipe, more than `least_bytes` are waited for only while they may become a mark."""
    head = source.peek()
    if source.seekable() or not _is_undecided(head, least_bytes):
        return source, head
    head = source.read1()
    while _is_undecided(head, least_bytes) and (more := source.read1()):
        head += more
    return _buffered([head], _blocks_of(source)), head


def _is_undecided(head: bytes, least_bytes: int) -> bool:
    """Whether the first bytes of a stream that has not ended are too few to tell its form."""
    if len(head) < least_bytes or any(begin.startswith(head) and begin != head for begin in _BEGINS):
        return bool(head)
    return len(head) < _WITHOUT_MARK_BYTES and 0 in head[:2]


def _encoding_of(head: bytes) -> str | None:
    marked = next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), None)
    if marked is not None:
        return marked
    begin = head[:_WITHOUT_MARK_BYTES]
    if len(begin) < _WITHOUT_MARK_BYTES:
        return None
    low, high = begin[::2], begin[1::2]
    if not any(high) and _TEXT_BYTES.issuperset(low):
        return "utf-16-le"
    return "utf-16-be" if not any(low) and _TEXT_BYTES.issuperset(high) else None


def _archive_of(head: bytes) -> str | None:
    place, mark = _TAR
    if head[place] == mark:
        return "tar"
    return next((archive for mark, archive in _ARCHIVES.items() if head.startswith(mark)), None)


def _buffered(*blocks: Iterable[bytes]) -> io.BufferedReader:
    return io.BufferedReader(_Blocks(block for some in blocks for block in some), _BLOCK_BYTES)


def _blocks_of(source: io.BufferedReader) -> Iterator[bytes]:
    return iter(lambda: source.read1(_BLOCK_BYTES), b"")


def _said(blocks: Iterator[bytes], what: str, say: Say) -> Iterator[bytes]:
    """Yield all blocks before the file is cut off or damaged, and say that it is."""
    try:
        yield from blocks
    except _Cut:
        say(f"{what} is cut off; what comes before is read")
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        say(f"{what} is damaged ({error}); what comes before is read")


def _decompressed(blocks: Iterator[bytes], codec: _Codec) -> Iterator[bytes]:
    return _members(blocks, _NEW_STREAM[codec]) if codec in _NEW_STREAM else _frames(blocks, codec)


def _members(blocks: Iterator[bytes], new_stream: Callable[[], _Stream]) -> Iterator[bytes]:
    """Yield the content of one member after the other; NUL between and behind them is padding. Raises _Cut, and what streams raise."""
    held = next(blocks, b"")
    while held:
        stream = new_stream()
        while not stream.eof:
            if stream.needs_input and not held:
                held = next(blocks, b"")
                if not held:
                    raise _Cut
            yield stream.decompress(held, _BLOCK_BYTES)
            held = b""
        held = stream.unused_data
        while not (held := held.lstrip(b"\0")) and (block := next(blocks, b"")):
            held = block


def _frames(blocks: Iterator[bytes], codec: _Codec) -> Iterator[bytes]:
    """Yield the content of frames by Arrow. Raises _Cut, OSError.

    A read that fails loses what it had found, so a second reader of the same blocks is one read behind and gives that byte by byte.
    """
    import pyarrow as pa  # noqa: PLC0415 - a demo says where its page is before it loads what is large

    ahead, behind = (pa.CompressedInputStream(pa.PythonFile(_Blocks(one), "r"), codec) for one in tee(blocks))
    try:
        while piece := ahead.read(_BLOCK_BYTES):
            yield piece
            behind.read(len(piece))
    except OSError as error:
        yield from _bytes_before_error(behind)
        if "runcated" in str(error):
            raise _Cut from None
        raise


def _bytes_before_error(stream: "pa.NativeFile") -> Iterator[bytes]:
    try:
        while byte := stream.read(1):
            yield byte
    except OSError:
        return


def _recoded(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Yield UTF-8; what is no character becomes U+FFFD. Raises _Cut."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")
    if decoder.getstate()[0]:
        raise _Cut
