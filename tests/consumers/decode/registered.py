"""Real producers for tests of registry formats: Confluent's serialisers with their registry in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka.schema_registry import Schema as RegisteredSchema
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from consumers.decode.registry_reader import new_schema
from consumers.decode.registry_schemas import Schemas
from consumers.record import Header
from consumers.schema import FetchedSchema, SchemaKey


class Registered:
    """A registry in memory and serialisers that write with it."""

    def __init__(self) -> None:
        self.client = SchemaRegistryClient.new_client({"url": "mock://"})

    def avro(self, schema: str, value: object, *, named: Sequence[Any] = ()) -> bytes:
        return self._written(AvroSerializer(self.client, _referring(schema, "AVRO", named) if named else schema), value)[0]

    def avro_in_header(self, schema: str, value: object) -> tuple[bytes, tuple[Header, ...]]:
        return self._written(AvroSerializer(self.client, schema, conf=_IN_HEADER), value)

    def json(self, schema: str, value: object) -> bytes:
        return self._written(JSONSerializer(schema, self.client), value)[0]

    def protobuf(self, message: Any) -> bytes:  # noqa: ANN401 - classes made at run time
        return self._written(ProtobufSerializer(type(message), self.client, _PROTOBUF), message)[0]

    def protobuf_in_header(self, message: Any) -> tuple[bytes, tuple[Header, ...]]:  # noqa: ANN401
        return self._written(ProtobufSerializer(type(message), self.client, {**_PROTOBUF, **_IN_HEADER}), message)

    def fetch(self, key: SchemaKey) -> FetchedSchema:
        """Return a schema as `consumers.registry.RegistryClient` does."""
        found = self.client.get_schema(key) if isinstance(key, int) else self.client.get_schema_by_guid(key)
        references: dict[str, str] = {}
        self._add_references(found, references)
        return FetchedSchema(found.schema_type or "AVRO", found.schema_str or "", tuple(references.items()))

    def schemas(self) -> Schemas:
        """Return all schemas, by number and by GUID."""
        schemas = Schemas()
        store = self.client._store  # type: ignore[attr-defined]  # noqa: SLF001 - the mock has no list
        for key in (*store.schema_id_index, *store.schema_guid_index):
            schemas.add_schema(key, new_schema(self.fetch(key)))
        return schemas

    def _add_references(self, schema: RegisteredSchema, found: dict[str, str]) -> None:
        for one in schema.references or ():
            referred = self.client.get_version(str(one.subject), int(one.version or 0)).schema
            self._add_references(referred, found)
            found[str(one.name)] = referred.schema_str or ""

    def _written(self, serializer: Any, value: object) -> tuple[bytes, tuple[Header, ...]]:  # noqa: ANN401 - three classes without a protocol
        headers: list[tuple[str, str | bytes | None]] = []
        written = serializer(value, SerializationContext("logs", MessageField.VALUE, headers))
        return written, tuple((name, content.encode() if isinstance(content, str) else content) for name, content in headers)


_IN_HEADER: Mapping[str, Any] = {"schema.id.serializer": header_schema_id_serializer}
_PROTOBUF: Mapping[str, Any] = {"use.deprecated.format": False}


def _referring(schema: str, kind: str, named: Sequence[Any]) -> RegisteredSchema:
    return RegisteredSchema(schema, kind, references=list(named))
