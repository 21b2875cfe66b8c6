"""Reads the newest records of a topic, without a group: nothing is committed, and no worker is disturbed."""

from collections.abc import Iterator, Sequence

from consumers.groupless.groupless_reader import GrouplessReader
from consumers.record import Record


def newest_records(reader: GrouplessReader, topic: str, most_records: int, *, timeout_s: float) -> Iterator[Sequence[Record]]:
    """Yield about `most_records` records in lists, as many of each partition that holds any.

    Raises TopicUnknown, RangeUnreadable.
    """
    ranges = reader.offset_ranges(reader.partitions([topic], timeout_s), timeout_s)
    filled = {partition: found for partition, found in ranges.items() if found.end_offset > found.first_offset}
    share = -(-most_records // max(len(filled), 1))
    for partition, found in filled.items():
        first_offset = max(found.first_offset, found.end_offset - share)
        yield from reader.read(partition, first_offset, found.end_offset, epoch="", timeout_s=timeout_s)
