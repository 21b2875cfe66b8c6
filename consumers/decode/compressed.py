"""Values that their sender compressed: which codec, and the bytes in them up to a limit.

`consumers.decode.opened` calls it. Arrow, which is here anyway, brings zstd, lz4 and snappy; the standard library's zlib is ten times as
fast as Arrow's for a short value. Neither allocates by what a value claims of itself before that is compared with the limit.
"""

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

import pyarrow as pa

from consumers.record import Header

Codec = Literal["gzip", "zlib", "deflate", "zstd", "lz4", "snappy"]

_SNAPPY_FRAMED: Final = b"\xff\x06\x00\x00sNaPpY"
_XERIAL: Final = b"\x82SNAPPY\x00"
_MAGIC: Final[Mapping[bytes, Codec]] = {
    b"\x1f\x8b\x08": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    _SNAPPY_FRAMED: "snappy",
    _XERIAL: "snappy",
    b"\x78\x01": "zlib",
    b"\x78\x5e": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
}
FIRST_BYTES: Final = frozenset(magic[0] for magic in _MAGIC)
"""What a value with a magic begins with; one of them is `x`."""
_TEXT_ALIKE: Final = b"\x78\x5e"
"""`x^`: the one magic that a line of text may begin with."""
_ENCODING_HEADER: Final = "content-encoding"
_ENCODINGS: Final[Mapping[bytes, Codec]] = {
    b"gzip": "gzip",
    b"x-gzip": "gzip",
    b"deflate": "deflate",
    b"zlib": "zlib",
    b"zstd": "zstd",
    b"lz4": "lz4",
    b"snappy": "snappy",
    b"x-snappy-framed": "snappy",
}
_WITHOUT_MAGIC: Final[frozenset[Codec]] = frozenset({"deflate", "snappy"})
_XERIAL_HEADER_BYTES: Final = 16
_MOST_LENGTH_BYTES: Final = 5
_READ_BYTES: Final = 16_384
_SNAPPY = pa.Codec("snappy")


class Damaged(Exception):
    """The value cannot be decompressed."""


class ValueTooLarge(Exception):
    """The value has more bytes than are allowed."""


def find_codec(value: bytes, headers: Iterable[Header] | None) -> Codec | None:
    """Return how a value is compressed; None: it is not.

    The magic decides. A `content-encoding` header counts where a codec has none; otherwise it is not true of the value, as where a proxy
    has decompressed it.
    """
    codec = codec_of_magic(value)
    if codec is None and headers and (encoding := content_encoding(headers)):
        codec = _ENCODINGS.get(encoding.strip().lower())
        return codec if codec in _WITHOUT_MAGIC else None
    return codec


def content_encoding(headers: Iterable[Header]) -> bytes | None:
    """Return the first content of a header of this name, in any case; None if there is none."""
    for name, content in headers:
        if content and len(name) == len(_ENCODING_HEADER) and name.lower() == _ENCODING_HEADER:
            return content
    return None


def codec_of_magic(value: bytes) -> Codec | None:
    """Return the codec that a value begins like."""
    if not value or value[0] not in FIRST_BYTES:
        return None
    return next((codec for magic, codec in _MAGIC.items() if value.startswith(magic)), None)


def may_be_text(value: bytes) -> bool:
    """Whether a value with a magic may be a line of text, if it cannot be decompressed."""
    return value.startswith(_TEXT_ALIKE)


def decompress(value: bytes, codec: Codec, *, max_bytes: int) -> bytes:
    """Return what is compressed in a value. Raises Damaged, TooLarge."""
    content = _DECOMPRESS[codec](value, max_bytes)
    if len(content) > max_bytes:
        raise ValueTooLarge
    return content


def _gunzip(value: bytes, max_bytes: int) -> bytes:
    content, rest = _inflate(value, 16 + zlib.MAX_WBITS, max_bytes)
    # Several members: Arrow walks them without a copy of what is left at each.
    return _stream(value, "gzip", max_bytes) if rest.strip(b"\0") else content


def _unzlib(value: bytes, max_bytes: int) -> bytes:
    content, rest = _inflate(value, zlib.MAX_WBITS, max_bytes)
    if rest:
        raise Damaged
    return content


def _undeflate(value: bytes, max_bytes: int) -> bytes:
    """Decompress what HTTP calls `deflate`: zlib by its standard, bare in many implementations."""
    try:
        return _unzlib(value, max_bytes)
    except Damaged:
        content, rest = _inflate(value, -zlib.MAX_WBITS, max_bytes)
        if rest:
            raise Damaged from None
        return content


def _inflate(value: bytes, window_bits: int, max_bytes: int) -> tuple[bytes, bytes]:
    """Return the first stream's content, up to one byte too many, and what follows it. Raises Damaged, TooLarge."""
    stream = zlib.decompressobj(window_bits)
    try:
        content = stream.decompress(value, max_bytes + 1)
    except zlib.error:
        raise Damaged from None
    if len(content) > max_bytes:
        raise ValueTooLarge
    if not stream.eof:
        raise Damaged
    return content, stream.unused_data


def _stream(value: bytes, codec: Codec, max_bytes: int) -> bytes:
    """Decompress one stream or several in a row, up to one byte too many. Reading all at once allocates `max_bytes` for the smallest."""
    parts: list[bytes] = []
    left_bytes = max_bytes + 1
    try:
        with pa.CompressedInputStream(pa.BufferReader(value), codec) as stream:
            while left_bytes and (part := stream.read(min(_READ_BYTES, left_bytes))):
                parts.append(part)
                left_bytes -= len(part)
    except (OSError, pa.ArrowException):
        raise Damaged from None
    return b"".join(parts)


def _unsnap(value: bytes, max_bytes: int) -> bytes:
    if value.startswith(_SNAPPY_FRAMED):
        return _joined(_framed_blocks(value), max_bytes)
    if value.startswith(_XERIAL):
        return _joined(_xerial_blocks(value), max_bytes)
    return _unsnap_block(value, max_bytes)


def _joined(blocks: Iterable[tuple[bytes, bool]], max_bytes: int) -> bytes:
    """Join blocks, each with whether it is compressed. Raises Damaged, TooLarge."""
    content = bytearray()
    for block, is_compressed in blocks:
        content += _unsnap_block(block, max_bytes - len(content)) if is_compressed else block
        if len(content) > max_bytes:
            raise ValueTooLarge
    return bytes(content)


def _framed_blocks(value: bytes) -> Iterable[tuple[bytes, bool]]:
    """Return the blocks of snappy's framing format; their checksums are not compared, for Kafka has one of the whole batch."""
    place = 0
    while place < len(value):
        if len(value) < place + 4:
            raise Damaged
        kind, size = value[place], int.from_bytes(value[place + 1 : place + 4], "little")
        place += 4 + size
        if place > len(value):
            raise Damaged
        if kind in (0, 1):
            if size < 4:  # noqa: PLR2004 - the checksum's bytes
                raise Damaged
            yield value[place - size + 4 : place], kind == 0
        elif kind < 0x80:  # noqa: PLR2004 - the format reserves those below for blocks that must not be skipped
            raise Damaged


def _xerial_blocks(value: bytes) -> Iterable[tuple[bytes, bool]]:
    """Return the blocks of snappy-java's `SnappyOutputStream`."""
    place = _XERIAL_HEADER_BYTES
    if len(value) < place:
        raise Damaged
    while place < len(value):
        if value.startswith(_XERIAL, place):  # streams in a row
            place += _XERIAL_HEADER_BYTES
            continue
        if len(value) < place + 4:
            raise Damaged
        (size,) = struct.unpack_from(">i", value, place)
        place += 4
        if not 0 < size <= len(value) - place:
            raise Damaged
        yield value[place : place + size], True
        place += size


def _unsnap_block(block: bytes, max_bytes: int) -> bytes:
    """Decompress a raw block; it begins with the size of its content, as a varint."""
    size = 0
    for place, byte in enumerate(block[:_MOST_LENGTH_BYTES]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:  # noqa: PLR2004 - a varint's last byte
            break
    else:
        raise Damaged
    if size > max_bytes:
        raise ValueTooLarge
    try:
        content: bytes = _SNAPPY.decompress(block, size, asbytes=True)
    except (OSError, pa.ArrowException):
        raise Damaged from None
    return content


_DECOMPRESS: Final[Mapping[Codec, Callable[[bytes, int], bytes]]] = {
    "gzip": _gunzip,
    "zlib": _unzlib,
    "deflate": _undeflate,
    "zstd": lambda value, max_bytes: _stream(value, "zstd", max_bytes),
    "lz4": lambda value, max_bytes: _stream(value, "lz4", max_bytes),
    "snappy": _unsnap,
}
