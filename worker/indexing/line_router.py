"""The way of lines from prepare to the store, by their templates: at once, or behind a new template and its vector.

Lines of known templates go to the store, those of a rejected one are rejected, and those of a template in flight are parked. A new
template's vector is found in a cache or in the index, or the engine makes it and the embed thread brings it. Either way a template with
its vector goes to the store stage, and one without fails its flight.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sinks.block import Lines
from sinks.sink import TemplateView
from worker.embedding.encoded_text import Embedded, EmbeddingLate, EncodedText
from worker.embedding.model.vectors import EmbeddingFailed
from worker.indexing.dead_letter_reasons import rejected_by_engine
from worker.indexing.flights import Completed, Flights
from worker.indexing.line_batch import EmbeddedTemplate, LineBatch, NewTemplate, StoreOutlet
from worker.indexing.line_memory import held_bytes
from worker.indexing.template_space import TemplateSpace
from worker.runtime.limits import FaultLimit

_FIRST_TEMPLATES = 128
_MOST_TEMPLATES = 2_048
"""New templates are sent on in growing slices, so that the engine begins with the first while the next are tokenised."""


class LineRouter:
    """Every template whose flight begins here lands, goes to the store with its vector, or fails its flight.

    Thread: prepare's; the engine's outcomes come on the embed thread.
    """

    def __init__(
        self,
        *,
        flights: Flights,
        space: Callable[[], TemplateSpace],
        store: StoreOutlet,
        rejected: FaultLimit,
    ) -> None:
        """`space` says which model new templates are of from now on; `rejected`: texts that the engine rejects in a row."""
        self._flights = flights
        self._space = space
        self._store = store
        self._rejected = rejected

    def held_bytes(self, lines: Lines, begins: list[int]) -> NDArray[np.int64]:
        """Return how much memory each of n lines takes from now on: int64[n]; `begins`: where each batch of them begins."""
        is_new = self._flights.are_new(lines.template.values)
        return held_bytes(lines, begins=begins, is_new=is_new, dim=self._space().encoder.digester.dim)

    def send(self, batches: Sequence[LineBatch]) -> None:
        """Send lines the shortest way. Raises as the store does for those it rejects."""
        joined = self._flights.join(batches)
        for batch, rejection in joined.rejected:
            self._store.reject(batch, rejection)
        self._store.lane.put(joined.known)
        self._begin_all(joined.mine)

    def _begin_all(self, templates: Sequence[NewTemplate]) -> None:
        """Finish the templates that are cached or stored already; the others go to the engine."""
        first, size = 0, _FIRST_TEMPLATES
        while first < len(templates):
            self._begin(templates[first : first + size])
            first, size = first + size, min(2 * size, _MOST_TEMPLATES)

    def _begin(self, templates: Sequence[NewTemplate]) -> None:
        space = self._space()
        encoded = space.encoder.encode([one.text for one in templates])
        keys = {one.template: space.encoder.digester.digest(one.text) for one in templates}
        vectors = space.levels.find(keys)
        rewrite_found = self._flights.forgets  # a template found in the index, however old
        landings: list[Completed] = []
        cached: list[EmbeddedTemplate] = []
        missing: list[NewTemplate] = []
        texts: list[EncodedText] = []
        for i, one in enumerate(templates):
            ids = encoded.text(i)
            found = vectors.get(one.template)
            if found is None:
                missing.append(one)
                texts.append(EncodedText(ids, keys[one.template], one.topic, is_template=True))
            elif found.source == "index" and not rewrite_found:
                landings.append(Completed(one.template, len(ids), found.source))
            else:
                cached.append(EmbeddedTemplate(one.template, one.text, found.vector, len(ids), found.source, space.view))
        self._store.lane.put(cached)
        tokens = [len(text.ids) for text in texts]
        space.submit(texts, partial(self._take_embedded, space.view, missing, tokens))
        if landings:
            self._store.lane.put(self._flights.land(landings))

    def _take_embedded(
        self, view: TemplateView, templates: Sequence[NewTemplate], tokens: Sequence[int], embedded: Sequence[Embedded]
    ) -> None:
        """Send on what the engine made. Raises LimitReached, and as the store step does."""
        made: list[EmbeddedTemplate] = []
        for place, outcome, _, _ in embedded:
            one = templates[place]
            if isinstance(outcome, EmbeddingLate):
                raise TypeError("it is never too late for a template")
            if isinstance(outcome, EmbeddingFailed):
                self._store.fail_flight(one.template, rejected_by_engine(outcome))
                self._rejected.fault()
            else:
                self._rejected.good()
                made.append(EmbeddedTemplate(one.template, one.text, outcome, tokens[place], "engine", view))
        self._store.lane.put(made)
