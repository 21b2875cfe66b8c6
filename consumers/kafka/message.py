"""Makes a Record of a client's message; unreadable headers are dropped, the record is kept.

`consumers.kafka` and `consumers.groupless.reader` make every record here. It does not import the client library; `ClientMessage` describes
the methods it uses.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from consumers.record import Header, Partition, Record

_NO_TIMESTAMP = 0
"""The client's TIMESTAMP_NOT_AVAILABLE."""


class ClientMessage(Protocol):
    """The methods used of the client's message."""

    def topic(self) -> str | None:
        """Return the topic."""

    def partition(self) -> int | None:
        """Return the partition."""

    def offset(self) -> int | None:
        """Return the offset."""

    def leader_epoch(self) -> int | None:
        """Return the leader epoch of its batch; None if its format has none."""

    def error(self) -> Any:  # noqa: ANN401 - the client's error
        """Return the error that it carries instead of a record; None if it is a record."""

    def timestamp(self) -> tuple[int, int]:
        """Return the type of the timestamp, and milliseconds."""

    def key(self) -> str | bytes | None:
        """Return the key."""

    def value(self) -> str | bytes | None:
        """Return the value."""

    def headers(self) -> Any:  # noqa: ANN401 - the client's list of pairs
        """Return the headers; raises SystemError if a name is not UTF-8, and must not be called again after that."""


def partition_of(message: ClientMessage) -> Partition:
    """Return the partition of a message."""
    return Partition(str(message.topic()), int(message.partition() or 0))


def record_of(message: ClientMessage, epochs: Mapping[str, str]) -> Record:
    """Make a Record of a message without an error; `epochs` holds the epoch of each topic."""
    topic = str(message.topic())
    return make_record(message, epochs[topic])[0]


def make_record(message: ClientMessage, epoch: str) -> tuple[Record, bool]:
    """Make a Record of a message without an error; returns also whether its headers could be read. If not, the record has none.

    One header name that is not UTF-8 makes all headers of the message unreadable: the client then holds a null pointer among them (2.16),
    and reading them a second time would crash the process.
    """
    try:
        headers: tuple[Header, ...] = tuple((str(name), _bytes_of(content)) for name, content in message.headers() or ())
        are_read = True
    except (SystemError, UnicodeDecodeError):
        headers, are_read = (), False
    time_type, time_ms = message.timestamp()
    record = Record(
        topic=str(message.topic()),
        partition=int(message.partition() or 0),
        offset=int(message.offset() or 0),
        epoch=epoch,
        time_ms=0 if time_type == _NO_TIMESTAMP else time_ms,
        key=_bytes_of(message.key()),
        value=_bytes_of(message.value()),
        headers=headers,
    )
    return record, are_read


def _bytes_of(content: str | bytes | None) -> bytes | None:
    return content.encode("utf-8") if isinstance(content, str) else content
