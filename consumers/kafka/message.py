"""How a message of the client becomes a Record; headers that cannot be read are left out, and the record goes on.

`consumers.kafka` and `consumers.groupless.reader` make every record here. The client's library is not imported: a message is what has
its methods.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from consumers.record import Header, Partition, Record

_NO_TIMESTAMP = 0
"""The client's TIMESTAMP_NOT_AVAILABLE."""


class ClientMessage(Protocol):
    """What is used of the client's message."""

    def topic(self) -> str | None:
        """Return the topic."""

    def partition(self) -> int | None:
        """Return the partition."""

    def offset(self) -> int | None:
        """Return where it is."""

    def error(self) -> Any:  # noqa: ANN401 - the client's error
        """Return what it says instead of being a record; None if it is one."""

    def timestamp(self) -> tuple[int, int]:
        """Return the kind of timestamp, and milliseconds."""

    def key(self) -> str | bytes | None:
        """Return the key."""

    def value(self) -> str | bytes | None:
        """Return the value."""

    def headers(self) -> Any:  # noqa: ANN401 - the client's list of pairs
        """Return the headers; raises SystemError when a name is not UTF-8, and must not be called again then."""


def partition_of(message: ClientMessage) -> Partition:
    """Return where a message came from."""
    return Partition(str(message.topic()), int(message.partition() or 0))


def record_of(message: ClientMessage, epochs: Mapping[str, str]) -> Record:
    """Make a Record of a message without an error; `epochs` is by topic."""
    topic = str(message.topic())
    return make_record(message, epochs[topic])[0]


def make_record(message: ClientMessage, epoch: str) -> tuple[Record, bool]:
    """Make a Record of a message without an error; also whether its headers could be read. If not, it has none.

    One name that is not UTF-8 takes all headers of its message along: the client then holds a null pointer among them (2.16), and to
    ask it a second time would end the process.
    """
    try:
        headers: tuple[Header, ...] = tuple((str(name), _bytes_of(content)) for name, content in message.headers() or ())
        are_read = True
    except (SystemError, UnicodeDecodeError):
        headers, are_read = (), False
    kind, time_ms = message.timestamp()
    record = Record(
        topic=str(message.topic()),
        partition=int(message.partition() or 0),
        offset=int(message.offset() or 0),
        epoch=epoch,
        time_ms=0 if kind == _NO_TIMESTAMP else time_ms,
        key=_bytes_of(message.key()),
        value=_bytes_of(message.value()),
        headers=headers,
    )
    return record, are_read


def _bytes_of(content: str | bytes | None) -> bytes | None:
    return content.encode("utf-8") if isinstance(content, str) else content
