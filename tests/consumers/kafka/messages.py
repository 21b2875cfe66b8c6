"""Messages and errors as the client returns them, for tests of the intake without a client."""

from typing import Any

from consumers.record import Partition


class Error:
    """An error of the client."""

    def __init__(self, name: str, reason: str) -> None:
        self._name, self._reason = name, reason

    def name(self) -> str:
        return self._name

    def str(self) -> str:
        return self._reason

    def fatal(self) -> bool:
        return False


class Message:
    """A record as the client returns it: small except for its headers."""

    def __init__(
        self,
        partition: Partition,
        offset: int,
        headers: int = 0,
        *,
        error: str = "",
        reason: str = "a reason",
        leader_epoch: int | None = None,
    ) -> None:
        self._partition, self._offset, self._headers, self._leader_epoch = partition, offset, headers, leader_epoch
        self._error = Error(error, reason) if error else None

    def topic(self) -> str:
        return self._partition.topic

    def partition(self) -> int:
        return self._partition.partition

    def offset(self) -> int:
        return self._offset

    def leader_epoch(self) -> int | None:
        return self._leader_epoch

    def error(self) -> Any:  # noqa: ANN401 - the client's error
        return self._error

    def timestamp(self) -> tuple[int, int]:
        return 1, 0

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"x"

    def headers(self) -> list[tuple[str, bytes]]:
        return [("h", b"")] * self._headers
