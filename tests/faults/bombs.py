"""Malicious records, each with its required outcome: rows, one dead letter, or nothing.

Values are as they lie in the topic; `WITHIN_LIMITS` are below the default `decode.max_record_bytes`, `LARGE` above.
"""

import gzip
import json
from typing import NamedTuple

from tests.faults.records import Content, Entry

_TOO_MANY = "too_many_chunks"
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


def _literal(name: str, value: bytes) -> Bomb:
    """Return a record that looks like JSON but is not: it counts as one line of text."""
    return _line(name, value.decode(), value)


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
    _literal("NaN", b'{"msg": NaN}'),
    _line("a number of 60 digits", "huge", b'{"msg": "huge", "n": ' + b"7" * 60 + b"}"),
    _literal("a number of 400 digits", b'{"msg": "endless", "n": ' + b"7" * 400 + b"}"),
    _line("a key twice", "last", b'{"msg": "first", "msg": "last"}'),
    _literal("half of a surrogate pair, escaped", rb'{"msg": "lone \ud800"}'),
    _letter("half of a surrogate pair, as bytes", b"lone \xed\xa0\x80", _NOT_UTF8),
    _line("NUL", "nul \0 inside"),
    _line("right to left, and no width", "\u202eabc\u202c \u200f\u200bdef\u2060"),
    _line("no token at all", "\u200b"),
    _line("spaces", " " * 300),
    Bomb("an empty value", Content(b"", "dropped")),
    Bomb("no value", Content(None, "dropped")),
    Bomb("50,000 headers", Content(b"a line with headers", "rows", (Entry(0, "a line with headers"),)), (("h", b"12345678"),) * 50_000),
    _letter("a gzip bomb of the sender's own", gzip.compress(bytes(100_000_000), 9), _NOT_UTF8),
    _letter("a zstd bomb of the sender's own", _ZSTD_BEGIN + _ZSTD_RLE_128_KIB * 100_000 + _ZSTD_END, _NOT_UTF8),
)
"""Vectail decompresses no value: to it the last two are bytes that are not text."""

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
