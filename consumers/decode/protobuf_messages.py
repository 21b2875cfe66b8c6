"""Protocol Buffers: the only file of this room that imports the library for them.

Readers describe the messages that they want; the library's C parser (upb) reads them.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf import descriptor as descriptors
from google.protobuf import message as messages

Message: TypeAlias = messages.Message
"""An object of a class that is made at run time; its fields are its attributes."""
Descriptor: TypeAlias = descriptors.Descriptor
"""Of a message."""
FieldDescriptor: TypeAlias = descriptors.FieldDescriptor

_TYPES: Final = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "bool": _TYPES.TYPE_BOOL,
    "bytes": _TYPES.TYPE_BYTES,
    "double": _TYPES.TYPE_DOUBLE,
    "fixed64": _TYPES.TYPE_FIXED64,
    "float": _TYPES.TYPE_FLOAT,
    "int32": _TYPES.TYPE_INT32,
    "int64": _TYPES.TYPE_INT64,
    "string": _TYPES.TYPE_STRING,
}
_WELL_KNOWN: Final = {
    module.DESCRIPTOR.name: module.DESCRIPTOR.serialized_pb
    for module in (
        *(any_pb2, source_context_pb2, type_pb2, api_pb2, descriptor_pb2, duration_pb2, empty_pb2),
        *(field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2),
    )
}
"""The library's own files by name, each after those that it imports."""


class NotProtobuf(Exception):
    """The bytes are not such a message, or it is nested too deeply (more than 100 levels)."""


class WireField(NamedTuple):
    """A field of a message."""

    number: int
    name: str
    kind: str
    """A scalar type of Protocol Buffers, or the name of a message of the same schema."""
    is_repeated: bool = False
    is_of_choice: bool = False
    """Whether it belongs to the message's one choice (`oneof`)."""


def message_classes(package: str, schema: Mapping[str, Sequence[WireField]]) -> dict[str, type[Message]]:
    """Return a class for each message of a schema; `parse_message` makes objects of it."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in schema.items():
        message = file.message_type.add(name=name)
        if any(field.is_of_choice for field in fields):
            message.oneof_decl.add(name="choice")
        for field in fields:
            described = message.field.add(name=field.name, number=field.number)
            described.label = _TYPES.LABEL_REPEATED if field.is_repeated else _TYPES.LABEL_OPTIONAL
            if field.kind in _SCALARS:
                described.type = _SCALARS[field.kind]
            else:
                described.type, described.type_name = _TYPES.TYPE_MESSAGE, f".{package}.{field.kind}"
            if field.is_of_choice:
                described.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in schema}


def parse_message(message_class: type[Message], value: bytes) -> Message:
    """Parse a message. Raises NotProtobuf."""
    try:
        return message_class.FromString(value)
    except messages.DecodeError:
        raise NotProtobuf from None


def described_file(serialized: bytes, imported: Sequence[tuple[str, bytes]]) -> descriptors.FileDescriptor:
    """Return the descriptor of a file from its FileDescriptorProto. Raises NotProtobuf.

    `imported`: names and FileDescriptorProtos of files, each after those that it imports. An import that is not there is left out, because
    files of options (`confluent/meta.proto`) are often not: only what needs a type of it cannot be described.
    """
    pool = descriptor_pool.DescriptorPool()
    for content in _WELL_KNOWN.values():
        pool.AddSerializedFile(content)
    there = set(_WELL_KNOWN)
    name = ""
    try:
        for name, content in (*imported, ("", serialized)):
            if name in there:
                continue
            file = descriptor_pb2.FileDescriptorProto.FromString(content)
            file.name = name or "value.proto"
            kept = [(place, one) for place, one in enumerate(file.dependency) if one in there]
            public = [new for new, (old, _) in enumerate(kept) if old in file.public_dependency]
            del file.dependency[:], file.public_dependency[:], file.weak_dependency[:]
            file.dependency.extend(one for _, one in kept)
            file.public_dependency.extend(public)
            pool.Add(file)
            there.add(file.name)
        return pool.FindFileByName("value.proto")
    except (messages.DecodeError, TypeError, ValueError, KeyError):
        raise NotProtobuf from None


def class_of(descriptor: Descriptor) -> type[Message]:
    """Return the class of a described message; `parse_message` makes objects of it."""
    found: type[Message] = message_factory.GetMessageClass(descriptor)
    return found
