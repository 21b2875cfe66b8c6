"""What one Kafka record is to vectail, before anyone has looked inside it.

`consumers.kafka` makes records, `consumers.ledger` hands out a receipt for each, and decoding reads them.
"""

from typing import NamedTuple


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


Header = tuple[str, bytes | None]
HEADER_BYTES = 150
"""What a header takes besides its characters and bytes: a tuple, a str and a bytes object (seen with tracemalloc, CPython 3.11)."""


class Record(NamedTuple):
    """One Kafka record with its coordinates; immutable, so any thread may read it.

    A NamedTuple and not a frozen dataclass: it is built once a record on the hot path, three times faster.

    Thread: any.
    """

    topic: str
    partition: int
    offset: int
    """Where the record is. What gets committed is the *next* offset, and only the ledger says which."""
    epoch: str
    """Tells a re-created topic from its predecessor (design: row ids)."""
    time_ms: int
    """Kafka's timestamp, milliseconds since 1970; 0 when the broker gave none."""
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]

    def size_bytes(self) -> int:
        """Bytes that count against the ledger's cap: key, value and headers, each header with what it takes besides.

        What a record takes besides (400 bytes with its receipt) is bounded by the number of records.
        """
        size = len(self.key or b"") + len(self.value or b"")
        for name, content in self.headers:
            size += HEADER_BYTES + len(name) + len(content or b"")
        return size
