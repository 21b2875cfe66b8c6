"""A BERT forward pass in NumPy and float32, which computes the golden vectors.

It shares nothing with an engine but the weights. It is slow and small on purpose: one text at a time, a dozen texts when a model is
prepared. Formulas: Devlin et al. 2018; the order of additions and norms follows `BertModel` in `transformers`.
"""

import math

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import ModelFolder
from worker.embedding.model.weights import Weights

Matrix = NDArray[np.float32]

_erf = np.vectorize(math.erf, otypes=[np.float64])


class ReferenceModel:
    """Weights and shape of one BERT.

    Thread: any; nothing changes after construction.
    """

    def __init__(self, folder: ModelFolder, weights: Weights) -> None:
        """Take the weights as `worker.embedding.model.weights` reads them."""
        self.folder = folder
        self._weights = weights

    def embed(self, ids: NDArray[np.int32]) -> Matrix:
        """Embed one sequence of token ids, special tokens included: float32[dim], of length 1. Raises ModelError."""
        hidden = self._embeddings(ids)
        for layer in range(self.folder.layers):
            hidden = self._layer(f"encoder.layer.{layer}.", hidden)
        pooled = hidden[0] if self.folder.pooling == "cls" else hidden.mean(axis=0)
        length = float(np.linalg.norm(pooled))
        if not 0 < length < math.inf:
            raise ModelError(f"the weights in {self.folder.path} give vectors of length {length}")
        return np.asarray(pooled / length, dtype=np.float32)

    def _embeddings(self, ids: NDArray[np.int32]) -> Matrix:
        table = self._weights
        words = table["embeddings.word_embeddings.weight"][ids]
        positions = table["embeddings.position_embeddings.weight"][: len(ids)]
        token_type = table["embeddings.token_type_embeddings.weight"][0]
        return self._norm("embeddings.LayerNorm", words + positions + token_type)

    def _layer(self, name: str, hidden: Matrix) -> Matrix:
        attended = self._linear(name + "attention.output.dense", self._attention(name + "attention.self.", hidden))
        hidden = self._norm(name + "attention.output.LayerNorm", attended + hidden)
        widened = self._activate(self._linear(name + "intermediate.dense", hidden))
        return self._norm(name + "output.LayerNorm", self._linear(name + "output.dense", widened) + hidden)

    def _attention(self, name: str, hidden: Matrix) -> Matrix:
        tokens, heads = len(hidden), self.folder.heads
        query, key, value = (
            self._linear(name + part, hidden).reshape(tokens, heads, -1).transpose(1, 0, 2) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(query.shape[-1]))
        likely = np.exp(scores - scores.max(axis=-1, keepdims=True))
        likely /= likely.sum(axis=-1, keepdims=True)
        return np.asarray((likely @ value).transpose(1, 0, 2).reshape(tokens, -1), dtype=np.float32)

    def _linear(self, name: str, rows: Matrix) -> Matrix:
        return rows @ self._weights[name + ".weight"].T + self._weights[name + ".bias"]

    def _norm(self, name: str, rows: Matrix) -> Matrix:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + np.float32(self.folder.epsilon))
        return np.asarray(scaled * self._weights[name + ".weight"] + self._weights[name + ".bias"], dtype=np.float32)

    def _activate(self, rows: Matrix) -> Matrix:
        if self.folder.activation == "gelu":
            return np.asarray(rows * (1 + _erf(rows / math.sqrt(2))) / 2, dtype=np.float32)
        inner = math.sqrt(2 / math.pi) * (rows + 0.044715 * rows**3)
        return np.asarray(rows * (1 + np.tanh(inner)) / 2, dtype=np.float32)
