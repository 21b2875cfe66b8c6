"""Messages and errors as the client returns them, for tests of the intake without a client."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from consumers.record import Partition, Record, Records


class Error:
    def __init__(self, name: str, reason: str) -> None:
        self._name, self._reason = name, reason

    def name(self) -> str:
        return self._name

    def str(self) -> str:
        return self._reason

    def fatal(self) -> bool:
        return False


class Content(NamedTuple):
    """What a record holds besides headers."""

    value: bytes | None = b"x"
    key: bytes | None = None
    time: tuple[int, int] = (1, 0)
    has_bad_header: bool = False


_USUAL = Content()


class Message:
    """A record as the client returns it: small except for its headers."""

    def __init__(
        self,
        partition: Partition,
        offset: int | None,
        headers: int = 0,
        *,
        error: str = "",
        reason: str = "a reason",
        leader_epoch: int | None = None,
        content: Content = _USUAL,
    ) -> None:
        self._partition, self._offset, self._headers, self._leader_epoch = partition, offset, headers, leader_epoch
        self._error = Error(error, reason) if error else None
        self._value, self._key, self._time, self._has_bad_header = content
        self._is_read = False

    def __len__(self) -> int:
        return len(self._value or b"")

    def topic(self) -> str:
        return "".join([*self._partition.topic])  # as the client: a string of its own for each message

    def partition(self) -> int:
        return self._partition.partition

    def offset(self) -> int | None:
        return self._offset

    def leader_epoch(self) -> int | None:
        return self._leader_epoch

    def error(self) -> Any:  # noqa: ANN401 - the client's error
        return self._error

    def timestamp(self) -> tuple[int, int]:
        return self._time

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes]] | None:
        if self._has_bad_header:
            assert not self._is_read, "reading them a second time crashes the process"
            self._is_read = True
            raise SystemError
        return [("h", b"")] * self._headers or None


def each_of(fetched: Sequence[Records]) -> list[Record]:
    return [records.record(row) for records in fetched for row in range(records.size)]
