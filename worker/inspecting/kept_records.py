"""Finds the records that dead letters are of, as far as Kafka still holds them: then its bytes decide, not the letter's.

A replay calls it with a bounded number of letters. All are read by one consumer, those that are near each other at once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from consumers.groupless.groupless_reader import GrouplessReader, TopicUnknown
from consumers.record import Partition, Record
from worker.inspecting.stored_dead_letters import StoredDeadLetter

OTHER_BYTES: Final = "Kafka holds another record at its offset"
_SPAN_OFFSETS: Final = 500
"""Most offsets that are read at once: what lies between the records is read in vain."""


class FoundRecord(NamedTuple):
    """What Kafka holds of a dead letter's record."""

    record: Record | None = None
    """As Kafka has it; None: Kafka no longer holds it, or its topic was created again since."""
    refusal: str = ""
    """Why Kafka never had such a record; one line."""


class KeptRecords:
    """Every record that it returns has the value that its dead letter names.

    Thread: one, the reader's.
    """

    def __init__(self, reader: GrouplessReader, *, timeout_s: float) -> None:
        """`timeout_s` is how long Kafka may take for each answer."""
        self._reader = reader
        self._timeout_s = timeout_s

    def find_records(self, letters: Sequence[StoredDeadLetter]) -> list[FoundRecord]:
        """Return what Kafka holds of the record of each of n letters. Raises RangeUnreadable, TopicWithoutId."""
        found: dict[StoredDeadLetter, FoundRecord] = {}
        for topic in dict.fromkeys(letter.topic for letter in letters):
            try:
                partitions = self._reader.partitions([topic], self._timeout_s)
            except TopicUnknown:
                continue
            epoch = self._reader.epoch(topic, self._timeout_s)
            by_partition: dict[Partition, list[StoredDeadLetter]] = defaultdict(list)
            for letter in letters:
                if (letter.topic, letter.epoch) == (topic, epoch) and letter.partition is not None:
                    by_partition[Partition(topic, letter.partition)].append(letter)
            for unknown in by_partition.keys() - set(partitions):
                refused = FoundRecord(refusal=f"Kafka has no such record: {topic} has {len(partitions)} partitions")
                found |= dict.fromkeys(by_partition.pop(unknown), refused)
            found |= self._find_in_partitions(by_partition, epoch)
        return [found.get(letter, FoundRecord()) for letter in letters]

    def _find_in_partitions(self, by_partition: dict[Partition, list[StoredDeadLetter]], epoch: str) -> dict[StoredDeadLetter, FoundRecord]:
        found: dict[StoredDeadLetter, FoundRecord] = {}
        if not by_partition:
            return found
        for partition, held in self._reader.offset_ranges(list(by_partition), self._timeout_s).items():
            by_offset: dict[int, list[StoredDeadLetter]] = defaultdict(list)
            for letter in by_partition[partition]:
                offset = -1 if letter.offset is None else letter.offset
                if offset >= held.end_offset:
                    found[letter] = FoundRecord(refusal=f"Kafka has no such record: its partition ends at {held.end_offset}")
                elif offset >= held.first_offset:
                    by_offset[offset].append(letter)
            for kept in self._read(partition, epoch, by_offset.keys()):
                for letter in by_offset[kept.offset]:
                    found[letter] = FoundRecord(kept) if letter.names(kept.value or b"") else FoundRecord(refusal=OTHER_BYTES)
        return found

    def _read(self, partition: Partition, epoch: str, offsets: Collection[int]) -> Iterator[Record]:
        """Read the records at these offsets that there are."""
        for span in spans_of(offsets, _SPAN_OFFSETS):
            for some in self._reader.read(partition, span.start, span.stop, epoch=epoch, timeout_s=self._timeout_s):
                yield from (record for record in some if record.offset in offsets)


def spans_of(offsets: Collection[int], most: int) -> list[range]:
    """Return ranges of at most `most` offsets that hold all of these, in order; each begins and ends with one of them."""
    spans: list[range] = []
    for offset in sorted(offsets):
        if spans and offset < spans[-1].start + most:
            spans[-1] = range(spans[-1].start, offset + 1)
        else:
            spans.append(range(offset, offset + 1))
    return spans
