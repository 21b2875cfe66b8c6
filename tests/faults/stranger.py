"""Another member of the workers' group that is none of ours: it joins, takes its share, stores and commits nothing, and leaves."""

import threading
from collections.abc import Mapping
from typing import Any, Literal

from confluent_kafka import Consumer

Protocol = Literal["classic", "consumer"]
"""How a group agrees on who reads what: the old way (cooperative-sticky here), or KIP-848's."""
_POLL_S = 0.05


def protocol_of(protocol: Protocol) -> dict[str, Any]:
    """Return the client properties of a member under that protocol."""
    if protocol == "consumer":
        return {"group.protocol": "consumer"}
    return {"partition.assignment.strategy": "cooperative-sticky", "session.timeout.ms": 10_000}


class Stranger:
    """A member as any other client: what it owns is not the workers'.

    Thread: the test's, until `stay` gives it one of its own; `leave` takes it back.
    """

    def __init__(self, client: Mapping[str, Any], group: str, topic: str, protocol: Protocol = "classic") -> None:
        self.owned: set[int] = set()
        self.taken = 0
        """How many partitions it was given in all."""
        self.turns = 0
        """How often something was given to it or taken from it."""
        own = {"group.id": group, "enable.auto.commit": False}
        self._consumer = Consumer({**client, **own, **protocol_of(protocol)})
        self._consumer.subscribe([topic], on_assign=self._take, on_revoke=self._give, on_lost=self._give)
        self._leaves = threading.Event()
        self._staying: threading.Thread | None = None

    def poll(self) -> None:
        """Stay a member."""
        message = self._consumer.poll(_POLL_S)
        error = None if message is None else message.error()
        assert error is None or error.retriable(), error

    def stay(self) -> None:
        """Begin to poll by itself, until `leave`; what goes wrong meanwhile is no news."""
        self._staying = threading.Thread(target=self._stay, daemon=True)
        self._staying.start()

    def leave(self) -> None:
        """Leave the group."""
        self._leaves.set()
        if self._staying is not None:
            self._staying.join()
        self._consumer.close()

    def _stay(self) -> None:
        while not self._leaves.is_set():
            self._consumer.poll(_POLL_S)

    def _take(self, _consumer: Consumer, places: list[Any]) -> None:
        self.owned |= {place.partition for place in places}
        self.taken += len(places)
        self.turns += 1

    def _give(self, _consumer: Consumer, places: list[Any]) -> None:
        self.owned -= {place.partition for place in places}
        self.turns += 1
