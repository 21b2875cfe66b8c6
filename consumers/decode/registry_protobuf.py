"""Protobuf values of a known schema: messages that are described at run time.

The registry gives the schema as a serialised FileDescriptorProto, and the library's C parser reads by it. Fields have the names of the
.proto file; what is not set is absent. Enumerations are their names, times RFC 3339, and 64-bit integers stay numbers.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from consumers.decode.protobuf_messages import Descriptor, FieldDescriptor, Message, NotProtobuf, class_of, described_file, parse_message
from consumers.decode.registry_schemas import NotOfSchema, UnusableSchema
from consumers.decode.registry_values import write_value
from consumers.decode.registry_wire import read_indexes
from consumers.schema import FetchedSchema

_MOST_CLASSES: Final = 1_000
_Convert = Callable[[Any], object]
"""Makes a field's value plain: that of a message, an enumeration or several of them."""


class ProtobufSchema:
    """Reads Protobuf values of one schema: of whichever of its messages a value names.

    Thread: one.
    """

    def __init__(self, schema: FetchedSchema) -> None:
        """Raises UnusableSchema."""
        try:
            imported = [(name, _serialized(text)) for name, text in schema.references]
            self._file = described_file(_serialized(schema.text), imported)
        except (binascii.Error, ValueError):
            raise UnusableSchema("its Protobuf schema does not come as a descriptor: the registry ignores format=serialized") from None
        except NotProtobuf:
            raise UnusableSchema("its Protobuf schema cannot be read") from None
        self._fields = _Fields()
        self._classes: dict[tuple[int, ...], type[Message]] = {}

    def read(self, body: bytes, indexes: bytes | None, *, strict: bool, most_values: int) -> bytes | str | None:  # noqa: ARG002 - proto3 has no other strings, and a value takes two bytes
        """Return a value as JSON. Raises NotOfSchema, also where a string is not valid UTF-8."""
        try:
            path, end = read_indexes(body if indexes is None else indexes)
        except ValueError:
            raise NotOfSchema("not framed as a registry's Protobuf: no message indexes") from None
        try:
            message = parse_message(self._class(path), body[end:] if indexes is None else body)
        except NotProtobuf:
            raise NotOfSchema("does not match its Protobuf schema") from None
        return write_value(self._fields.plain(message))

    def _class(self, path: tuple[int, ...]) -> type[Message]:
        found = self._classes.get(path)
        if found is None:
            if len(self._classes) >= _MOST_CLASSES:
                self._classes.clear()
            found = self._classes[path] = class_of(self._described(path))
        return found

    def _described(self, path: tuple[int, ...]) -> Descriptor:
        """Return the descriptor of the message that a value names. Raises NotOfSchema."""
        described = None
        messages = list(self._file.message_types_by_name.values())
        for index in path:
            if not 0 <= index < len(messages):
                raise NotOfSchema("does not match its Protobuf schema: there is no such message")
            described = messages[index]
            messages = described.nested_types
        return described


def _serialized(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii"), validate=True)


class _Fields(dict[FieldDescriptor, tuple[str, _Convert | None]]):
    """What is done with each field of a schema's messages, by its descriptor: its name, and what makes its value plain (None: nothing).

    Thread: one.
    """

    def __missing__(self, field: FieldDescriptor) -> tuple[str, _Convert | None]:
        found = self[field] = field.name, self._converter(field)
        return found

    def plain(self, message: Message) -> dict[str, object]:
        """Return a message as plain values. Its nesting is bounded: the library parses 100 levels."""
        found = {}
        for field, value in message.ListFields():
            name, convert = self[field]
            found[name] = value if convert is None else convert(value)
        return found

    def _converter(self, field: FieldDescriptor) -> _Convert | None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return _of_pairs(self._one_converter(field.message_type.fields_by_name["value"]))
        convert = self._one_converter(field)
        return _of_several(convert) if field.is_repeated else convert

    def _one_converter(self, field: FieldDescriptor) -> _Convert | None:
        if field.message_type is not None:
            well_known: _Convert | None = _CONVERT.get(field.message_type.full_name)
            return well_known or self.plain
        if field.enum_type is not None:
            names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
            return lambda number: names.get(number, number)
        return None


def _of_several(convert: _Convert | None) -> _Convert:
    return list if convert is None else lambda values: [convert(value) for value in values]


def _of_pairs(convert: _Convert | None) -> _Convert:
    return dict if convert is None else lambda pairs: {key: convert(value) for key, value in pairs.items()}


def _time(message: Message) -> object:
    """Return a time to the microsecond; as its parts if no calendar has it."""
    try:
        return datetime.fromtimestamp(message.seconds, UTC).replace(microsecond=message.nanos // 1000)
    except (ValueError, OverflowError, OSError):
        return {field.name: value for field, value in message.ListFields()}


def _duration(message: Message) -> object:
    """Return a duration as text; as its parts if it is none that can be written."""
    try:
        return message.ToJsonString()
    except (ValueError, OverflowError):
        return {field.name: value for field, value in message.ListFields()}


def _struct(message: Message) -> dict[str, object]:
    return {key: _struct_value(value) for key, value in message.fields.items()}


def _struct_value(message: Message) -> object:
    kind = message.WhichOneof("kind")
    if kind == "struct_value":
        return _struct(message.struct_value)
    if kind == "list_value":
        return [_struct_value(one) for one in message.list_value.values]
    return None if kind in (None, "null_value") else getattr(message, kind)


def _wrapped(message: Message) -> object:
    return message.value


_WRAPPERS = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_CONVERT: Final[Mapping[str, _Convert]] = {
    "google.protobuf.Timestamp": _time,
    "google.protobuf.Duration": _duration,
    "google.protobuf.Struct": _struct,
    "google.protobuf.Value": _struct_value,
    "google.protobuf.ListValue": lambda message: [_struct_value(one) for one in message.values],
    **{f"google.protobuf.{name}Value": _wrapped for name in _WRAPPERS},
}
