"""Trains the large matrices of a BERT's layers on graded questions. The only file here that imports torch.

The loss is contrastive over both sides: for each question the messages of its batch, weighted by their grades, and for each message its
questions. Without dropout, with one seed and as many threads, the same machine gives the same weights; another differs in the last digits.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from benchmarks.training.batches import QUESTIONS, Corpus
from worker.embedding.model.folder import ModelFolder
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.embedding.model.weights import Weights

EPOCHS = 3
SEED = 7
_RATE = 3e-5
_WARM_SHARE = 0.1
"""Of the steps, in which the rate rises; after them it falls to 0."""
_TEMPERATURE = 0.05
_MOST_TOKENS = 64
_TEXTS = 8
"""Computed together, of similar length: padding costs as much as tokens."""


class Trainer:
    """The weights of one BERT with mean pooling, as they are trained.

    Thread: main.
    """

    def __init__(self, folder: ModelFolder, weights: Weights, *, threads: int) -> None:
        torch.set_num_threads(threads)
        torch.manual_seed(SEED)
        self._folder = folder
        self._weights = {name: torch.from_numpy(weight.copy()) for name, weight in weights.items()}
        self._trained = {name: weight for name, weight in self._weights.items() if name.startswith("encoder.") and weight.ndim > 1}

    def embed(self, texts: Sequence[TokenIds]) -> Vectors:
        """Embed token ids: float32[n, dim], of length 1."""
        with torch.no_grad():
            return _array(self._vectors(texts))

    def train(self, corpus: Corpus, questions: Sequence[TokenIds], messages: Sequence[TokenIds], say: Callable[[str], None]) -> Weights:
        """Train on the corpus, whose texts are given as token ids; return the matrices that were trained. `say` gets a line a few steps."""
        cosines = self.embed(questions) @ self.embed(messages).T
        for weight in self._trained.values():
            weight.requires_grad_()
        optimizer = torch.optim.AdamW(self._trained.values(), lr=_RATE, weight_decay=0.01)
        steps = EPOCHS * (len(questions) // QUESTIONS)
        for step, batch in enumerate(corpus.batches(cosines, epochs=EPOCHS, seed=SEED)):
            optimizer.param_groups[0]["lr"] = _RATE * _rate_share(step, steps)
            asked = self._vectors([questions[one] for one in batch.questions])
            found = self._vectors([messages[one] for one in batch.messages])
            loss = _loss(asked @ found.T / _TEMPERATURE, torch.from_numpy(batch.grades))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                say(f"step {step} of {steps}: loss {loss.item():.3f}")
        for weight in self._trained.values():
            weight.requires_grad_(requires_grad=False)
        return {name: _array(weight) for name, weight in self._trained.items()}

    def _vectors(self, texts: Sequence[TokenIds]) -> Tensor:
        order = sorted(range(len(texts)), key=lambda text: len(texts[text]))
        parts = [order[start : start + _TEXTS] for start in range(0, len(order), _TEXTS)]
        vectors = torch.cat([self._similar([texts[text][:_MOST_TOKENS] for text in part]) for part in parts])
        return vectors[torch.from_numpy(np.argsort(order))]

    def _similar(self, texts: Sequence[TokenIds]) -> Tensor:
        longest = max(map(len, texts))
        ids, mask = torch.zeros(len(texts), longest, dtype=torch.long), torch.zeros(len(texts), longest)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = torch.from_numpy(text.astype(np.int64))
            mask[row, : len(text)] = 1
        hidden = self._hidden(ids, mask)
        return functional.normalize((hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True), dim=1)

    def _hidden(self, ids: Tensor, mask: Tensor) -> Tensor:
        table = self._weights
        words, positions = table["embeddings.word_embeddings.weight"][ids], table["embeddings.position_embeddings.weight"][: ids.shape[1]]
        hidden = self._norm("embeddings.LayerNorm", words + positions + table["embeddings.token_type_embeddings.weight"][0])
        seen = mask[:, None, None, :].bool()
        for layer in range(self._folder.layers):
            name = f"encoder.layer.{layer}."
            query, key, value = (
                self._linear(f"{name}attention.self.{part}", hidden).unflatten(2, (self._folder.heads, -1)).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen).transpose(1, 2).flatten(2)
            hidden = self._norm(f"{name}attention.output.LayerNorm", self._linear(f"{name}attention.output.dense", attended) + hidden)
            widened = functional.gelu(self._linear(f"{name}intermediate.dense", hidden))
            hidden = self._norm(f"{name}output.LayerNorm", self._linear(f"{name}output.dense", widened) + hidden)
        return hidden

    def _linear(self, name: str, rows: Tensor) -> Tensor:
        return functional.linear(rows, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, name: str, rows: Tensor) -> Tensor:
        return functional.layer_norm(
            rows, (self._folder.dim,), self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], self._folder.epsilon
        )


def _rate_share(step: int, steps: int) -> float:
    warm = max(_WARM_SHARE * steps, 1)
    return min((step + 1) / warm, (steps - step) / max(steps - warm, 1))


def _loss(scores: Tensor, grades: Tensor) -> Tensor:
    """Return the mean cross entropy to the grades over rows and over those columns that are worth something to a question."""
    by_question = functional.cross_entropy(scores, grades / grades.sum(1, keepdim=True))
    columns = grades.sum(0) > 0
    by_message = functional.cross_entropy(scores.T[columns], (grades / grades.sum(0, keepdim=True).clamp(min=1)).T[columns])
    return (by_question + by_message) / 2


def _array(weight: Tensor) -> NDArray[np.float32]:
    return np.array(weight.numpy(), dtype=np.float32)
