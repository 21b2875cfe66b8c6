"""Which pieces of which records need no rows, because dead letters have them.

A letter excuses the record whose bytes it names, and no other that is at the same offset: anybody who may write to the topic can name one.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from consumers.record import Record
from worker.inspecting.stored_dead_letters import StoredDeadLetter


class Excused(NamedTuple):
    """The pieces of one record that need no rows, because its dead letters have them."""

    pieces: frozenset[tuple[int, int]] | None
    """(sub, chunk); None: any piece may be missing."""

    def excuses(self, sub: int, chunk: int) -> bool:
        """Whether this piece need not be stored."""
        return self.pieces is None or (sub, chunk) in self.pieces


class RecordKey(NamedTuple):
    """A record of one topic in one epoch, with what it holds."""

    partition: int
    offset: int
    size_bytes: int
    """Of its value."""
    sha256: str


def key_of(record: Record) -> RecordKey:
    """Return the key of a record."""
    value = record.value or b""
    return RecordKey(record.partition, record.offset, len(value), hashlib.sha256(value).hexdigest())


ExcusedRecords = Mapping[RecordKey, Excused]
"""Of one topic in one epoch."""


class DeadLetterIndex:
    """Knows which pieces of which records need no rows, for the topics of one run.

    Thread: one.
    """

    def __init__(self, epochs: Mapping[str, str]) -> None:
        """`epochs` is by topic; dead letters of other topics or other epochs are ignored."""
        self._epochs = epochs
        self._excused: dict[str, dict[RecordKey, Excused]] = {topic: {} for topic in epochs}

    def add_letter(self, letter: StoredDeadLetter) -> None:
        """Add one dead letter. Several of one record add up; one that is replayed, or holds other bytes than it names, excuses nothing."""
        if letter.is_replayed or letter.is_altered:
            return
        if letter.epoch == self._epochs.get(letter.topic) and letter.partition is not None and letter.offset is not None:
            listed = None if letter.is_whole or letter.unlisted_pieces else frozenset((sub, chunk) for sub, chunk, _ in letter.pieces)
            key = RecordKey(letter.partition, letter.offset, letter.size_bytes, letter.sha256)
            self.excuse_pieces(letter.topic, key, listed)

    def excuse_pieces(self, topic: str, record: RecordKey, pieces: frozenset[tuple[int, int]] | None) -> None:
        """Add the (sub, chunk) that a dead letter of a record of this epoch lists; None: the whole record."""
        records = self._excused[topic]
        before = records.get(record, Excused(frozenset())).pieces
        records[record] = Excused(None if before is None or pieces is None else before | pieces)

    def excused_records(self, topic: str) -> ExcusedRecords:
        """Return the records of one topic that have dead letters; later letters are seen in it too."""
        return self._excused[topic]
