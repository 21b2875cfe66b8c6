"""Values that their sender compressed: every codec's round trip, and nothing above the limit."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import as_texts
from consumers.decode.compressed import Codec, Damaged, ValueTooLarge, decompress, find_codec
from consumers.decode.decoder import Decoder
from consumers.decode.rules import DecodeRules, Format

Encode = Callable[[bytes], bytes]
LIMIT_BYTES = 1_000
BOMB = bytes(10_000_000)


def by_arrow(codec: str) -> Encode:
    def encode(content: bytes) -> bytes:
        return bytes(pa.compress(content, codec=codec, asbytes=True))

    return encode


def bare_deflate(content: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(content) + stream.flush()


def framed_snappy(content: bytes) -> bytes:
    """Return Google's framing format in blocks of 50 bytes, every second one uncompressed; the checksums are not true."""
    framed = b"\xff\x06\x00\x00sNaPpY"
    for place in range(0, len(content), 50):
        kind, block = 0, by_arrow("snappy")(content[place : place + 50])
        if place % 100:
            kind, block = 1, content[place : place + 50]
        framed += bytes([kind]) + (len(block) + 4).to_bytes(3, "little") + b"\1\2\3\4" + block
    return framed + b"\xfe\x02\x00\x00\0\0"


def xerial_snappy(content: bytes) -> bytes:
    """Return what snappy-java writes, in blocks of 50 bytes."""
    value = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")
    for place in range(0, len(content), 50):
        block = by_arrow("snappy")(content[place : place + 50])
        value += len(block).to_bytes(4, "big") + block
    return value


WITH_MAGIC: dict[str, tuple[Codec, Encode]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip members": ("gzip", lambda content: gzip.compress(content[:7], mtime=0) + gzip.compress(content[7:], mtime=0)),
    "zlib": ("zlib", zlib.compress),
    "zlib fast": ("zlib", lambda content: zlib.compress(content, 1)),
    "zlib small": ("zlib", lambda content: zlib.compress(content, 9)),
    "zstd": ("zstd", by_arrow("zstd")),
    "zstd frames": ("zstd", lambda content: by_arrow("zstd")(content[:7]) + by_arrow("zstd")(content[7:])),
    "lz4": ("lz4", by_arrow("lz4")),
    "snappy framed": ("snappy", framed_snappy),
    "snappy of Java": ("snappy", xerial_snappy),
}
WITHOUT_MAGIC: dict[str, tuple[Codec, Encode]] = {"snappy": ("snappy", by_arrow("snappy")), " Deflate": ("deflate", bare_deflate)}
"""By the header that says it."""
EVERY = WITH_MAGIC | WITHOUT_MAGIC


@given(content=st.binary(max_size=300))
@pytest.mark.parametrize("name", WITH_MAGIC)
def test_what_was_compressed_comes_back(name: str, content: bytes) -> None:
    codec, encode = WITH_MAGIC[name]
    value = encode(content)
    assert find_codec(value, None) == codec
    assert decompress(value, codec, max_bytes=LIMIT_BYTES) == content


@given(content=st.binary(min_size=1, max_size=300))
@pytest.mark.parametrize("header", WITHOUT_MAGIC)
def test_what_has_no_magic_comes_back_by_its_header(header: str, content: bytes) -> None:
    codec, encode = WITHOUT_MAGIC[header]
    value = encode(content)
    if find_codec(value, None) is None:
        assert find_codec(value, [("other", b"gzip"), ("Content-Encoding", header.encode())]) == codec
    assert decompress(value, codec, max_bytes=LIMIT_BYTES) == content


@given(content=st.binary(min_size=20, max_size=300), keep=st.floats(0, 0.99))
@pytest.mark.parametrize("name", ["gzip", "zlib", "zlib fast", "zlib small", "zstd", "lz4"])
def test_what_was_cut_off_is_damaged(name: str, content: bytes, keep: float) -> None:
    codec, encode = WITH_MAGIC[name]
    value = encode(content)
    with pytest.raises(Damaged):
        decompress(value[: max(int(len(value) * keep), 9)], codec, max_bytes=LIMIT_BYTES)


@given(value=st.binary(max_size=200))
@pytest.mark.parametrize("name", WITH_MAGIC)
def test_any_bytes_after_a_magic_are_decompressed_or_refused(name: str, value: bytes) -> None:
    value = WITH_MAGIC[name][1](b"")[:10] + value
    codec = find_codec(value, None)
    assert codec is not None
    with suppress(Damaged, ValueTooLarge):
        assert len(decompress(value, codec, max_bytes=LIMIT_BYTES)) <= LIMIT_BYTES


@pytest.mark.parametrize("name", EVERY)
def test_no_more_than_the_limit_is_decompressed(name: str) -> None:
    codec, encode = EVERY[name]
    text = b"a line of text " * 10
    assert decompress(encode(text), codec, max_bytes=len(text)) == text
    with pytest.raises(ValueTooLarge):
        decompress(encode(text), codec, max_bytes=len(text) - 1)


BOMBS: dict[str, tuple[Codec, bytes]] = {
    "gzip": ("gzip", gzip.compress(BOMB, mtime=0)),
    "gzip members": ("gzip", gzip.compress(b"a", mtime=0) * 2_000),
    "zlib": ("zlib", zlib.compress(BOMB)),
    "deflate": ("deflate", bare_deflate(BOMB)),
    "zstd": ("zstd", by_arrow("zstd")(BOMB)),
    "zstd frames": ("zstd", by_arrow("zstd")(b"a") * 2_000),
    "lz4": ("lz4", by_arrow("lz4")(BOMB)),
    "snappy": ("snappy", by_arrow("snappy")(BOMB)),
    "snappy that lies": ("snappy", b"\xff\xff\xff\xff\x0f" + b"lies"),
    "snappy of Java": ("snappy", xerial_snappy(b"a" * 2_000)),
    "snappy framed": ("snappy", framed_snappy(b"a" * 2_000)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_a_buffer_of_memory(name: str) -> None:
    codec, value = BOMBS[name]
    before_bytes = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        with pytest.raises(ValueTooLarge):
            decompress(value, codec, max_bytes=LIMIT_BYTES)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert pa.total_allocated_bytes() == before_bytes


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        ("gzip", gzip.compress(b"abc", mtime=0) + b"more"),
        ("zlib", zlib.compress(b"abc") + b"more"),
        ("zstd", bytes.fromhex("28b52ffd00a8") + b"\1\0\0"),
        ("zstd", by_arrow("zstd")(b"abc") + b"more"),
        ("snappy", b"\xff\x06\x00\x00sNaPpY\0\xff\xff\xff"),
        ("snappy", b"\xff\x06\x00\x00sNaPpY\0\3\0\0abc"),
        ("snappy", b"\xff\x06\x00\x00sNaPpY\2\4\0\0abcd"),
        ("snappy", b"\xff\x06\x00\x00sNaPpY\0"),
        ("snappy", b"\x82SNAPPY\x00\0\0"),
        ("snappy", b"\x82SNAPPY\x00" + bytes(12)),
        ("snappy", b"\x82SNAPPY\x00" + bytes(8) + b"\x7f\xff\xff\xffabc"),
        ("snappy", b"\x80\x80\x80\x80\x80\x80"),
        ("snappy", b"\x05ab"),
    ],
)
def test_what_lies_is_damaged(codec: Codec, value: bytes) -> None:
    with pytest.raises(Damaged):
        decompress(value, codec, max_bytes=LIMIT_BYTES)


def test_zeros_after_gzip_are_padding() -> None:
    assert decompress(gzip.compress(b"abc", mtime=0) + bytes(100), "gzip", max_bytes=LIMIT_BYTES) == b"abc"


def test_a_header_that_is_not_true_of_the_value_does_not_count() -> None:
    assert find_codec(b"plain", [("content-encoding", b"gzip")]) is None
    assert find_codec(b"plain", [("content-encoding", b"utf-8"), ("content-encoding", b"snappy")]) is None
    assert find_codec(b"plain", [("content-encoding", None)]) is None
    assert find_codec(gzip.compress(b"plain", mtime=0), [("content-encoding", b"snappy")]) == "gzip"


FORMATS: list[Format] = ["auto", "text", "json"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_read_from_compressed_values(form: Format) -> None:
    decoder = Decoder(DecodeRules(format=form))
    plain = b'{"msg": "disk full"}'
    values = [plain, gzip.compress(plain, mtime=0), None, zlib.compress(plain), by_arrow("zstd")(plain), gzip.compress(b"", mtime=0)]
    decoded = decoder.decode(values, np.arange(1, 7))
    assert as_texts(decoded.entries.text) == [plain.decode() if form == "text" else "disk full"] * 4
    assert decoded.entries.row.tolist() == [0, 1, 3, 4]
    assert decoded.entries.time_ms.tolist() == [1, 2, 4, 5]
    assert (decoded.empty.tolist(), decoded.rejected) == ([2, 5], [])
    assert dict(decoder.tally.decompressed) == {"gzip": 2, "zlib": 1, "zstd": 1}


def test_what_cannot_be_opened_is_rejected_with_a_reason_and_its_neighbours_survive() -> None:
    decoder = Decoder(DecodeRules(max_record_bytes=LIMIT_BYTES))
    snappy = (("Content-Encoding", b"snappy"),)
    values = [
        *(
            b"a",
            gzip.compress(BOMB[:100_000], mtime=0),
            gzip.compress(b"cut off", mtime=0)[:-3],
            b"b",
            gzip.compress(zlib.compress(b"c"), mtime=0),
        ),
        *(b"x^2 + y^2", b"not snappy", by_arrow("snappy")(b"d"), bytes(1_001), b"\xef\xbb\xbf"),
    ]
    headers = [(), (), (), (), (), (), snappy, snappy, (), ()]
    decoded = decoder.decode(values, np.arange(10), headers)
    assert as_texts(decoded.entries.text) == ["a", "b", "x^2 + y^2", "d"]
    assert decoded.entries.row.tolist() == [0, 3, 5, 7]
    assert decoded.empty.tolist() == [9]
    assert [(row, rejection.kind, rejection.reason) for row, rejection in decoded.rejected] == [
        (1, "too_large", "too_large: compressed as gzip, more than 1000 bytes when decompressed"),
        (2, "undecodable", "undecodable: damaged, or not compressed as gzip"),
        (4, "undecodable", "undecodable: compressed as gzip, and what is in it is compressed too"),
        (6, "undecodable", "undecodable: damaged, or not compressed as snappy"),
        (8, "too_large", "too_large: 1001 bytes, 1000 are allowed"),
    ]
    assert decoder.tally.records["none"] == 5


def test_values_that_grow_are_decoded_in_parts_of_bounded_size() -> None:
    decoder = Decoder()
    megabyte = gzip.compress(b"x" * 1_000_000, mtime=0)
    values = [b"first", *[megabyte] * 20, b"", b"\xff" * 1_000_001, *[megabyte] * 2, megabyte[:-1], b"last"]
    kafka_ms = np.arange(1, len(values) + 1)
    headers = [(("n", str(row).encode()),) for row in range(len(values))]
    parts = list(decoder.decode_parts(values, kafka_ms, headers))
    assert [(first, end) for first, end, _ in parts] == [(0, 10), (10, 19), (19, 27)]
    whole = decoder.decode(values, kafka_ms, headers)
    for first, end, part in parts:
        rows = np.flatnonzero((whole.entries.row >= first) & (whole.entries.row < end))
        assert part.entries.text.equals(whole.entries.take(rows).text)
        assert (part.entries.row + first).tolist() == whole.entries.row[rows].tolist()
        assert part.entries.time_ms.tolist() == whole.entries.time_ms[rows].tolist()
    assert [int(row) + first for first, _, part in parts for row in part.empty] == whole.empty.tolist() == [21]
    assert [(row + first, why) for first, _, part in parts for row, why in part.rejected] == whole.rejected
    assert [row for row, _ in whole.rejected] == [22, 25]
    assert [part[:2] for part in decoder.decode_parts([b"a", b"b"], np.arange(2))] == [(0, 2)]
