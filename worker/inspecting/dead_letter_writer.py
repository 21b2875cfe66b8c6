"""Writes the dead letters that `vectail verify --repair` finds missing, and waits until they are delivered."""

import threading
from collections.abc import Callable, Sequence
from functools import partial

from producers.dead_letters import LetterBox
from worker.indexing.dead_letter_reasons import letter_of
from worker.inspecting.dead_letter_index import DeadLetterIndex, key_of
from worker.inspecting.expected import Expected


class DeadLetterUndelivered(Exception):
    """A dead letter was not kept in time; one line."""


class DeadLetterWriter:
    """Every dead letter that it wrote is acknowledged and in the index of dead letters.

    Thread: one.
    """

    def __init__(self, box: Callable[[], LetterBox], index: DeadLetterIndex, *, limit_s: float) -> None:
        """`limit_s` is how long the box may take for each letter."""
        self._box = box
        self._index = index
        self._limit_s = limit_s

    def write_dead_letters(self, expected: Sequence[Expected]) -> None:
        """Write one dead letter per record that has a `rejection`. Raises DeadLetterUndelivered and ProducerMisconfigured."""
        acknowledged = threading.Semaphore(0)
        rejected = [(one, one.rejection) for one in expected if one.rejection is not None]
        for one, rejection in rejected:
            self._box().send(letter_of(one.record, rejection, one.rejects), delivered=partial(acknowledged.release, 1))
        for _ in rejected:
            if not acknowledged.acquire(timeout=self._limit_s):
                raise DeadLetterUndelivered(f"{self._box().name} took no dead letter for {self._limit_s:g} s")
        for one, _ in rejected:
            pieces = None if one.refusal is not None else frozenset((sub, chunk) for sub, chunk, _ in one.rejects)
            self._index.excuse_pieces(one.record.topic, key_of(one.record), pieces)
