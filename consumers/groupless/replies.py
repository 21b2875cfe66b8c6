"""Reads replies from the end of a topic, for a client that has just asked something.

No group and no commit: each reader stands on its own, at the end, and looks for its correlation id.
"""

import time
from collections.abc import Callable, Mapping

from consumers.groupless.reader import GrouplessReader


class ReplyReader:
    """After `seek_to_end`, every later reply is seen once.

    Thread: one.
    """

    def __init__(self, bootstrap_servers: str, topic: str, librdkafka: Mapping[str, str]) -> None:
        self._topic = topic
        self._reader = GrouplessReader(bootstrap_servers, librdkafka)
        self._is_placed = False

    def look_for(self, topic: str, timeout_s: float) -> None:
        """Ask Kafka whether it has a topic. Raises TopicUnknown if it answers no, RangeUnreadable if it does not answer."""
        self._reader.partitions(topic, timeout_s)

    def seek_to_end(self, timeout_s: float) -> str | None:
        """Stand behind the newest reply; the reason in one line if that cannot be done."""
        if not self._is_placed:
            reason = self._reader.assign_at_end(self._topic, timeout_s)
            if reason is not None:
                return reason
            self._is_placed = True
        return None

    def wait_for(self, header: str, wanted: bytes, *, timeout_s: float, give_up: Callable[[], bool]) -> bytes | None:
        """Return the value of the first record whose `header` is `wanted`; None when time is up or `give_up` says so."""
        until_s = time.monotonic() + timeout_s
        while time.monotonic() < until_s and not give_up():
            message = self._reader.poll(0.1)
            if message is not None and (header, wanted) in message.headers:
                return message.value or b""
        return None

    def close(self) -> None:
        """Close the client."""
        self._reader.close()
