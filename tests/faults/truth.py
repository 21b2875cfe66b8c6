"""What the index must hold: for every line the template of its text, for every template the vector that the engine gives for it.

The engine, the tokenizer and the mask are the product's, each seen to be right by tests of its own; what lies between them and the index
(batches, flights, caches, frames, the sink) is not asked. `tests.faults.oracle` knows the records; this knows the vectors.
"""

import numpy as np
from numpy.typing import NDArray

from consumers.mask import Masker
from tests.faults.index import Index
from worker.engine.llama import LlamaEngine
from worker.loaded import space_of
from worker.model.prepared import PreparedModel
from worker.space import Digester
from worker.tokenizer import Tokenizer

_LEAST_COSINE = 0.9999
"""Between a vector and the same computed in another batch, or taken through float16; two of our templates are 0.99 alike at most."""


class Truth:
    """What the engine gives for a text, without the worker around it.

    Thread: the test's.
    """

    def __init__(self, model: PreparedModel) -> None:
        self._engine = LlamaEngine(model, threads=2)
        self._tokenizer = Tokenizer(model)
        self._prefix = model.document_prefix
        self._digester = Digester(space_of(model), self._prefix)
        self._mask = Masker().mask

    def check(self, index: Index) -> None:
        """See that every whole line has the template of its text, and every template the digest and the vector of its own."""
        whole = [line for line in index.lines if line.chunks == 1]
        templates = [self._digester.digest(masked) for masked in self._mask([line.text for line in whole])]
        assert [line.template for line in whole] == templates

        digests, texts = list(index.texts), list(index.texts.values())
        assert [self._digester.digest(text) for text in texts] == digests
        stored = np.stack([index.vectors[digest] for digest in digests])
        cosines = np.einsum("ij,ij->i", stored, self._embed(texts))
        assert np.abs(np.linalg.norm(stored, axis=1) - 1).max() < 1 - _LEAST_COSINE
        wrong = [texts[i] for i in np.flatnonzero(cosines < _LEAST_COSINE)]
        assert wrong == [], f"wrong vectors, the worst with cosine {cosines.min()}"

    def close(self) -> None:
        self._tokenizer.close()
        self._engine.close()

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode([self._prefix + text for text in texts])
        at_once = self._engine.batch_tokens // self._engine.max_tokens
        batches = [range(start, min(start + at_once, len(texts))) for start in range(0, len(texts), at_once)]
        return np.concatenate([self._engine.embed([encoded.text(i) for i in batch]) for batch in batches])
