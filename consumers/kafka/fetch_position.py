"""The course of each partition: up to where its records were taken from the client, and when it must go back there.

The client does not stop at bytes that came damaged: it says so and goes on behind them, at an offset that may be garbage
(librdkafka 2.16). So `consumers.kafka` asks here about every record, believes no offset but our own, and fetches again what came
damaged, from the first record that is missing, for as long as it takes.
"""

from collections.abc import Iterable

from consumers.record import Partition

_FIRST_BACK_OFF_S = 0.1
_MOST_BACK_OFF_S = 10.0


class FetchPosition:
    """Records of a partition are taken in the order of their offsets; while it is set back, none.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._next_offset: dict[Partition, int] = {}
        self._due_s: dict[Partition, float] = {}
        self._tries: dict[Partition, int] = {}

    def next_offset(self, partition: Partition) -> int | None:
        """Return the offset behind the last record taken, or where the partition was told to begin; None: where its group stands."""
        return self._next_offset.get(partition)

    def begin(self, partition: Partition, next_offset: int) -> None:
        """The partition goes on there."""
        self._next_offset[partition] = next_offset
        self._due_s.pop(partition, None)

    def forget(self, partitions: Iterable[Partition]) -> None:
        """An assignment is over."""
        for partition in partitions:
            self._next_offset.pop(partition, None)
            self._due_s.pop(partition, None)
            self._tries.pop(partition, None)

    def is_set_back(self, partition: Partition) -> bool:
        """Whether what comes of it does not count."""
        return partition in self._due_s

    def takes(self, partition: Partition, offset: int, end_offset: int) -> bool:
        """Take a record, if it can be the next one; `end_offset` is what the broker said with it, negative if it said nothing.

        A broker may say an end that is older than the records that come with it; one that is exactly the next is taken all the same.
        """
        next_offset = self._next_offset.get(partition)
        if offset != next_offset and (offset < (next_offset or 0) or 0 <= end_offset <= offset):
            return False
        self._next_offset[partition] = offset + 1
        self._tries.pop(partition, None)
        return True

    def set_back(self, partition: Partition, now_s: float) -> int:
        """What came of this partition is damaged: nothing counts until it has gone back. Return how often in a row that was now."""
        tries = self._tries.get(partition, 0)
        self._tries[partition] = tries + 1
        self._due_s[partition] = now_s + min(_FIRST_BACK_OFF_S * 2 ** min(tries, 10), _MOST_BACK_OFF_S)
        return tries + 1

    def due(self, now_s: float) -> list[Partition]:
        """Return the partitions that shall go back now."""
        return [partition for partition, due_s in self._due_s.items() if due_s <= now_s]

    def returned(self, partition: Partition) -> None:
        """The partition has gone back."""
        self._due_s.pop(partition, None)


WIRE_TRIES = 4
"""How often in a row one place may come damaged before it is more than a bad wire: some 2 s."""


DEFAULT_MOST_BYTES = "100000000"
"""The client's own `receive.message.max.bytes`."""


def damage_message(partition: Partition, next_offset: int | None, reason: str, *, tries: int, most_bytes: str) -> str:
    """Return what is said of a place that came damaged `tries` times in a row.

    It is the same line for as long as it lasts, so that it can be said once a minute: a bad wire names another place each time.

    `next_offset` is the first record that is missing, None if none of this assignment has come yet; `most_bytes` is the client's
    `receive.message.max.bytes`.
    """
    name = f"{partition.topic}/{partition.partition}"
    if tries <= WIRE_TRIES:
        return f"{name}: what came is damaged; fetching it again"
    place = "what is next" if next_offset is None else f"what stands at offset {next_offset}"
    allow = (
        f"if it is zstd and larger than {most_bytes} bytes, allow more in kafka.librdkafka (receive.message.max.bytes); "
        if reason.startswith("Decompression")
        else ""
    )
    return (
        f"{name} stands still: {place} comes damaged every time ({reason}); nothing behind it is read until it comes well; {allow}"
        f"`vectail offsets reset --to OFFSET --topic {partition.topic} --partition {partition.partition}` passes over it"
    )
