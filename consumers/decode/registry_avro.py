"""Avro values of a known schema. The only importer of fastavro here.

The writer's schema is the reader's: fields come as they were written. Times stay the numbers that they are (the rules of JSON tell their
unit), so no object is made for them. A schema may not make a short value large: fastavro reads in C, without limits of its own. So what a
value can hold at most follows from its schema and its length, before it is read.
"""

import io
from contextlib import suppress
from typing import Final

from fastavro import parse_schema, schemaless_reader
from fastavro.schema import SchemaParseException, UnknownType
from fastavro.types import DictSchema, NamedSchemas, Schema

from consumers.decode.json_text import NotJson, parse_json
from consumers.decode.registry_schemas import NotOfSchema, NotUtf8, TooManyValues, UnusableSchema
from consumers.decode.registry_values import write_value
from consumers.schema import FetchedSchema

_NUMBERS: Final = frozenset(
    {
        "time-millis", "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos",
        "local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos", "uuid", "duration",
    }
)  # fmt: skip
"""Logical types that are left as the plain value: a number, or for `uuid` its text."""
_MOST_VALUES: Final = 10_000
"""Fields that one value has at least, those of nested records included."""
_MOST_VALUES_A_BYTE: Final = 16
"""Of what an array or a map repeats: a field of type null takes no byte at all, and 1 MB may say that there are 2^60 of them."""
_LEAST_BYTES: Final = {"null": 0, "float": 4, "double": 8}
"""Of the simple types; the others take one byte at least."""


class AvroSchema:
    """Reads Avro values of one schema.

    Thread: one.
    """

    def __init__(self, schema: FetchedSchema) -> None:
        """Raises UnusableSchema."""
        named: NamedSchemas = {}
        try:
            for _, text in schema.references:
                _parse(text, named)
            self._schema = _parse(schema.text, named)
            self._values_a_byte = _values_a_byte(self._schema, named)
        except (NotJson, SchemaParseException, UnknownType, ValueError, KeyError, TypeError, AttributeError):
            raise UnusableSchema("its Avro schema cannot be read") from None
        except RecursionError:
            raise UnusableSchema("its Avro schema is nested too deeply") from None

    def read(self, body: bytes, _indexes: bytes | None, *, strict: bool, most_values: int) -> bytes | str | None:
        """Return a value as JSON, or as text if it is a string. Raises NotOfSchema or TooManyValues."""
        if self._values_a_byte * len(body) > most_values:
            raise TooManyValues(f"{len(body)} bytes of Avro may hold more than {most_values} values")
        stream = io.BytesIO(body)
        try:
            found = schemaless_reader(stream, self._schema, None, handle_unicode_errors="strict" if strict else "replace")
        except UnicodeDecodeError:
            raise NotUtf8("Avro with a string that is not valid UTF-8") from None
        except (EOFError, LookupError, ValueError, TypeError, ArithmeticError, MemoryError, AttributeError):
            raise NotOfSchema("does not match its Avro schema") from None
        if stream.tell() != len(body):
            raise NotOfSchema("does not match its Avro schema: bytes are left over")
        return found if isinstance(found, str) or found is None else write_value(found)


def _parse(text: str, named: NamedSchemas) -> Schema:
    schema = _without_times(parse_json(text))
    if not isinstance(schema, str | list | dict):
        raise TypeError(type(schema).__name__)
    return parse_schema(schema, named_schemas=named)


def _without_times(schema: object) -> object:
    if isinstance(schema, list):
        return [_without_times(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    is_fixed = schema.get("type") == "fixed"
    is_left = schema.get("logicalType") in _NUMBERS and not (is_fixed and schema["logicalType"] == "uuid")
    # `default` is any value, and so are properties of one's own: only what may be a type is looked into.
    plain = {name: _without_times(part) if name in ("type", "fields", "items", "values") else part for name, part in schema.items()}
    if is_left:
        del plain["logicalType"]
    return plain


def _values_a_byte(schema: Schema, named: NamedSchemas) -> int:
    """Return how many values a byte of what is repeated may be, 1 to `_MOST_VALUES_A_BYTE`.

    Raises UnusableSchema if they are more, or if a value has too many fields or is nested without end.
    """
    for values in range(1, _MOST_VALUES_A_BYTE):
        with suppress(_HoldsMore):
            return _Sizes(named, values).check(schema)
    try:
        return _Sizes(named, _MOST_VALUES_A_BYTE).check(schema)
    except _HoldsMore as error:
        raise UnusableSchema(f"its Avro schema has {error} of what takes no space") from None


class _HoldsMore(Exception):
    """An array or a map may hold more values a byte than asked for; the message is which of the two."""


class _Sizes:
    """Checks that what arrays and maps repeat is at most so many values a byte, whichever types of its unions it has.

    For each type it counts the most by which its values exceed that number for each of its bytes, and the most values without repetition.
    """

    def __init__(self, named: NamedSchemas, values_a_byte: int) -> None:
        self._named = named
        self._values_a_byte = values_a_byte
        self._known: dict[str, tuple[int, int]] = {}
        self._open: set[str] = set()

    def check(self, schema: Schema) -> int:
        """Return the number of values a byte. Raises _HoldsMore, and UnusableSchema for another reason."""
        if self._of(schema)[1] > _MOST_VALUES:
            raise UnusableSchema(f"its Avro schema has more than {_MOST_VALUES} fields")
        return self._values_a_byte

    def _of(self, schema: Schema) -> tuple[int, int]:
        if isinstance(schema, list):
            several = [self._of(one) for one in schema] or [(1, 1)]
            return max(excess for excess, _ in several) - self._values_a_byte, max(values for _, values in several)
        if isinstance(schema, str):
            return self._of_named(schema) if schema in self._named else self._of_bytes(_LEAST_BYTES.get(schema, 1))
        kind = schema["type"]
        if kind in ("array", "map"):
            excess, _ = self._of(schema["items" if kind == "array" else "values"])
            if excess > (self._values_a_byte if kind == "map" else 0):  # a map's keys take a byte each
                raise _HoldsMore("an array" if kind == "array" else "a map")
            return self._of_bytes(1)
        if kind in ("record", "error"):
            return self._of_named(schema["name"])
        if kind == "fixed":
            return self._of_bytes(max(int(schema["size"]), 0))
        return self._of(kind) if isinstance(kind, list | dict) else self._of_bytes(_LEAST_BYTES.get(kind, 1))

    def _of_bytes(self, least: int) -> tuple[int, int]:
        return 1 - self._values_a_byte * least, 1

    def _of_named(self, name: str) -> tuple[int, int]:
        if name in self._open:
            # fastavro follows it in C without looking at the stack's end.
            raise UnusableSchema("its Avro schema is recursive, which is not supported")
        if name not in self._known:
            self._open.add(name)
            schema = self._named[name]
            if "fields" in schema:
                parts = [self._of(field["type"]) for field in schema["fields"]]
                excess, values = 1 + sum(excess for excess, _ in parts), 1 + sum(values for _, values in parts)
            else:
                excess, values = self._of(_unnamed(schema))
            self._known[name] = excess, min(values, _MOST_VALUES + 1)
            self._open.remove(name)
        return self._known[name]


def _unnamed(schema: DictSchema) -> Schema:
    return schema if schema["type"] == "fixed" else "int"  # an enum is written as a number
