"""A BERT as an ONNX graph over a packed batch: no padding in its linear layers, and no text's vector depends on its neighbours.

`worker.embedding.engine.onnx` asks for it whenever it opens: 24 kB, made in milliseconds, whose weights stay in the prepared safetensors
file. So it is no file of its own, a prepared folder holds the weights once, and folders of earlier versions serve as they are.

The inputs are those of `worker.embedding.engine.packed_batch`. All tokens of a batch are the rows of one matrix. Only attention needs a
rectangle: tokens are gathered into rows of equal width that hold one or more whole texts, each token sees those of its own text, and the
result is gathered back. The layers follow `worker.embedding.model.reference_model`.

`quantized` stores the layers' matrices in 8 bits with a scale for every 16 numbers of a row; activations are quantized the same way when
they are multiplied. No scale spans tokens. Blocks of 32, as llama.cpp has them, gave a lowest cosine of 0.9988 to float32 on 360 texts,
blocks of 16 gave 0.9993.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import WEIGHTS, Pooling, read_json
from worker.embedding.model.onnx_writer import CONTRIB, FLOAT, INT32, OnnxWriter
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.weights import StoredWeight, stored_weights

BLOCK: Final = 16
"""Numbers that share a scale; the least that ONNX Runtime takes."""
_ZERO: Final = 128
"""The 8-bit number that stands for 0."""
_MOST: Final = 127
_BITS: Final = 8
_INT8_ACTIVATIONS: Final = 4
"""`accuracy_level` of MatMulNBits. With float activations (0) one text takes 2.9 times as long as without quantization."""


@dataclass(frozen=True, slots=True)
class _Shape:
    layers: int
    heads: int
    epsilon: float
    activation: str


class _Layout(NamedTuple):
    """Values by which tokens come into attention's rows and back."""

    slots: str
    places: str
    mask: str
    line: str
    """The shape of a list of tokens: [any, dim]."""


def bert_graph(model: PreparedModel, *, quantized: bool) -> bytes:
    """Return the graph of a prepared model; it reads `model.safetensors` in `model.hf`. Raises ModelError."""
    file = model.hf / WEIGHTS
    config = read_json(model.hf / "config.json")
    try:
        shape = _Shape(
            config["num_hidden_layers"], config["num_attention_heads"], float(config["layer_norm_eps"]), str(config["hidden_act"])
        )
        graph = _BertGraph(file, stored_weights(file), shape, quantized=quantized)
        return graph.write(model.pooling, model.dim)
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise ModelError(f"{model.hf} does not hold a BERT as it was prepared: {error!r}; prepare the model again") from error


def quantize_blocks(weight: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Quantize float32[rows, columns] for MatMulNBits: uint8[rows, blocks, BLOCK], and a scale for each block in one line.

    A row whose columns are no multiple of BLOCK is filled up with zeros.
    """
    rows, columns = weight.shape
    filled = np.pad(weight, ((0, 0), (0, -columns % BLOCK))).reshape(rows, -1, BLOCK)
    scales = np.abs(filled).max(axis=2, keepdims=True) / np.float32(_MOST)
    numbers = np.rint(filled / np.where(scales > 0, scales, 1)) + _ZERO
    return numbers.astype(np.uint8), scales.reshape(-1)


class _BertGraph:
    """Writes one graph.

    Thread: one.
    """

    def __init__(self, file: Path, weights: Mapping[str, StoredWeight], shape: _Shape, *, quantized: bool) -> None:
        self._file = file
        self._weights = weights
        self._shape = shape
        self._quantized = quantized
        self._graph = OnnxWriter()

    def write(self, pooling: Pooling, dim: int) -> bytes:
        add = self._graph.node
        ids, positions, places = (self._graph.input(name, INT32, "tokens") for name in ("ids", "positions", "places"))
        slots, texts = (self._graph.input(name, INT32, "rows", "width") for name in ("slots", "texts"))
        layout = _Layout(slots, places, self._mask(texts), self._graph.constant("line", np.array([-1, dim])))
        hidden = self._embeddings(ids, positions)
        for layer in range(self._shape.layers):
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, layout)
        if pooling == "cls":
            add("Gather", hidden, self._graph.input("firsts", INT32, "n"), output="vectors")
        else:
            add("MatMul", self._graph.input("shares", FLOAT, "n", "tokens"), hidden, output="vectors")
        self._graph.output("vectors", "n", dim)
        return self._graph.serialized()

    def _mask(self, texts: str) -> str:
        """Return what is added to the scores, [rows, 1, width, width]: 0 between tokens of one text, minus infinity between others."""
        add, constant = self._graph.node, self._graph.constant
        as_column = add("Unsqueeze", texts, constant("column_axes", np.array([1, 3])))
        as_row = add("Unsqueeze", texts, constant("row_axes", np.array([1, 2])))
        never, always = constant("never", np.array(-np.inf, np.float32)), constant("always", np.array(0, np.float32))
        return add("Where", add("Equal", as_column, as_row), always, never)

    def _embeddings(self, ids: str, positions: str) -> str:
        add = self._graph.node
        words = add("Gather", self._stored("embeddings.word_embeddings.weight"), ids)
        placed = add("Add", words, add("Gather", self._stored("embeddings.position_embeddings.weight"), positions))
        first = self._graph.constant("first", np.array(0))
        token_type = add("Gather", self._stored("embeddings.token_type_embeddings.weight"), first)
        return self._norm("embeddings.LayerNorm", add("Add", placed, token_type))

    def _layer(self, name: str, hidden: str, layout: _Layout) -> str:
        add = self._graph.node
        attended = self._linear(name + "attention.output.dense", self._attention(name + "attention.self.", hidden, layout))
        hidden = self._norm(name + "attention.output.LayerNorm", add("Add", attended, hidden))
        approximate = "none" if self._shape.activation == "gelu" else "tanh"
        widened = add("Gelu", self._linear(name + "intermediate.dense", hidden), approximate=approximate)
        return self._norm(name + "output.LayerNorm", add("Add", self._linear(name + "output.dense", widened), hidden))

    def _attention(self, name: str, hidden: str, layout: _Layout) -> str:
        add = self._graph.node
        query, key, value = (add("Gather", self._linear(name + part, hidden), layout.slots) for part in ("query", "key", "value"))
        seen = add("MultiHeadAttention", query, key, value, "", "", layout.mask, domain=CONTRIB, num_heads=self._shape.heads)
        return add("Gather", add("Reshape", seen, layout.line), layout.places)

    def _linear(self, name: str, rows: str) -> str:
        bias = self._stored(f"{name}.bias")
        if not self._quantized:
            return self._graph.node("Gemm", rows, self._stored(f"{name}.weight"), bias, transB=1)
        stored = self._weights[f"{name}.weight"]
        whole = np.fromfile(self._file, np.float32, stored.size_bytes // 4, offset=stored.offset_bytes).reshape(stored.shape)
        numbers, scales = quantize_blocks(whole)
        return self._graph.node(
            "MatMulNBits",
            rows,
            self._graph.constant(f"{name}.numbers", numbers),
            self._graph.constant(f"{name}.scales", scales),
            *("", "", bias),
            domain=CONTRIB,
            N=stored.shape[0],
            K=stored.shape[1],
            bits=_BITS,
            block_size=BLOCK,
            accuracy_level=_INT8_ACTIVATIONS,
        )

    def _norm(self, name: str, rows: str) -> str:
        scale, bias = self._stored(f"{name}.weight"), self._stored(f"{name}.bias")
        return self._graph.node("LayerNormalization", rows, scale, bias, epsilon=self._shape.epsilon)

    def _stored(self, name: str) -> str:
        return self._graph.stored(name, self._weights[name], self._file)
