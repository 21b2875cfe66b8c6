"""A Kafka record before it is decoded.

What one poll returned of a partition stays together, as `Records`; a single `Record` is for queries, dead letters, tools and tests.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # every command imports this file, and most need no arrays
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


Header = tuple[str, bytes | None]
NO_LEADER_EPOCH = -1
"""Kafka's own number for a leader epoch that is not known."""
HEADER_BYTES = 150
"""Memory of a header besides its characters and bytes: a tuple, a str and a bytes object (measured with tracemalloc, CPython 3.11)."""


class Record(NamedTuple):
    """One Kafka record with its coordinates.

    Thread: any.
    """

    topic: str
    partition: int
    offset: int
    """Where the record is. What is committed is the *next* offset, which only the ledger determines."""
    epoch: str
    """Distinguishes a re-created topic from its predecessor (design: line ids)."""
    time_ms: int
    """Kafka's timestamp, milliseconds since 1970; 0 when the broker gave none."""
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    leader_epoch: int = NO_LEADER_EPOCH
    """Of the leader that took it in; of two records at one offset, the one of the later leader replaced the other."""

    def size_bytes(self) -> int:
        """Return the bytes that count against the ledger's cap: key, value and headers, and `HEADER_BYTES` for each header.

        Its other memory (400 bytes with its receipt) is bounded by the number of records.
        """
        size = len(self.key or b"") + len(self.value or b"")
        for name, content in self.headers:
            size += HEADER_BYTES + len(name) + len(content or b"")
        return size


class Records(NamedTuple):
    """n records of one partition and epoch as columns, each of length n, in the order of their offsets.

    Thread: any.
    """

    topic: str
    partition: int
    epoch: str
    """Distinguishes a re-created topic from its predecessor."""
    offset: NDArray[np.int64]
    time_ms: NDArray[np.int64]
    """Kafka's timestamps, milliseconds since 1970; 0 when the broker gave none."""
    value: Sequence[bytes | None]
    key: Sequence[bytes | None] | None = None
    """None: no record has one."""
    headers: Sequence[tuple[Header, ...]] | None = None
    """None: no record has any."""
    leader_epoch: NDArray[np.int32] | None = None
    """Ascending; None: it is not known of any."""

    @property
    def size(self) -> int:
        """How many records; `len` counts the columns."""
        return len(self.value)

    @property
    def source(self) -> Partition:
        """The partition that they came from."""
        return Partition(self.topic, self.partition)

    def record(self, row: int) -> Record:
        """Return one of them."""
        return Record(
            topic=self.topic,
            partition=self.partition,
            offset=int(self.offset[row]),
            epoch=self.epoch,
            time_ms=int(self.time_ms[row]),
            key=None if self.key is None else self.key[row],
            value=self.value[row],
            headers=() if self.headers is None else self.headers[row],
            leader_epoch=NO_LEADER_EPOCH if self.leader_epoch is None else int(self.leader_epoch[row]),
        )

    def between(self, first: int, end: int) -> Records:
        """Return the records of these rows."""
        return Records(
            self.topic,
            self.partition,
            self.epoch,
            self.offset[first:end],
            self.time_ms[first:end],
            self.value[first:end],
            None if self.key is None else self.key[first:end],
            None if self.headers is None else self.headers[first:end],
            None if self.leader_epoch is None else self.leader_epoch[first:end],
        )

    def where(self, mask: NDArray[np.bool_]) -> Records:
        """Copy the records where the mask is true."""
        chosen = mask.tolist()
        return Records(
            self.topic,
            self.partition,
            self.epoch,
            self.offset[mask],
            self.time_ms[mask],
            list(compress(self.value, chosen)),
            None if self.key is None else list(compress(self.key, chosen)),
            None if self.headers is None else list(compress(self.headers, chosen)),
            None if self.leader_epoch is None else self.leader_epoch[mask],
        )

    def leader_epochs(self) -> NDArray[np.int32]:
        """Return the leader epoch of each, `NO_LEADER_EPOCH` where it is not known: int32[n]."""
        import numpy as np  # noqa: PLC0415 - as above

        return np.full(self.size, NO_LEADER_EPOCH, np.int32) if self.leader_epoch is None else self.leader_epoch

    def value_bytes(self) -> NDArray[np.int64]:
        """Return the bytes of each value, 0 for none: int64[n]."""
        import numpy as np  # noqa: PLC0415 - as above

        try:
            return np.fromiter(map(len, self.value), np.int64, self.size)  # type: ignore[arg-type] # nearly always none is None
        except TypeError:
            return np.fromiter((len(value or b"") for value in self.value), np.int64, self.size)

    def sizes_bytes(self) -> NDArray[np.int64]:
        """Return the bytes of each record that count against the ledger's cap, as `Record.size_bytes`: int64[n]."""
        import numpy as np  # noqa: PLC0415 - as above

        sizes = self.value_bytes()
        if self.key is not None:
            sizes += np.fromiter((len(key or b"") for key in self.key), np.int64, self.size)
        if self.headers is not None:
            for row, headers in enumerate(self.headers):
                for name, content in headers:
                    sizes[row] += HEADER_BYTES + len(name) + len(content or b"")
        return sizes


def records_of(records: Sequence[Record]) -> Records:
    """Return n ≥ 1 records of one partition and epoch as columns, in their order."""
    import numpy as np  # noqa: PLC0415 - as above

    first, size = records[0], len(records)
    return Records(
        first.topic,
        first.partition,
        first.epoch,
        np.fromiter((record.offset for record in records), np.int64, size),
        np.fromiter((record.time_ms for record in records), np.int64, size),
        [record.value for record in records],
        [record.key for record in records] if any(record.key is not None for record in records) else None,
        [record.headers for record in records] if any(record.headers for record in records) else None,
        np.fromiter((record.leader_epoch for record in records), np.int32, size),
    )


def join_records(parts: Sequence[Records]) -> Records:
    """Return the records of n ≥ 1 parts, all of one partition and epoch, in their order."""
    import numpy as np  # noqa: PLC0415 - as above

    if len(parts) == 1:
        return parts[0]
    has_keys, has_headers = any(part.key is not None for part in parts), any(part.headers is not None for part in parts)
    return parts[0]._replace(
        offset=np.concatenate([part.offset for part in parts]),
        time_ms=np.concatenate([part.time_ms for part in parts]),
        value=[value for part in parts for value in part.value],
        key=[key for part in parts for key in part.key or [None] * part.size] if has_keys else None,
        headers=[headers for part in parts for headers in part.headers or [()] * part.size] if has_headers else None,
        leader_epoch=np.concatenate([part.leader_epochs() for part in parts]),
    )
