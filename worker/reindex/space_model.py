"""A loaded model as a reindex needs it: texts of templates in, vectors out, in small batches behind whoever waits for an answer."""

import threading
from collections.abc import Callable, Sequence

from sinks.index_spaces import VectorSpace
from sinks.row import TemplateText
from worker.embedding.batcher import Urgency
from worker.embedding.encoded_text import Embedded, EmbeddingLate, EncodedText, Submit
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.vectors import Outcome, TokenIds
from worker.embedding.tokenizer import Tokenizer
from worker.runtime.stage import Abandoned

_LOOK_S = 0.2


class SpaceModel:
    """Each text has the vector that the worker would store with it.

    Thread: one, because a tokenizer belongs to one thread.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        submit: Submit,
        is_abandoned: Callable[[], bool],
        *,
        urgency: Urgency = "online",
        requester: str = "reindex",
    ) -> None:
        """`requester` is who takes a share of the engine, among others of the class `urgency`; written as the name of a topic."""
        self.space = VectorSpace(loaded.space.dim, loaded.space.id, loaded.space.parts)
        self.name = loaded.prepared.name
        self._prefix = loaded.prepared.document_prefix
        self._max_tokens = loaded.prepared.max_tokens
        self._loaded = loaded
        self._opened: Tokenizer | None = None
        self._submit = submit
        self._urgency = urgency
        self._requester = requester
        self._is_abandoned = is_abandoned

    def embed(self, texts: Sequence[TemplateText]) -> list[Outcome]:
        """Return one outcome per text, in order. Texts that are longer than the model takes are cut. Raises Abandoned."""
        encoded = self._tokenizer().encode([self._prefix + text for text in texts])
        asked = [EncodedText(self._fitted(encoded.text(i)), None, topic=self._requester, urgency=self._urgency) for i in range(len(texts))]
        outcomes: dict[int, Outcome] = {}
        arrived = threading.Event()

        def take(embedded: Sequence[Embedded]) -> None:
            for one in embedded:
                if isinstance(one.outcome, EmbeddingLate):
                    raise TypeError("it is never too late for a template")
                outcomes[one.place] = one.outcome
            if len(outcomes) == len(texts):
                arrived.set()

        try:
            self._submit(asked, take)
        except RuntimeError:  # the embedder is closed: the worker ends
            raise Abandoned from None
        while texts and not arrived.wait(_LOOK_S):
            if self._is_abandoned():
                raise Abandoned
        return [outcomes[i] for i in range(len(texts))]

    def close(self) -> None:
        """Free the tokenizer."""
        if self._opened is not None:
            self._opened.close()

    def _tokenizer(self) -> Tokenizer:
        """Return the tokenizer, made when it is first needed: most workers never change their model."""
        if self._opened is None:
            self._opened = self._loaded.new_tokenizer()
        return self._opened

    def _fitted(self, ids: TokenIds) -> TokenIds:
        if len(ids) <= self._max_tokens:
            return ids
        ids = ids[: self._max_tokens].copy()
        ids[-1] = self._tokenizer().encode([""]).text(0)[-1]
        return ids
