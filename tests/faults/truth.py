"""What the index must hold beside the lines: for each line its template, for each template its id and its vector.

Nothing of the product is used: llama.cpp's own bindings embed each template's text again, the id is computed from the text alone, and
that a template belongs to a line is seen in the words of both, as masks take numbers and leave words. `tests.faults.oracle` knows the
records.
"""

import functools
import re

import numpy as np
from llama_cpp import Llama
from numpy.typing import NDArray

from tests.faults.index import Index
from tests.faults.stored_lines import template_id
from worker.embedding.model.prepared import PreparedModel

LEAST_COSINE = 0.9999
"""Between a vector and the same computed in another batch, or through float16; no two of our templates are as near (`test_oracle`)."""
_AT_ONCE = 8
_DURATION = re.compile(r"\d+ ms\b")
_NAME = re.compile(r"\b(?:at|by|for|from|in|key|of|to|user)\s+([^\W\d_]+)")
_WORD = re.compile(r"[^\W\d_]+")


class Truth:
    """What llama.cpp gives for a text, without vectail around it; what it has given once is remembered."""

    def __init__(self, model: PreparedModel) -> None:
        """`model`: which file, and the prefix of a text."""
        self._prefix = model.document_prefix
        tokens = model.max_tokens
        self._llama = Llama(
            str(model.gguf), embedding=True, n_ctx=tokens, n_batch=tokens, n_ubatch=tokens, n_threads=1, n_threads_batch=1, verbose=False
        )
        self._known: dict[str, NDArray[np.float32]] = {}

    def check(self, index: Index) -> None:
        """See that every line has a template of its words, and every template the id and the vector of its own text."""
        wrong = [line.id for line in index.lines if not _fits(line.text, index.texts[line.template])]
        assert wrong == [], f"{len(wrong)} lines have the template of another line"
        wrong = [text for template, text in index.texts.items() if template_id(text) != template]
        assert wrong == [], f"{len(wrong)} templates stand under an id that is not theirs"
        if index.texts:
            self._check_vectors(list(index.texts.values()), np.stack([index.vectors[template] for template in index.texts]))

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the vectors of these texts: float32[n, dim]."""
        unknown = [text for text in texts if text not in self._known]
        for start in range(0, len(unknown), _AT_ONCE):
            some = unknown[start : start + _AT_ONCE]
            vectors = np.asarray(self._llama.embed([self._prefix + text for text in some], normalize=True), np.float32)
            self._known |= dict(zip(some, vectors, strict=True))
        return np.stack([self._known[text] for text in texts])

    def close(self) -> None:
        self._llama.close()

    def _check_vectors(self, texts: list[str], stored: NDArray[np.float32]) -> None:
        assert np.abs(np.linalg.norm(stored, axis=1) - 1).max() < 1 - LEAST_COSINE
        cosines = np.einsum("ij,ij->i", stored, self.embed(texts))
        wrong = [texts[i] for i in np.flatnonzero(cosines < LEAST_COSINE)]
        assert wrong == [], f"{len(wrong)} wrong vectors, the worst with cosine {cosines.min()}"


@functools.cache
def truth_of(model: PreparedModel) -> Truth:
    """Return the one of a model, for all tests of a run: their records have the same texts."""
    return Truth(model)


def _fits(text: str, template: str) -> bool:
    """Whether a template has the words of a text in their order; only those that may be somebody's name may be gone: masks take them."""
    words, kept = _words(text), _words(template)
    gone = set(words) - set(kept)
    return kept == [word for word in words if word not in gone] and gone <= set(_NAME.findall(text))


def _words(text: str) -> list[str]:
    """Return the words of a text, each once: masks take out numbers, and what stands there again."""
    return list(dict.fromkeys(_WORD.findall(_DURATION.sub("", text))))
