"""Parses JSON and writes it: the only file of this room that imports the libraries for it.

orjson parses whole values for the general rules; msgspec parses objects of a form that is known, as the fast path wants them, and writes
kept fields, one or a column of them, in the same form.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import Annotated, Any, Final

import msgspec
import orjson

Scalar = str | int | float | bool

LONGEST_SHORT: Final = 256
"""Characters of a string that is short."""
_ESCAPED: Final = re.compile(r'[\x00-\x1f"\\]')
_ENCODER: Final = msgspec.json.Encoder()
_FLAT: Final = msgspec.json.Decoder(dict[str, Scalar])
_MESSAGE_PACK: Final = msgspec.msgpack.Decoder()
MessagePackExtension = msgspec.msgpack.Ext
"""A value of a type of its own: `code` and `data`."""


class NotJson(Exception):
    """The value cannot be read as log entries."""


def parse_json(value: bytes | str) -> object:
    """Parse a value. Raises NotJson; of a name given twice the last counts."""
    try:
        document: object = orjson.loads(value)
    except orjson.JSONDecodeError:
        raise NotJson("not valid JSON") from None
    return document


def parse_msgpack(value: bytes) -> object:
    """Parse MessagePack. Raises NotJson."""
    try:
        document: object = _MESSAGE_PACK.decode(value)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        raise NotJson("not valid MessagePack") from None
    return document


def canonical_json(document: object) -> str:
    """Write a document with sorted names. Raises NotJson: orjson reads 1,024 levels of nesting but writes only 254."""
    try:
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode("utf-8")
    except orjson.JSONEncodeError:
        raise NotJson("JSON nested too deeply") from None


def write_document(document: object, plain: Callable[[object], object]) -> bytes:
    """Write a document; `plain` returns what stands for an object that JSON has no type for. Raises NotJson: more than 254 levels."""
    try:
        return orjson.dumps(document, default=plain, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        raise NotJson("nested too deeply") from None


def text_of_bytes(content: bytes) -> str:
    """Return how JSON has bytes: as the text that they are, else in base64."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return b64encode(content).decode()


def write_flat(fields: Mapping[str, Scalar]) -> bytes:
    """Write a flat object as UTF-8, in the order of its names' insertion. Raises ValueError for texts with lone surrogates."""
    return _ENCODER.encode(fields)


def read_flat(fields: str) -> dict[str, Scalar]:
    """Parse kept fields, as `write_flat` writes them."""
    return _FLAT.decode(fields)


def is_plain(name: str) -> bool:
    """Whether JSON writes a name as it is: only such names can be those of a form or of a class."""
    return not _ESCAPED.search(name)


def write_lines(objects: Sequence[object]) -> bytes:
    """Write objects of a class by `flat_class`, each ended by a line feed, which JSON never contains otherwise."""
    return _ENCODER.encode_lines(objects)


def flat_class(names: Sequence[str]) -> type[Any]:
    """Return a class whose objects, made of one value for each name, are written as flat objects; a value that is None is left out."""
    fields = [(f"f{place}", object, msgspec.field(default=None, name=name)) for place, name in enumerate(names)]
    return msgspec.defstruct("Flat", fields, omit_defaults=True, gc=False)


class KeyKind(IntEnum):
    """What a key of the objects of a form holds, besides null, which is as if it were not there."""

    NOTHING = 0
    SHORT = 1
    """Strings of 1 to 256 characters."""
    TEXT = 2
    """Strings."""
    NUMBER = 3
    """Numbers of 64 bits and booleans."""
    RAW = 4
    """Anything: it stays JSON."""
    SCALAR = 5
    """Strings, numbers of 64 bits and booleans."""


_INTEGER = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_TYPES: Final[Mapping[KeyKind, Any]] = {
    KeyKind.NOTHING: None,
    KeyKind.SHORT: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_SHORT)] | None,
    KeyKind.TEXT: str | None,
    KeyKind.NUMBER: _INTEGER | float | bool | None,
    KeyKind.RAW: msgspec.Raw,
    KeyKind.SCALAR: str | _INTEGER | float | bool | None,
}


class FormParser:
    """Parses objects that have no other keys than those of a form, and nothing else in them than the form says.

    Thread: one.
    """

    def __init__(self, kinds: Mapping[str, KeyKind]) -> None:
        fields = [(f"f{place}", _TYPES[kind], msgspec.field(default=None, name=key)) for place, (key, kind) in enumerate(kinds.items())]
        self._getters = [attrgetter(name) for name, _, _ in fields]
        form = msgspec.defstruct("Form", fields, forbid_unknown_fields=True, gc=False)
        self._decode = msgspec.json.Decoder(form).decode

    def parse(self, values: Sequence[bytes]) -> tuple[list[list[Any]], list[int]]:
        """Return the columns of those values that are of the form, and the places of the others.

        A column is as long as there are values of the form; None is what is missing or null, and RAW columns hold what `bytes` copies.
        """
        decode, columns = self._decode, self._new_columns()
        others: list[int] = []
        for first in range(0, len(values), _AT_ONCE):
            some = values[first : first + _AT_ONCE]
            try:
                parsed = [decode(value) for value in some]
            except _REFUSED:
                parsed = []
                for place, value in enumerate(some, start=first):
                    try:
                        parsed.append(decode(value))
                    except _REFUSED:
                        others.append(place)
            for column, get in columns:
                column.extend(map(get, parsed))
        return [column for column, _ in columns], others

    def _new_columns(self) -> list[tuple[list[Any], Callable[[Any], Any]]]:
        return [([], get) for get in self._getters]


_AT_ONCE: Final = 128
"""Objects parsed before they are taken apart: so few are still in the processor's cache."""
_REFUSED: Final = (msgspec.MsgspecError, ValueError, RecursionError)
