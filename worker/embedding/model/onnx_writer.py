"""Writes an ONNX model node by node: the messages of `onnx.proto`, as far as a graph of ours needs them.

The package `onnx` would do the same and adds 29 MB to every install; `protobuf` is there already. Only this module knows the format.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from consumers.decode.protobuf_messages import WireField, message_classes
from worker.embedding.model.weights import StoredWeight

FLOAT, UINT8, INT32, INT64 = 1, 2, 6, 7
"""Element types, as `TensorProto.DataType` numbers them."""
CONTRIB: Final = "com.microsoft"
"""Operators that only ONNX Runtime has."""
_ELEMENT_TYPES: Final = {np.dtype(np.float32): FLOAT, np.dtype(np.uint8): UINT8, np.dtype(np.int64): INT64}
_ATTRIBUTE_TYPES: Final = {float: (1, "f"), int: (2, "i"), str: (3, "s")}
"""Python type → number and field in `AttributeProto`."""
_EXTERNAL: Final = 1
_VERSIONS: Final = {"": 20, CONTRIB: 1}
"""Operator sets: 20 is the first with Gelu."""
_IR_VERSION: Final = 9

_SCHEMA: Final = {
    "ModelProto": (
        WireField(1, "ir_version", "int64"),
        WireField(2, "producer_name", "string"),
        WireField(7, "graph", "GraphProto"),
        WireField(8, "opset_import", "OperatorSetIdProto", is_repeated=True),
    ),
    "OperatorSetIdProto": (WireField(1, "domain", "string"), WireField(2, "version", "int64")),
    "GraphProto": (
        WireField(1, "node", "NodeProto", is_repeated=True),
        WireField(2, "name", "string"),
        WireField(5, "initializer", "TensorProto", is_repeated=True),
        WireField(11, "input", "ValueInfoProto", is_repeated=True),
        WireField(12, "output", "ValueInfoProto", is_repeated=True),
    ),
    "NodeProto": (
        WireField(1, "input", "string", is_repeated=True),
        WireField(2, "output", "string", is_repeated=True),
        WireField(3, "name", "string"),
        WireField(4, "op_type", "string"),
        WireField(5, "attribute", "AttributeProto", is_repeated=True),
        WireField(7, "domain", "string"),
    ),
    "AttributeProto": (
        WireField(1, "name", "string"),
        WireField(2, "f", "float"),
        WireField(3, "i", "int64"),
        WireField(4, "s", "bytes"),
        WireField(20, "type", "int32"),
    ),
    "TensorProto": (
        WireField(1, "dims", "int64", is_repeated=True),
        WireField(2, "data_type", "int32"),
        WireField(8, "name", "string"),
        WireField(9, "raw_data", "bytes"),
        WireField(13, "external_data", "StringStringEntryProto", is_repeated=True),
        WireField(14, "data_location", "int32"),
    ),
    "StringStringEntryProto": (WireField(1, "key", "string"), WireField(2, "value", "string")),
    "ValueInfoProto": (WireField(1, "name", "string"), WireField(2, "type", "TypeProto")),
    "TypeProto": (WireField(1, "tensor_type", "TensorTypeProto"),),
    "TensorTypeProto": (WireField(1, "elem_type", "int32"), WireField(2, "shape", "TensorShapeProto")),
    "TensorShapeProto": (WireField(1, "dim", "DimensionProto", is_repeated=True),),
    "DimensionProto": (WireField(1, "dim_value", "int64"), WireField(2, "dim_param", "string")),
}
_MODEL: Final = message_classes("onnx", _SCHEMA)["ModelProto"]


class OnnxWriter:
    """A graph that grows: every name that a method returns is a value of it.

    Thread: one.
    """

    def __init__(self) -> None:
        self._model: Any = _MODEL()
        self._model.ir_version, self._model.producer_name, self._model.graph.name = _IR_VERSION, "vectail", "bert"
        for domain, version in _VERSIONS.items():
            self._model.opset_import.add(domain=domain, version=version)
        self._graph = self._model.graph

    def input(self, name: str, element_type: int, *dims: str) -> str:
        """Declare an input whose dimensions have these names."""
        self._describe(self._graph.input.add(name=name), element_type, dims)
        return name

    def output(self, name: str, *dims: str | int) -> None:
        """Declare an output of float32."""
        self._describe(self._graph.output.add(name=name), FLOAT, dims)

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add an array of float32, uint8 or int64 with its content."""
        self._graph.initializer.add(
            name=name, data_type=_ELEMENT_TYPES[values.dtype], dims=values.shape, raw_data=np.ascontiguousarray(values).tobytes()
        )
        return name

    def stored(self, name: str, weight: StoredWeight, file: Path) -> str:
        """Add a float32 weight that stays where it is: ONNX Runtime maps that part of the file."""
        tensor = self._graph.initializer.add(name=name, data_type=FLOAT, dims=weight.shape, data_location=_EXTERNAL)
        for key, value in (("location", file.name), ("offset", weight.offset_bytes), ("length", weight.size_bytes)):
            tensor.external_data.add(key=key, value=str(value))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: float | str) -> str:
        """Add a node and return its output's name; an empty input is one that is left out."""
        name = output or f"{operator}_{len(self._graph.node)}"
        node = self._graph.node.add(op_type=operator, name=name, domain=domain, input=inputs, output=[name])
        for key, value in attributes.items():
            number, field = _ATTRIBUTE_TYPES[type(value)]
            attribute = node.attribute.add(name=key, type=number)
            setattr(attribute, field, value.encode() if isinstance(value, str) else value)
        return name

    def serialized(self) -> bytes:
        """Return the model as the content of an .onnx file."""
        content: bytes = self._model.SerializeToString()
        return content

    @staticmethod
    def _describe(value: Any, element_type: int, dims: tuple[str | int, ...]) -> None:  # noqa: ANN401 - made at run time
        value.type.tensor_type.elem_type = element_type
        for dim in dims:
            value.type.tensor_type.shape.dim.add(**({"dim_param": dim} if isinstance(dim, str) else {"dim_value": dim}))
