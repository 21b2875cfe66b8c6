"""How a value names the schema that it was written with, when a Schema Registry keeps the schemas.

Two forms: byte 0 and the schema's number before the value, or the number or the GUID in a header and the value as it is. After either of
them Protobuf says which message of its file the value is. `consumers.decode.registry_reader` reads values by it; before that
`worker.indexing.schema_wait` asks which schemas a list of records needs.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from consumers.columns import utf8_of
from consumers.decode.found import Values, undecodable
from consumers.record import Header
from consumers.rejection import Rejection
from consumers.schema import SchemaKey

VALUE_SCHEMA_ID: Final = "__value_schema_id"
"""The header; that of the key is `__key_schema_id`."""
_NUMBER, _GUID = 0, 1
"""The first byte says which of the two follows."""
_PREFIX_BYTES: Final = 5
_GUID_BYTES: Final = 17
_GLUE: Final = (b"\x03\x00", b"\x03\x05")
_GLUE_BYTES: Final = 18
_MOST_INDEXES: Final = 100
"""Protobuf allows messages in messages to this depth."""


class Framed(NamedTuple):
    """A value, and the schema that it was written with.

    Thread: any.
    """

    key: SchemaKey
    body: bytes
    """What the schema describes; for Protobuf the message's indexes come first, unless `indexes` holds them."""
    indexes: bytes | None
    """What a header says after the schema; None: the value names its schema itself."""


def read_frame(value: bytes, headers: Sequence[Header]) -> Framed | Rejection:
    """Return which schema a value names and what follows, or why it names none."""
    content = _schema_header(headers)
    if content is not None:
        size = {_NUMBER: _PREFIX_BYTES, _GUID: _GUID_BYTES}.get(content[0] if content else -1)
        if size is None or len(content) < size:
            return undecodable(f"header {VALUE_SCHEMA_ID} is neither a number nor a GUID")
        return Framed(_key_of(content), value, content[size:])
    if len(value) >= _PREFIX_BYTES and value[0] == _NUMBER:
        return Framed(int.from_bytes(value[1:_PREFIX_BYTES], "big"), value[_PREFIX_BYTES:], None)
    if len(value) >= _GLUE_BYTES and value[:2] in _GLUE:
        return undecodable("framed for the AWS Glue Schema Registry, which is not supported")
    return undecodable("no schema id: neither byte 0 and a number before the value nor a header")


def find_keys(value: Sequence[bytes | None], headers: Sequence[tuple[Header, ...]] | None) -> set[SchemaKey]:
    """Return the schemas that n values name; headers: None, no record has any."""
    keys: set[SchemaKey] = set()
    if headers is not None:
        named = [_schema_header(own) for own in headers]
        keys |= {_key_of(content) for content in named if content and len(content) >= (_GUID_BYTES if content[0] else _PREFIX_BYTES)}
        value = [one for one, content in zip(value, named, strict=True) if content is None]
    prefixes = {one[1:_PREFIX_BYTES] for one in value if one and not one[0]}
    return keys | {int.from_bytes(prefix, "big") for prefix in prefixes if len(prefix) == _PREFIX_BYTES - 1}


def find_framed(values: Values) -> NDArray[np.bool_]:
    """Return which of n values name a schema, themselves or by a header: bool[n]."""
    data, ends = utf8_of(values.column)
    is_framed = np.diff(ends) >= _PREFIX_BYTES
    is_framed[is_framed] = data[ends[:-1][is_framed]] == _NUMBER
    if values.headers is not None:
        is_framed |= np.fromiter((_schema_header(own) is not None for own in values.headers), np.bool_, values.size)
    return is_framed


def read_indexes(encoded: bytes) -> tuple[tuple[int, ...], int]:
    """Return the path to a Protobuf message in its file, and how many bytes say it. Raises ValueError."""
    count, place = _read_varint(encoded, 0)
    if not 0 <= count <= _MOST_INDEXES:
        raise ValueError("message indexes are not a list")
    indexes: list[int] = []
    for _ in range(count):
        index, place = _read_varint(encoded, place)
        indexes.append(index)
    return tuple(indexes) or (0,), place  # the first message of a file is written as an empty list


def _read_varint(encoded: bytes, place: int) -> tuple[int, int]:
    """Return a zig-zag number of at most 32 bits, and the place behind it."""
    number = 0
    for byte, shift in zip(encoded[place : place + 5], range(0, 35, 7), strict=False):
        number |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follows
            return (number >> 1) ^ -(number & 1), place
    raise ValueError("message indexes are cut")


def _schema_header(headers: Sequence[Header]) -> bytes | None:
    """Return the last header that names a schema; None: there is none."""
    for name, content in reversed(headers):
        if name == VALUE_SCHEMA_ID and content is not None:
            return content
    return None


def _key_of(content: bytes) -> SchemaKey:
    return str(UUID(bytes=content[1:_GUID_BYTES])) if content[0] else int.from_bytes(content[1:_PREFIX_BYTES], "big")
