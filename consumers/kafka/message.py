"""Makes records of a client's messages: many at a time as columns, or a single one.

`consumers.kafka.intake` reads what polls returned, `consumers.groupless.groupless_reader` single records. Unreadable headers are dropped,
their record is kept. Nothing here imports the client library; `ClientMessage` describes the methods it uses.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from consumers.kafka.kafka_client import ClientError
from consumers.record import HEADER_BYTES, NO_LEADER_EPOCH, Header, Partition, Record, Records

_NO_TIMESTAMP = 0
"""The client's TIMESTAMP_NOT_AVAILABLE."""
_UNREADABLE: Final[list[Header]] = []
"""Stands for headers that cannot be read."""


class ClientMessage(Protocol):
    """The methods used of the client's message."""

    def __len__(self) -> int:
        """Return how many bytes its value has."""

    def topic(self) -> str | None:
        """Return the topic."""

    def partition(self) -> int | None:
        """Return the partition."""

    def offset(self) -> int | None:
        """Return the offset."""

    def leader_epoch(self) -> int | None:
        """Return the leader epoch of its batch; None if its format has none."""

    def error(self) -> ClientError | None:
        """Return the error that it carries instead of a record; None if it is a record."""

    def timestamp(self) -> tuple[int, int]:
        """Return the type of the timestamp, and milliseconds."""

    def key(self) -> bytes | None:
        """Return the key."""

    def value(self) -> bytes | None:
        """Return the value."""

    def headers(self) -> Any:  # noqa: ANN401 - a list of pairs, which the types of the client say otherwise
        """Return the headers; raises SystemError if a name is not UTF-8, and must not be called again after that."""


class ReadRecords(NamedTuple):
    """Records made of messages."""

    records: Records
    size_bytes: int
    """Of all of them, as `Record.size_bytes`."""
    unreadable: int
    """How many lost their headers, because the name of one was not UTF-8."""


def partition_of(message: ClientMessage) -> Partition:
    """Return the partition of a message."""
    return Partition(str(message.topic()), int(message.partition() or 0))


def record_of(message: ClientMessage, epoch: str) -> Record:
    """Make a Record of a message without an error, without its headers if they cannot be read."""
    (headers,) = _each_headers([message])
    kind, time_ms = message.timestamp()
    return Record(
        *partition_of(message),
        offset=int(message.offset() or 0),
        epoch=epoch,
        time_ms=0 if kind == _NO_TIMESTAMP else time_ms,
        key=message.key(),
        value=message.value(),
        headers=tuple(headers or ()),
        leader_epoch=_leader_epoch(message.leader_epoch()),
    )


def read_records(
    partition: Partition, epoch: str, offset: NDArray[np.int64], messages: Sequence[ClientMessage], *, room_bytes: int
) -> ReadRecords:
    """Make records of the first of n ≥ 1 messages of one partition, none with an error: of one, and of more until the room is full.

    `offset`: int64[n], of the messages. The headers of the rest are not read, as they take more memory as objects than as messages.
    """
    values, keys = [message.value() for message in messages], [message.key() for message in messages]
    size_bytes = sum(map(len, filter(None, values))) + sum(map(len, filter(None, keys)))
    filled_bytes = _filled_bytes(values, keys) if size_bytes > room_bytes else None
    found: dict[int, tuple[Header, ...]] = {}
    header_bytes, unreadable = 0, 0
    for row, pairs in enumerate(_each_headers(messages)):
        if pairs is _UNREADABLE:
            unreadable += 1
        elif pairs:
            filled_bytes = filled_bytes or _filled_bytes(values, keys)
            found[row] = tuple(pairs)
            header_bytes += sum(HEADER_BYTES + len(name) + len(content or b"") for name, content in pairs)
        if filled_bytes is not None and filled_bytes[row] + header_bytes >= room_bytes:
            break
    size = row + 1
    if size < len(messages):
        values, keys, messages = values[:size], keys[:size], messages[:size]
    stamps = map(type(messages[0]).timestamp, messages)  # no list of them: so many tuples at once would call the garbage collector
    records = Records(
        *partition,
        epoch,
        offset[:size],
        np.fromiter([0 if kind == _NO_TIMESTAMP else ms for kind, ms in stamps], np.int64, size),
        values,
        None if keys.count(None) == size else keys,
        [found.get(row, ()) for row in range(size)] if found else None,
        _leader_epochs(messages),
    )
    return ReadRecords(records, (size_bytes if filled_bytes is None else filled_bytes[size - 1]) + header_bytes, unreadable)


def _leader_epochs(messages: Sequence[ClientMessage]) -> NDArray[np.int32]:
    """Return the leader epochs of n ≥ 1 messages of one partition, which never decrease: int32[n]."""
    first, last = messages[0].leader_epoch(), messages[-1].leader_epoch()
    if first == last:
        return np.full(len(messages), _leader_epoch(first), np.int32)
    return np.fromiter((_leader_epoch(message.leader_epoch()) for message in messages), np.int32, len(messages))


def _leader_epoch(said: int | None) -> int:
    return NO_LEADER_EPOCH if said is None else said


def _each_headers(messages: Sequence[ClientMessage]) -> Iterator[list[Header] | None]:
    """Yield the headers of n ≥ 1 messages: None where there are none, `_UNREADABLE` if the name of one is not UTF-8.

    The client then returns headers with an exception set (2.16). `map` raises it here; Python's own call, once it is optimised (3.11),
    raises it somewhere later. Reading such headers again would crash the process.
    """
    read = map(type(messages[0]).headers, messages)
    while True:
        try:
            yield from read
        except (SystemError, UnicodeDecodeError):
            yield _UNREADABLE
        else:
            return


def _filled_bytes(values: Sequence[bytes | None], keys: Sequence[bytes | None]) -> list[int]:
    """Return the bytes of each record's value and key, with those of all before it."""
    return list(accumulate(len(value or b"") + len(key or b"") for value, key in zip(values, keys, strict=True)))
