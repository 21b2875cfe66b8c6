"""A foreign member of the workers' group: it joins, takes its share, stores and commits nothing, and leaves."""

import threading
from collections.abc import Mapping
from typing import Any, Literal

from confluent_kafka import Consumer

Protocol = Literal["classic", "consumer"]
"""The group protocol: classic (cooperative-sticky here), or KIP-848's."""
_POLL_S = 0.05


def protocol_of(protocol: Protocol) -> dict[str, Any]:
    """Return the client properties of a member under this protocol."""
    if protocol == "consumer":
        return {"group.protocol": "consumer"}
    return {"partition.assignment.strategy": "cooperative-sticky", "session.timeout.ms": 10_000}


class Stranger:
    """A member with a plain client; the workers do not get its partitions.

    Thread: the test's, until `stay` gives it one of its own; `leave` takes it back.
    """

    def __init__(self, client: Mapping[str, Any], group: str, topic: str, protocol: Protocol = "classic") -> None:
        self.owned: set[int] = set()
        self.taken = 0
        """Partitions that it was assigned in all."""
        self.turns = 0
        """How often its assignment changed."""
        own = {"group.id": group, "enable.auto.commit": False}
        self._consumer = Consumer({**client, **own, **protocol_of(protocol)})
        self._consumer.subscribe([topic], on_assign=self._take, on_revoke=self._give, on_lost=self._give)
        self._leaves = threading.Event()
        self._staying: threading.Thread | None = None

    def poll(self) -> None:
        message = self._consumer.poll(_POLL_S)
        error = None if message is None else message.error()
        assert error is None or error.retriable(), error

    def stay(self) -> None:
        """Poll on a thread of its own until `leave`; errors meanwhile are ignored."""
        self._staying = threading.Thread(target=self._stay, daemon=True)
        self._staying.start()

    def leave(self) -> None:
        self._leaves.set()
        if self._staying is not None:
            self._staying.join()
        self._consumer.close()

    def _stay(self) -> None:
        while not self._leaves.is_set():
            self._consumer.poll(_POLL_S)

    def _take(self, _consumer: Consumer, places: list[Any]) -> None:
        self.turns += 1  # first: whoever sees what is owned sees the turn, too
        self.owned |= {place.partition for place in places}
        self.taken += len(places)

    def _give(self, _consumer: Consumer, places: list[Any]) -> None:
        self.turns += 1
        self.owned -= {place.partition for place in places}
