"""A loaded model that answers requests: tokenises them, looks for their vectors in the caches, and submits the rest to its embedder.

Theory of operation
1. `take` cuts a request into slices and queues them, fair by requester; it never waits.
2. The prepare thread owns the tokenizer. It encodes the slices that have come in one call, and what the caches have is answered there and
   then. The rest goes to the embedder with the request's class and requester.
3. Vectors come back on the embed thread; the last one of a request answers it (`worker.serving.embeddings.embedding_work`).
4. Texts are keyed as the index keys its templates, so a text that was indexed is known here. Token ids, and texts that were cut, are keyed
   by their ids: the vector of a text's beginning is not that of the text.
5. A request whose client has gone, or whose deadline has passed, is dropped wherever it is found.
"""

from collections.abc import Callable, Sequence
from functools import partial

from worker.embedding.cache.vector_levels import Levels
from worker.embedding.encoded_text import Embedded, EmbeddingLate, EncodedText, TextQueue
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.space import CacheKey, Digester
from worker.embedding.model.vectors import EmbeddingFailed, TokenIds
from worker.runtime.fair_share import FairQueue
from worker.runtime.lane import Lane
from worker.runtime.stage import Crash, Stage, empty
from worker.serving.embeddings.embedding_bodies import InputType
from worker.serving.embeddings.embedding_errors import EmbeddingRefused, no_vector
from worker.serving.embeddings.embedding_work import EmbeddingWork, WorkSlice
from worker.serving.embeddings.served_tally import ServedTally
from worker.serving.embeddings.token_lists import FittedTexts, own_token_ids

_TEXTS_AT_ONCE = 256
_CHARACTERS_A_TOKEN, _FRAME_TOKENS = 4, 2
"""Of English text, as OpenAI counts them; only to guess how long a request takes."""


class ServedModel:
    """Every request that it takes is answered or refused, unless its client hangs up or the service ends.

    Thread: any; it has one of its own, and those of its embedder.
    """

    def __init__(
        self, name: str, loaded: LoadedModel, embedder: TextQueue, levels: Levels, tally: ServedTally, clock: Callable[[], float]
    ) -> None:
        """`embedder` and `levels` are those of the model. Raises ModelError."""
        prepared = loaded.prepared
        self.name = name
        self.loaded = loaded
        self.tally = tally
        self.own_ids = own_token_ids(
            prepared.tokenizer_json.read_text(encoding="utf-8"), vocabulary_size=prepared.vocabulary_size, max_tokens=prepared.max_tokens
        )
        self.embedder = embedder
        self._levels = levels
        self._clock = clock
        self._tokenizer = loaded.new_tokenizer()
        self._digesters = {prefix: Digester(loaded.space, prefix) for prefix in {"", prepared.document_prefix, prepared.query_prefix}}
        shared: FairQueue[WorkSlice] = FairQueue(topic_of=lambda one: one.work.terms.requester, size_of=len)
        self.lane: Lane[WorkSlice] = Lane("serve", size=len, shared=shared)
        """In front of the prepare thread."""

    @property
    def dim(self) -> int:
        """Components of its vectors."""
        return self.loaded.space.dim

    def prefix_of(self, input_type: InputType) -> str:
        """Return what the model wants before each text of that type."""
        prepared = self.loaded.prepared
        return prepared.query_prefix if input_type == "query" else prepared.document_prefix

    def stage(self, on_crash: Crash) -> Stage:
        """Return the stage that empties the lane; it must end before the embedder is closed."""
        return Stage(f"serve-{self.name}", empty(self.lane, self._prepare, most=_TEXTS_AT_ONCE), on_crash)

    def take(self, work: EmbeddingWork) -> None:
        """Queue a request; never waits."""
        self.lane.put(work.slices())

    def wait_s(self, inputs: Sequence[str] | Sequence[TokenIds], requester: str) -> float:
        """Return the seconds that a request would wait for, at the engine's pace and with a guess at its tokens."""
        tokens = sum(len(one) // _CHARACTERS_A_TOKEN + _FRAME_TOKENS if isinstance(one, str) else len(one) for one in inputs)
        return self.embedder.wait_s(requester, tokens)

    def backlog_s(self) -> float:
        """Return the seconds of work that wait for the engine."""
        return self.embedder.backlog_s()

    def close(self) -> None:
        """Free the tokenizer; only after the stage has ended."""
        self._tokenizer.close()

    def _prepare(self, slices: Sequence[WorkSlice]) -> None:
        """Tokenise slices of requests in one call, and send each on."""
        now_s = self._clock()
        for one in slices:
            if one.work.is_late(now_s):
                one.work.refuse_late()
        slices = [one for one in slices if not one.work.is_late(now_s)]
        texts = [f"{one.work.terms.prefix}{text}" for one in slices for text in one.inputs if isinstance(text, str)]
        encoded = self._tokenizer.encode(texts)
        row = 0
        for one in slices:
            if isinstance(one.inputs[0], str):
                ids = [encoded.text(row + place) for place in range(len(one))]
                row += len(one)
            else:
                ids = [text for text in one.inputs if not isinstance(text, str)]
            self._send_on(one, ids)

    def _send_on(self, one: WorkSlice, ids: Sequence[TokenIds]) -> None:
        work = one.work
        try:
            fitted = self.own_ids.fitted(ids, truncate=work.terms.truncate, param=work.terms.param, first=one.first)
        except EmbeddingRefused as refused:
            work.refuse(refused)
            return
        work.count(fitted.tokens, fitted.truncated)
        if work.is_late(self._clock()):
            work.refuse_late()
            return
        keys = self._keys(one, fitted)
        found = self._levels.cached(set(keys))
        waiting: list[int] = []
        encoded: list[EncodedText] = []
        for place, (key, text_ids) in enumerate(zip(keys, fitted.ids, strict=True), one.first):
            if key in found:
                self.tally.count(found[key].source, len(text_ids))
                work.put(place, found[key].vector)
            else:
                waiting.append(place)
                encoded.append(EncodedText(text_ids.copy(), key, work.terms.requester, work.terms.urgency, is_late=work.is_late))
        self.embedder.submit(encoded, partial(self._take_embedded, work, waiting, encoded))

    def _keys(self, one: WorkSlice, fitted: FittedTexts) -> list[CacheKey]:
        digester = self._digesters[one.work.terms.prefix]
        cut = set(fitted.truncated)
        keys: list[CacheKey] = []
        for place, (given, ids) in enumerate(zip(one.inputs, fitted.ids, strict=True), one.first):
            is_text = isinstance(given, str) and place not in cut
            keys.append(digester.digest(str(given)) if is_text else digester.digest_ids(ids))
        return keys

    def _take_embedded(
        self, work: EmbeddingWork, places: Sequence[int], texts: Sequence[EncodedText], embedded: Sequence[Embedded]
    ) -> None:
        """Take vectors; on the embed thread."""
        for one in embedded:
            place = places[one.place]
            if isinstance(one.outcome, EmbeddingLate):
                work.refuse_late()
            elif isinstance(one.outcome, EmbeddingFailed):
                work.refuse(no_vector(param=f"{work.terms.param}[{place}]", reason=one.outcome.reason))
            else:
                self.tally.count("engine", len(texts[one.place].ids))
                work.put(place, one.outcome)
