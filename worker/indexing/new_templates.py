"""What becomes of a template whose flight has begun: its vector is found in a cache or in the index, or the engine makes it.

Prepare begins with it on its own thread; the embed thread brings what the engine made. Either way a template with its vector goes to the
store stage, and one without fails its flight.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from consumers.rejection import Rejection
from sinks.row import TemplateId
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.embedder import Embedded, EmbeddingLate, EncodedText, Submit
from worker.embedding.model.space import Digester
from worker.embedding.model.vectors import EmbeddingFailed
from worker.embedding.tokenizer import Encoded, Tokenizer
from worker.indexing.dead_letter_reasons import rejected_by_engine
from worker.indexing.flights import Completed, Flights
from worker.indexing.line_batch import EmbeddedTemplate, NewTemplate, StoreItem
from worker.runtime.lane import Outlet
from worker.runtime.limits import FaultLimit

_FIRST_TEMPLATES = 128
_MOST_TEMPLATES = 2_048
"""New templates are sent on in growing slices, so that the engine begins with the first while the next are tokenised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateEncoder:
    """Token ids and cache keys of templates.

    Thread: one, because a tokenizer belongs to one thread.
    """

    tokenizer: Tokenizer
    digester: Digester
    prefix: str
    """Put before each text."""

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return the token ids of each text, special tokens included."""
        return self.tokenizer.encode([self.prefix + text for text in texts])


class NewTemplates:
    """Every template that it is given lands, goes to the store with its vector, or fails its flight.

    Thread: `begin` prepare's, and so is the encoder; the engine's outcomes come on the embed thread.
    """

    def __init__(
        self,
        *,
        encoder: TemplateEncoder,
        levels: Levels,
        rewrite_found: Callable[[], bool],
        flights: Flights,
        submit: Submit,
        store: Outlet[StoreItem],
        fail_flight: Callable[[TemplateId, Rejection], None],
        rejected: FaultLimit,
    ) -> None:
        """`rewrite_found`: rows do not live for ever, so a template found in the index, however old, is written again.

        `fail_flight` remembers a template as rejected, with the reason, and rejects the lines that waited for it.
        """
        self._encoder = encoder
        self._levels = levels
        self._rewrite_found = rewrite_found
        self._flights = flights
        self._submit = submit
        self._store = store
        self._fail_flight = fail_flight
        self._rejected = rejected

    def begin(self, templates: Sequence[NewTemplate]) -> None:
        """Finish the templates that are cached or stored already; the others go to the engine."""
        first, size = 0, _FIRST_TEMPLATES
        while first < len(templates):
            self._begin(templates[first : first + size])
            first, size = first + size, min(2 * size, _MOST_TEMPLATES)

    def _begin(self, templates: Sequence[NewTemplate]) -> None:
        encoded = self._encoder.encode([one.text for one in templates])
        keys = {one.template: self._encoder.digester.digest(one.text) for one in templates}
        vectors = self._levels.find(keys)
        rewrite_found = self._rewrite_found()
        landings: list[Completed] = []
        cached: list[EmbeddedTemplate] = []
        missing: list[NewTemplate] = []
        texts: list[EncodedText] = []
        for i, one in enumerate(templates):
            ids = encoded.text(i)
            found = vectors.get(one.template)
            if found is None:
                missing.append(one)
                texts.append(EncodedText(ids, keys[one.template], one.topic))
            elif found.source == "index" and not rewrite_found:
                landings.append(Completed(one.template, len(ids), found.source))
            else:
                cached.append(EmbeddedTemplate(one.template, one.text, found.vector, len(ids), found.source))
        self._store.put(cached)
        tokens = [len(text.ids) for text in texts]
        self._submit(texts, partial(self._take_embedded, missing, tokens))
        if landings:
            self._store.put(self._flights.land(landings))

    def _take_embedded(self, templates: Sequence[NewTemplate], tokens: Sequence[int], embedded: Sequence[Embedded]) -> None:
        """Send on what the engine made. Raises LimitReached, and as the store step does."""
        made: list[EmbeddedTemplate] = []
        for place, outcome, _, _ in embedded:
            one = templates[place]
            if isinstance(outcome, EmbeddingLate):
                raise TypeError("it is never too late for a template")
            if isinstance(outcome, EmbeddingFailed):
                self._fail_flight(one.template, rejected_by_engine(outcome))
                self._rejected.fault()
            else:
                self._rejected.good()
                made.append(EmbeddedTemplate(one.template, one.text, outcome, tokens[place], "engine"))
        self._store.put(made)
