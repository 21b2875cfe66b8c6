"""Reads replies from the end of a topic, for a client that is about to send a query.

Without a group and without commits: each reader starts at the end and looks for its own correlation id.
"""

import time
from collections.abc import Callable, Mapping

from consumers.groupless.groupless_reader import GrouplessReader


class ReplyReader:
    """After `seek_to_end`, it reads every later reply once.

    Thread: one.
    """

    def __init__(self, bootstrap_servers: str, topic: str, librdkafka: Mapping[str, str]) -> None:
        self._topic = topic
        self._reader = GrouplessReader(bootstrap_servers, librdkafka)
        self._is_assigned = False

    def check_topic(self, topic: str, timeout_s: float) -> None:
        """Check that a topic exists. Raises TopicUnknown if it does not, RangeUnreadable without an answer."""
        self._reader.partitions([topic], timeout_s)

    def seek_to_end(self, timeout_s: float) -> str | None:
        """Start after the newest reply; returns the reason in one line if that cannot be done."""
        if not self._is_assigned:
            reason = self._reader.assign_at_end(self._topic, timeout_s)
            if reason is not None:
                return reason
            self._is_assigned = True
        return None

    def wait_for(self, header: str, wanted: bytes, *, timeout_s: float, give_up: Callable[[], bool]) -> bytes | None:
        """Return the value of the first record whose `header` is `wanted`; None after `timeout_s`, or when `give_up` returns True."""
        until_s = time.monotonic() + timeout_s
        while time.monotonic() < until_s and not give_up():
            record = self._reader.poll(0.1)
            if record is not None and (header, wanted) in record.headers:
                return record.value or b""
        return None

    def close(self) -> None:
        """Close the client."""
        self._reader.close()
