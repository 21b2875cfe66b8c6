"""A stub server with FLOAT16, BFLOAT16 and INT8 vectors: what goes to the Milvus Lite behind it is turned into floats, and back."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymilvus.grpc_gen import common_pb2, schema_pb2

from tests.sinks.stub_server import StubServer

_TYPES = {schema_pb2.Float16Vector: "FLOAT16", schema_pb2.BFloat16Vector: "BFLOAT16", schema_pb2.Int8Vector: "INT8"}
_PLACES = {common_pb2.Float16Vector: "FLOAT16", common_pb2.BFloat16Vector: "BFLOAT16", common_pb2.Int8Vector: "INT8"}


class TypedServer(StubServer):
    """Refuses a vector of another type than the collection's, as a server does.

    Thread: any.
    """

    def __init__(self, folder: Path) -> None:
        self._vectors: dict[str, int] = {}
        super().__init__(folder)

    @property
    def types(self) -> set[str]:
        """Types of all collections but FLOAT."""
        return {_TYPES[number] for number in self._vectors.values()}

    def CreateCollection(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (the names and types of generated code)
        schema = schema_pb2.CollectionSchema.FromString(request.schema)
        for field in schema.fields:
            if field.data_type in _TYPES:
                self._vectors[request.collection_name] = field.data_type
                field.data_type = schema_pb2.FloatVector
        request.schema = schema.SerializeToString()
        return super().CreateCollection(request, context)

    def DescribeCollection(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as above)
        answer = super().DescribeCollection(request, context)
        for field in answer.schema.fields:
            if field.data_type == schema_pb2.FloatVector:
                field.data_type = self._vectors.get(request.collection_name, schema_pb2.FloatVector)
        return answer

    def Upsert(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as above)
        kind = self._vectors.get(request.collection_name)
        for column in request.fields_data if kind else ():
            if column.WhichOneof("field") == "vectors":
                assert column.type == kind
                name = _TYPES[column.type]
                floats = read(getattr(column.vectors, f"{name.lower()}_vector"), name)
                column.type = schema_pb2.FloatVector
                column.vectors.float_vector.data.extend(floats.tolist())
        return super().Upsert(request, context)

    def Query(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as above)
        answer = super().Query(request, context)
        kind = self._vectors.get(request.collection_name)
        for column in answer.fields_data if kind else ():
            if column.WhichOneof("field") == "vectors":
                floats = np.array(column.vectors.float_vector.data, np.float32)
                column.type = kind
                setattr(column.vectors, f"{_TYPES[column.type].lower()}_vector", write(floats, _TYPES[column.type]))
        return answer

    def Search(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as above)
        kind = self._vectors.get(request.collection_name)
        group = common_pb2.PlaceholderGroup.FromString(request.placeholder_group)
        for place in group.placeholders if kind else ():
            assert kind
            assert _PLACES[place.type] == _TYPES[kind], "a search of another type is refused by servers"
            values = [read(value, _PLACES[place.type]).astype("<f4").tobytes() for value in place.values]
            del place.values[:]
            place.type = common_pb2.FloatVector
            place.values.extend(values)
        request.placeholder_group = group.SerializeToString()
        return super().Search(request, context)


def read(raw: bytes, name: str) -> NDArray[np.float32]:
    """Bytes as the format's own definition has them: bfloat16 is the upper half of a float32."""
    if name == "BFLOAT16":
        halves = np.frombuffer(raw, "<u2")
        return np.stack([np.zeros_like(halves), halves], axis=-1).reshape(-1).view("<f4").astype(np.float32)
    return np.frombuffer(raw, "<f2" if name == "FLOAT16" else "i1").astype(np.float32)


def write(floats: NDArray[np.float32], name: str) -> bytes:
    """Floats that have room in the type, as its bytes."""
    if name == "BFLOAT16":
        return np.ascontiguousarray(floats.view("<u2")[1::2]).tobytes()
    return floats.astype("<f2" if name == "FLOAT16" else "i1").tobytes()
