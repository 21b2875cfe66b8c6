"""Turns lines into texts as the worker does, through its own chunker, masks, tokenizer and engine, and embeds those that are needed.

`benchmarks.retrieval` and `benchmarks.questions` read the same lines with one reader for each way to make texts.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.retrieval_scores import Indices, Spent, spend
from consumers.columns import string_column
from consumers.text.chunk import Chunker
from consumers.text.mask import Masker
from consumers.text.split_long import PieceLimits
from sinks.line import PIECE_BYTES
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.vectors import Vectors
from worker.embedding.tokenizer import Tokenizer


class Read(NamedTuple):
    """All lines as one reader embeds them; equal texts share one number and one vector."""

    distinct: Sequence[str]
    """The different texts, by number."""
    texts: list[list[int]]
    """Numbers of the texts of each line: one a chunk."""
    tokens: Indices
    """Of each text by its number, prefix and special tokens included."""
    vectors: Vectors
    """Of each text; zeros where no chosen line has it."""

    def spent(self, lines: Sequence[int]) -> Spent:
        """Return the cost of these lines from a cold cache."""
        return spend([text for line in lines for text in self.texts[line]], self.tokens)

    def spent_again(self) -> Spent:
        """Return the cost of all lines when they come a second time."""
        stream = [text for texts in self.texts for text in texts]
        return spend(stream, self.tokens, set(stream))

    def count_distinct(self, lines: Sequence[int]) -> int:
        """Return the number of different texts of these lines."""
        return len({text for line in lines for text in self.texts[line]})


class Reader:
    """Lines as one masker makes texts of them, cut and embedded as the worker does it.

    Thread: main.
    """

    def __init__(self, model: LoadedModel, tokenizer: Tokenizer, masker: Masker) -> None:
        self._engine, self._tokenizer, self._masker = model.engine, tokenizer, masker
        self._document_prefix, self._query_prefix = model.prepared.document_prefix, model.prepared.query_prefix
        self._chunker = Chunker(
            mask=self._masker.mask_column,
            count_tokens=lambda texts: tokenizer.count([self._document_prefix + text for text in texts]).tolist(),
            limits=PieceLimits(
                max_tokens=model.prepared.max_tokens,
                overhead_tokens=int(tokenizer.count([self._document_prefix])[0]),
                max_text_bytes=PIECE_BYTES,
                max_chunks=10_000,
            ),
        )

    def read(self, lines: Sequence[str], chosen: Sequence[int]) -> Read:
        """Chunk and mask all lines; embed the chosen ones, by their numbers."""
        cut = self._chunker.split(string_column(lines))
        texts: list[list[int]] = [[] for _ in lines]
        for line, number in zip(cut.row.tolist(), cut.template.codes.tolist(), strict=True):
            texts[line].append(number)
        distinct = cut.template.values
        tokens = self._tokenizer.count([self._document_prefix + text for text in distinct])
        embedded = sorted({text for line in chosen for text in texts[line]})
        vectors = np.zeros((len(distinct), self._engine.dim), dtype=np.float32)
        vectors[embedded] = self._embed([self._document_prefix + distinct[text] for text in embedded])
        return Read(distinct, texts, tokens, vectors)

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Mask and embed questions; return float32[n, dim] of unit length."""
        return self._embed([self._query_prefix + text for text in self._masker.mask(questions)])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        """Embed in batches of similar length; return float32[n, dim] of unit length."""
        encoded = self._tokenizer.encode(texts)
        vectors = np.empty((len(texts), self._engine.dim), dtype=np.float32)
        lengths = encoded.counts()
        batch: list[int] = []
        for text in (*np.argsort(lengths, kind="stable").tolist(), None):
            if text is None or int(lengths[batch].sum() + lengths[text]) > self._engine.batch_tokens:
                vectors[batch] = self._engine.embed([encoded.text(one) for one in batch])
                batch = []
            if text is not None:
                batch.append(text)
        return vectors
