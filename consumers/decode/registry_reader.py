"""Values whose schemas a Schema Registry keeps: Avro, Protobuf and JSON with a JSON Schema.

Each value is read by its schema, written as JSON, and goes on by the rules of JSON: what holds for the fields of JSON holds for those of
Avro and Protobuf. A value that is one string is a message with nothing else. Every schema that a value needs must be known when it is read
(`worker.indexing.schema_wait`); here nothing is asked for.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from consumers.columns import byte_column
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.found import UNKNOWN_SCHEMA, Found, Values, decode_rejection, undecodable
from consumers.decode.joined import join_entries
from consumers.decode.json_reader import JsonReader
from consumers.decode.json_text import NotJson, parse_json
from consumers.decode.registry_avro import AvroSchema
from consumers.decode.registry_protobuf import ProtobufSchema
from consumers.decode.registry_schemas import (
    NotOfSchema,
    NotUtf8,
    Schema,
    Schemas,
    TooManyValues,
    Unknown,
    Unusable,
    UnusableSchema,
    ValueSchema,
)
from consumers.decode.registry_values import write_value
from consumers.decode.registry_wire import Framed, read_frame
from consumers.decode.rules import DecodeRules
from consumers.rejection import Rejection
from consumers.schema import FetchedSchema

_WRITTEN_BYTES: Final = 8 * 1024 * 1024
"""JSON that is in memory at once, unless one value is more."""
_MOST_TIMES: Final = 4
"""How often the size limit of values a value may take as JSON: the names of fields are in the schema and not in the value."""
_MOST_VALUES_A_BYTE: Final = 2
"""Of the size limit, in arrays and maps: as many as elements have that are records of one byte."""


class JsonSchema:
    """Values that are JSON already.

    Thread: any.
    """

    def read(self, body: bytes, _indexes: bytes | None, *, strict: bool, most_values: int) -> bytes | str | None:  # noqa: ARG002 - the rules of JSON do it
        """Return a value as it is, or as text if it is a string. Raises NotOfSchema."""
        if body.lstrip()[:1] != b'"':
            return body
        try:
            return str(parse_json(body))
        except NotJson:
            raise NotOfSchema("not valid JSON") from None


_NEW_SCHEMA: Final[dict[str, Callable[[FetchedSchema], ValueSchema]]] = {
    "AVRO": AvroSchema,
    "PROTOBUF": ProtobufSchema,
    "JSON": lambda _schema: JsonSchema(),
}


def new_schema(fetched: FetchedSchema) -> Schema:
    """Make a schema ready to read values with."""
    new = _NEW_SCHEMA.get(fetched.type)
    if new is None:
        return Unusable("its schema is neither Avro nor Protobuf nor JSON Schema")
    try:
        return new(fetched)
    except UnusableSchema as error:
        return Unusable(str(error))


class _Written(NamedTuple):
    """Values as JSON, and which of the given values they are.

    Thread: one.
    """

    place: list[int]
    value: list[bytes]


class RegistryReader:
    """Asks nobody: a schema that is not known, or that the registry does not have, is a reason to reject.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, schemas: Schemas, tally: DecodeTally) -> None:
        self._schemas = schemas
        self._strict = rules.strict
        self._tally = tally
        self._json = JsonReader(rules, tally=tally)
        self._most_bytes = _MOST_TIMES * rules.max_record_bytes
        self._most_values = _MOST_VALUES_A_BYTE * rules.max_record_bytes

    def read(self, values: Values) -> Found:
        """Read n values."""
        found: list[Found] = []
        failed: list[tuple[int, Rejection]] = []
        written, size_bytes = _Written([], []), 0
        for place, value in enumerate(values.value):
            one = self._write(value, () if values.headers is None else values.headers[place])
            if isinstance(one, Rejection):
                failed.append((place, one))
            elif one is not None:
                written.place.append(place)
                written.value.append(one)
                size_bytes += len(one)
                if size_bytes > _WRITTEN_BYTES:
                    found.append(self._read_json(written, values))
                    written, size_bytes = _Written([], []), 0
        if written.place:
            found.append(self._read_json(written, values))
        failed += [pair for one in found for pair in one.failed]
        return Found(join_entries([one.entries for one in found]), sorted(failed, key=lambda pair: pair[0]))

    def _read_json(self, written: _Written, values: Values) -> Found:
        place = np.array(written.place, np.int64)
        return self._json.read(Values(written.value, byte_column(written.value), values.kafka_ms[place])).placed(place)

    def _write(self, value: bytes, headers: tuple[tuple[str, bytes | None], ...]) -> bytes | Rejection | None:
        """Return a value as JSON, why it cannot be read, or None if it holds nothing."""
        frame = read_frame(value, headers)
        if not isinstance(frame, Framed):
            return frame
        schema = self._schemas.find(frame.key)
        if schema is None or isinstance(schema, Unknown):
            asked = "the registry does not have it" if schema else "it was not asked for, because the value is packed in another"
            return decode_rejection(UNKNOWN_SCHEMA, f"schema {frame.key}: {asked}")
        if isinstance(schema, Unusable):
            return undecodable(f"schema {frame.key}: {schema.reason}")
        try:
            document = self._read_value(schema, frame)
            if isinstance(document, str):
                document = write_value({"message": document}) if document else None
        except (NotOfSchema, TooManyValues) as error:
            reject = undecodable if isinstance(error, NotOfSchema) else partial(decode_rejection, "too_large")
            return reject(f"{error} (schema {frame.key})")
        if document is not None and len(document) > self._most_bytes:
            return decode_rejection("too_large", f"more than {self._most_bytes} bytes as JSON")
        return document

    def _read_value(self, schema: ValueSchema, frame: Framed) -> bytes | str | None:
        try:
            return schema.read(frame.body, frame.indexes, strict=True, most_values=self._most_values)
        except NotUtf8:
            if self._strict:
                raise
        self._tally.replaced_records += 1
        return schema.read(frame.body, frame.indexes, strict=False, most_values=self._most_values)
