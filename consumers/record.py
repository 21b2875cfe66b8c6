"""A Kafka record before it is decoded.

`consumers.kafka` makes records, `consumers.ledger` issues a receipt for each, and decoding reads them.
"""

from typing import NamedTuple


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


Header = tuple[str, bytes | None]
HEADER_BYTES = 150
"""Memory of a header besides its characters and bytes: a tuple, a str and a bytes object (measured with tracemalloc, CPython 3.11)."""


class Record(NamedTuple):
    """One Kafka record with its coordinates.

    A NamedTuple because one is built for each record on the hot path, and it is built three times faster than a frozen dataclass.
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

    def size_bytes(self) -> int:
        """Return the bytes that count against the ledger's cap: key, value and headers, and `HEADER_BYTES` for each header.

        Its other memory (400 bytes with its receipt) is bounded by the number of records.
        """
        size = len(self.key or b"") + len(self.value or b"")
        for name, content in self.headers:
            size += HEADER_BYTES + len(name) + len(content or b"")
        return size
