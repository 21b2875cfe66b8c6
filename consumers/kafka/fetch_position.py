"""Tracks each partition's next expected offset, and when to re-fetch after damaged data.

The client does not stop at damaged bytes: it reports them and continues after them, at an offset that may be garbage (librdkafka 2.16).
So `consumers.kafka` checks every record here, trusts only its own offsets, and fetches damaged data again from the first missing record,
for as long as it takes.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from consumers.record import Partition

_FIRST_BACK_OFF_S = 0.1
_MAX_BACK_OFF_S = 10.0
_MAX_DOUBLINGS = 10
"""Enough to reach the longest pause; without a limit, the power would overflow."""


class FetchPosition:
    """The next expected offset of each partition never moves back; its caller discards records while `is_refetching`.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._next_offset: dict[Partition, int] = {}
        self._refetch_at_s: dict[Partition, float] = {}
        self._tries: dict[Partition, int] = {}

    def next_offset(self, partition: Partition) -> int | None:
        """Return the offset after the last accepted record, or where the partition was told to start; None: at the committed offset."""
        return self._next_offset.get(partition)

    def start_at(self, partition: Partition, next_offset: int) -> None:
        """Continue the partition at this offset; damage seen before still counts towards the next pause."""
        self._next_offset[partition] = next_offset
        self._refetch_at_s.pop(partition, None)

    def drop(self, gone: Collection[Partition]) -> None:
        """Forget these partitions (WaitingPlace)."""
        for partition in gone:
            self._next_offset.pop(partition, None)
            self._refetch_at_s.pop(partition, None)
            self._tries.pop(partition, None)

    def is_refetching(self, partition: Partition) -> bool:
        """Whether records of this partition must be discarded until it is re-fetched."""
        return partition in self._refetch_at_s

    def accept_offsets(self, partition: Partition, offset: NDArray[np.int64], end_offset: int) -> int:
        """Accept n ≥ 1 records as far as each can be the next one; returns how many of the first can.

        `offset`: int64[n]. `end_offset` came with them, negative if unknown. A broker may send an end that is older than the records it
        comes with; so exactly the next offset is always accepted.
        """
        next_offset = self._next_offset.get(partition)
        expected = np.empty(len(offset), np.int64)
        expected[0] = next_offset or 0
        np.add(offset[:-1], 1, out=expected[1:])
        is_wrong = offset < expected
        if end_offset >= 0:
            is_beyond = (offset >= end_offset) & (offset != expected)
            is_beyond[0] = offset[0] >= end_offset and offset[0] != next_offset
            is_wrong |= is_beyond
        accepted = int(is_wrong.argmax()) if is_wrong.any() else len(offset)
        if accepted:
            self._next_offset[partition] = int(offset[accepted - 1]) + 1
            self._tries.pop(partition, None)
        return accepted

    def schedule_refetch(self, partition: Partition, now_s: float) -> int:
        """Note damaged data: the partition's records are discarded until it is re-fetched. Returns the number of failures in a row."""
        tries = self._tries.get(partition, 0)
        self._tries[partition] = tries + 1
        self._refetch_at_s[partition] = now_s + min(_FIRST_BACK_OFF_S * 2 ** min(tries, _MAX_DOUBLINGS), _MAX_BACK_OFF_S)
        return tries + 1

    def due_refetches(self, now_s: float) -> list[Partition]:
        """Return the partitions to re-fetch now."""
        return [partition for partition, at_s in self._refetch_at_s.items() if at_s <= now_s]

    def on_refetch(self, partition: Partition) -> None:
        """Note that the partition is being fetched again, from its next offset."""
        self._refetch_at_s.pop(partition, None)


MAX_TRANSIENT_FAILURES = 4
"""How many times in a row damage may be a network fault; more, and the stored data is damaged. About 1.5 s."""
DEFAULT_MAX_MESSAGE_BYTES = "100000000"
"""The client's own `receive.message.max.bytes`."""


def damage_message(partition: Partition, next_offset: int | None, reason: str, *, tries: int, max_message_bytes: str) -> str:
    """Return the log line for data that was damaged `tries` times in a row: a transient fault recovers, a persistent one blocks.

    The line stays the same while the fault lasts, so that it can be limited to once a minute; for a network fault it names no offset, as
    that changes each time. `next_offset` is the first missing record, None if none of this assignment has arrived yet;
    `max_message_bytes` is the client's `receive.message.max.bytes`.
    """
    name = f"{partition.topic}/{partition.partition}"
    if tries <= MAX_TRANSIENT_FAILURES:
        return f"{name}: damaged data received; fetching it again"
    damaged = "the next data" if next_offset is None else f"the data at offset {next_offset}"
    allow = (
        f"if the batch is zstd-compressed and larger than {max_message_bytes} bytes, allow more in kafka.librdkafka "
        "(receive.message.max.bytes); "
        if reason.startswith("Decompression")
        else ""
    )
    return (
        f"{name} is blocked: {damaged} arrives damaged every time ({reason}); nothing after it is read until it arrives intact; {allow}"
        f"`vectail offsets reset --to OFFSET --topic {partition.topic} --partition {partition.partition}` skips it"
    )
