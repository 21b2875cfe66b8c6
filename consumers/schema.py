"""A schema as a Schema Registry gives it, and what it is asked for by."""

from typing import NamedTuple

SchemaKey = int | str
"""A schema's number, or its GUID as text."""


class FetchedSchema(NamedTuple):
    """A schema with all that it refers to.

    Thread: any.
    """

    type: str
    """`AVRO`, `PROTOBUF` or `JSON`."""
    text: str
    """Avro: JSON. Protobuf: a FileDescriptorProto in base64."""
    references: tuple[tuple[str, str], ...] = ()
    """Names and texts of the schemas that it refers to, each after those that it refers to itself."""
