"""What one Kafka record is to vectail, before anyone has looked inside it.

`consumers.kafka` makes records, `consumers.ledger` hands out a receipt for each, and decoding reads them.
"""

from typing import NamedTuple

Header = tuple[str, bytes | None]


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
        """Bytes that count against the ledger's cap: key, value and headers."""
        size = len(self.key or b"") + len(self.value or b"")
        for name, content in self.headers:
            size += len(name) + len(content or b"")
        return size
