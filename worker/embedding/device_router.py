"""Sends texts to whichever of several engines of one model has them done first: a GPU that bulk fills, say, or the processor beside it.

Vectors of both are of one space, because both agree with the golden vectors. What takes no time yet, because nothing was measured, is
tried first, in the order of the engines.
"""

import threading
from collections.abc import Sequence

from worker.embedding.embedder import Embedder
from worker.embedding.encoded_text import Done, Embedded, EncodedText


class DeviceRouter:
    """A text that one of the engines has already is not computed by another; the rest of a `submit` goes to one of them.

    Thread: any.
    """

    def __init__(self, embedders: Sequence[Embedder]) -> None:
        """The first one is chosen where several are as fast."""
        self._embedders = embedders
        self._delivering = threading.Lock()

    def submit(self, texts: Sequence[EncodedText], done: Done) -> None:
        """Queue texts of one class and requester; see `Submit`. Raises RuntimeError once closed."""
        waiting: list[tuple[Embedder, list[int]]] = [(one, []) for one in self._embedders]
        rest: list[int] = []
        for place, text in enumerate(texts):
            owner = next((own for one, own in waiting if one.has(text.key)), rest)
            owner.append(place)
        for one, own in waiting:
            self._submit(one, texts, own, done)
        if rest:
            first, tokens = texts[rest[0]], sum(len(texts[place].ids) for place in rest)
            nearest = min(self._embedders, key=lambda one: one.ready_s(first.urgency, first.topic, tokens))
            self._submit(nearest, texts, rest, done)

    def wait_s(self, requester: str, tokens: int) -> float:
        """Return the seconds of work before so many further online tokens of a requester, where that is least."""
        return min(one.wait_s(requester, tokens) for one in self._embedders)

    def backlog_s(self) -> float:
        """Return the seconds of work that wait, of queries and of clients, where that is least."""
        return min(one.backlog_s() for one in self._embedders)

    def _submit(self, embedder: Embedder, texts: Sequence[EncodedText], places: Sequence[int], done: Done) -> None:
        embedder.submit([texts[place] for place in places], self._in_turn(places, done))

    def _in_turn(self, places: Sequence[int], done: Done) -> Done:
        """Return a `done` that knows the places in the whole list, and that never runs beside another one."""

        def take(embedded: Sequence[Embedded]) -> None:
            with self._delivering:
                done([one._replace(place=places[one.place]) for one in embedded])

        return take
