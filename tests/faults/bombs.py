"""Malicious records, each with its required outcome: rows, one dead letter, or nothing.

Values are as they lie in the topic; `WITHIN_LIMITS` are below the default `decode.max_record_bytes`, `LARGE` above.
"""

import gzip
import json
import zlib
from typing import NamedTuple

import pyarrow as pa

from tests.faults.records import Content, Entry

_TOO_MANY = "too_many_chunks"
_SNAPPY = (("content-encoding", b"snappy"),)
_NOT_UTF8 = "undecodable: not valid UTF-8"
_ZSTD_BEGIN = bytes.fromhex("28b52ffd0058")
"""Magic, a frame header without a size, a window of 2 MB."""
_ZSTD_RLE_128_KIB = ((1 << 17 << 3) | 0b010).to_bytes(3, "little") + b"\0"
_ZSTD_END = bytes.fromhex("010000")


class Bomb(NamedTuple):
    """One record and its name."""

    name: str
    content: Content
    headers: tuple[tuple[str, bytes], ...] = ()


def _line(name: str, text: str, value: bytes | None = None) -> Bomb:
    return Bomb(name, Content(text.encode() if value is None else value, "rows", (Entry(0, text),)))


def _letter(name: str, value: bytes, reason: str) -> Bomb:
    return Bomb(name, Content(value, "dead_letter", reason=reason))


def _bomb(codec: str, size: str, value: bytes, headers: tuple[tuple[str, bytes], ...] = ()) -> Bomb:
    """Return a value that its sender compressed, with much in it."""
    reason = f"too_large: compressed as {codec}, more than 1000000 bytes when decompressed"
    return _letter(f"{size} that the sender compressed as {codec}", value, reason)._replace(headers=headers)


WITHIN_LIMITS = (
    _line("a word of 1 MB", "x" * 1_000_000),
    _letter("a line of 1 MB", b"word after word " * 62_500, _TOO_MANY),
    _letter("1 MB of characters of three bytes", ("\u8a9e" * 333_000).encode(), _TOO_MANY),
    _letter("lists, 100,000 deep", b"[" * 100_000, _TOO_MANY),
    _letter("objects, 100,000 deep", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, _TOO_MANY),
    _letter("an array of 100,000 entries", b"[" + b",".join([b"{}"] * 100_000) + b"]", "too_many_entries: more than 10000 entries"),
    Bomb(
        "an array of 10,000 entries",
        Content(json.dumps([{"msg": "a"}] * 10_000).encode(), "rows", tuple(Entry(sub, "a") for sub in range(10_000))),
    ),
    _line("NaN", '{"msg":null}', b'{"msg": NaN}'),
    _line("a number of 60 digits", "huge", b'{"msg": "huge", "n": ' + b"7" * 60 + b"}"),
    _line("a number of 400 digits", "endless", b'{"msg": "endless", "n": ' + b"7" * 400 + b"}"),
    _line("a key twice", "last", b'{"msg": "first", "msg": "last"}'),
    _line("half of a surrogate pair, escaped", "lone \ufffd", rb'{"msg": "lone \ud800"}'),
    _letter("half of a surrogate pair, as bytes", b"lone \xed\xa0\x80", _NOT_UTF8),
    _line("NUL", "nul \0 inside"),
    _line("right to left, and no width", "\u202eabc\u202c \u200f\u200bdef\u2060"),
    _line("no token at all", "\u200b"),
    _line("spaces", " " * 300),
    Bomb("an empty value", Content(b"", "dropped")),
    Bomb("no value", Content(None, "dropped")),
    Bomb("50,000 headers", Content(b"a line with headers", "rows", (Entry(0, "a line with headers"),)), (("h", b"12345678"),) * 50_000),
    _bomb("gzip", "100 MB", gzip.compress(bytes(100_000_000), 9, mtime=0)),
    _bomb("gzip", "25,000 members", gzip.compress(b"0123456789ab", mtime=0) * 25_000 + gzip.compress(bytes(1_000_000), mtime=0)),
    _bomb("zlib", "100 MB", zlib.compress(bytes(100_000_000), 9)),
    _bomb("zstd", "13 GB", _ZSTD_BEGIN + _ZSTD_RLE_128_KIB * 100_000 + _ZSTD_END),
    _bomb("lz4", "50 MB", pa.compress(bytes(50_000_000), codec="lz4", asbytes=True)),
    _bomb("snappy", "4 GB, it says", b"\xff\xff\xff\xff\x0f" + b"\0" * 100, headers=_SNAPPY),
    _bomb("snappy", "16 MB", pa.compress(bytes(16_000_000), codec="snappy", asbytes=True), headers=_SNAPPY),
    _letter(
        "gzip within gzip",
        gzip.compress(gzip.compress(bytes(100_000_000), 9), 9, mtime=0),
        "undecodable: compressed as gzip, and what is in it",
    ),
    _letter(
        "gzip that is cut off", gzip.compress(b"a line that is cut off", mtime=0)[:-4], "undecodable: damaged, or not compressed as gzip"
    ),
    _letter("zstd with a window of 2 GB", bytes.fromhex("28b52ffd00a8") + _ZSTD_RLE_128_KIB * 2, "undecodable: damaged, or not compressed"),
    _line("a line that its sender compressed", "a compressed line", gzip.compress(b"a compressed line", mtime=0)),
)

LARGE = (
    _letter("a line of 10 MB", b"word after word " * 625_000, "too_large: 10000000 bytes"),
    _letter("a word of 10 MB", b"x" * 10_000_000, "too_large: 10000000 bytes"),
)
SQUEEZED = _letter("zeros that Kafka holds as a hundredth", bytes(60_000_000), "too_large: 60000000 bytes")
ALLOWED = (
    _letter("a line of 10 MB that is allowed", b"word after word " * 625_000, _TOO_MANY),
    _line("a word of 3 MB that is allowed", "x" * 3_000_000),
    _line("a word of 10 MB that is allowed", "x" * 10_000_000),
)
"""The same with a raised setting: a piece holds 65,535 bytes of a word that is one token, so 256 pieces hold 10 MB.

The last one takes 10 s on an idle machine: it gives no reason to stop early.
"""
