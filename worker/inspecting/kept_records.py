"""Finds the records that dead letters are of, as far as Kafka still holds them: then its bytes decide, not the letter's.

A replay calls it with a bounded number of letters. All are read by one consumer, those that are near each other at once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from consumers.groupless.groupless_reader import GrouplessReader, TopicUnknown
from consumers.record import Partition, Record

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
    """Every record that it returns has the value that its dead letter has.

    Thread: one, the reader's.
    """

    def __init__(self, reader: GrouplessReader, *, timeout_s: float) -> None:
        """`timeout_s` is how long Kafka may take for each answer."""
        self._reader = reader
        self._timeout_s = timeout_s

    def find_records(self, records: Sequence[Record]) -> list[FoundRecord]:
        """Return what Kafka holds of each of n records, as their dead letters have them. Raises RangeUnreadable, TopicWithoutId."""
        found: dict[Record, FoundRecord] = {}
        for topic in dict.fromkeys(record.topic for record in records):
            try:
                partitions = self._reader.partitions([topic], self._timeout_s)
            except TopicUnknown:
                continue
            epoch = self._reader.epoch(topic, self._timeout_s)
            by_partition: dict[Partition, list[Record]] = defaultdict(list)
            for record in records:
                if (record.topic, record.epoch) == (topic, epoch):
                    by_partition[Partition(topic, record.partition)].append(record)
            for unknown in by_partition.keys() - set(partitions):
                refused = FoundRecord(refusal=f"Kafka has no such record: {topic} has {len(partitions)} partitions")
                found |= dict.fromkeys(by_partition.pop(unknown), refused)
            found |= self._find_in_partitions(by_partition, epoch)
        return [found.get(record, FoundRecord()) for record in records]

    def _find_in_partitions(self, by_partition: dict[Partition, list[Record]], epoch: str) -> dict[Record, FoundRecord]:
        found: dict[Record, FoundRecord] = {}
        if not by_partition:
            return found
        for partition, held in self._reader.offset_ranges(list(by_partition), self._timeout_s).items():
            by_offset: dict[int, list[Record]] = defaultdict(list)
            for record in by_partition[partition]:
                if record.offset >= held.end_offset:
                    found[record] = FoundRecord(refusal=f"Kafka has no such record: its partition ends at {held.end_offset}")
                elif record.offset >= held.first_offset:
                    by_offset[record.offset].append(record)
            for kept in self._read(partition, epoch, by_offset.keys()):
                for record in by_offset[kept.offset]:
                    is_same = (record.value or b"") == (kept.value or b"")
                    found[record] = FoundRecord(kept) if is_same else FoundRecord(refusal=OTHER_BYTES)
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
