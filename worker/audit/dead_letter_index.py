"""Which pieces of which records need no rows, because dead letters have them."""

from collections.abc import Mapping
from typing import NamedTuple

from worker.audit.stored_dead_letters import StoredDeadLetter


class Excused(NamedTuple):
    """The pieces of one record that need no rows, because its dead letters have them."""

    pieces: frozenset[tuple[int, int]] | None
    """(sub, chunk); None: any piece may be missing."""

    def excuses(self, sub: int, chunk: int) -> bool:
        """Whether this piece need not be stored."""
        return self.pieces is None or (sub, chunk) in self.pieces


ExcusedRecords = Mapping[tuple[int, int], Excused]
"""By partition and offset, of one topic in one epoch."""


class DeadLetterIndex:
    """Knows which pieces of which records need no rows, for the topics of one run.

    Thread: one.
    """

    def __init__(self, epochs: Mapping[str, str]) -> None:
        """`epochs` is by topic; dead letters of other topics or other epochs are ignored."""
        self._epochs = epochs
        self._excused: dict[str, dict[tuple[int, int], Excused]] = {topic: {} for topic in epochs}

    def add_letter(self, letter: StoredDeadLetter) -> None:
        """Add one dead letter. Several letters of one record add up; a replayed one excuses nothing."""
        if letter.is_replayed:
            return
        if letter.epoch == self._epochs.get(letter.topic) and letter.partition is not None and letter.offset is not None:
            listed = None if letter.is_whole or letter.unlisted_pieces else frozenset((sub, chunk) for sub, chunk, _ in letter.pieces)
            self.excuse_pieces(letter.topic, letter.partition, letter.offset, listed)

    def excuse_pieces(self, topic: str, partition: int, offset: int, pieces: frozenset[tuple[int, int]] | None) -> None:
        """Add the (sub, chunk) that a dead letter of a record of this epoch lists; None: the whole record."""
        records = self._excused[topic]
        before = records.get((partition, offset), Excused(frozenset())).pieces
        records[partition, offset] = Excused(None if before is None or pieces is None else before | pieces)

    def excused_records(self, topic: str) -> ExcusedRecords:
        """Return the records of one topic that have dead letters; later letters are seen in it too."""
        return self._excused[topic]
