"""Limits that stop a bad deployment from turning a whole topic into dead letters (design: errors).

Each counts faults in a row; a good outcome of the same sort resets the count. What is a record's own fault is not counted: whoever may
write to a log topic could stop the worker with it.
"""

import threading
from typing import Final

MOST_REJECTED: Final = 20
"""Texts in a row that the engine may reject, and, counted apart, lines and templates that the index may refuse."""
MOST_UNDECODABLE: Final = 1_000
"""Records in a row of one topic: not in the `topic.format` that is set for it, or not UTF-8 where `decode.errors` is `strict`. Records that
are too large or have too many entries or chunks do not count."""


class LimitReached(Exception):
    """Too many faults in a row; what is settled is committed, then the process exits 1."""


class FaultLimit:
    """At most `most` faults in a row. Lines of known templates and cached vectors were not checked, so they reset nothing.

    Thread: any.
    """

    def __init__(self, what: str, *, most: int) -> None:
        """`what` names the faults, in the plural, for the message."""
        self._lock = threading.Lock()
        self._what = what
        self._most = most
        self._in_a_row = 0

    def fault(self, reason: str = "") -> None:
        """Count one fault. Raises LimitReached, with the reason of this one, when it is one too many."""
        with self._lock:
            self._in_a_row += 1
            if self._in_a_row > self._most:
                last = f" (the last: {reason})" if reason else ""
                raise LimitReached(
                    f"{self._in_a_row} {self._what} in a row{last}: something is wrong with the settings or the topic, not with the records"
                )

    def good(self) -> None:
        """Reset the count."""
        self._in_a_row = 0


class TopicFaultLimits:
    """At most `most` faults in a row in each topic; one topic neither adds to nor resets the count of another.

    Thread: any.
    """

    def __init__(self, what: str, *, most: int) -> None:
        """`what` names the faults, in the plural, for the message."""
        self._what = what
        self._most = most
        self._limits: dict[str, FaultLimit] = {}

    def fault(self, topic: str, reason: str) -> None:
        """Count one fault of a topic. Raises LimitReached, with the reason of this one, when it is one too many."""
        limit = self._limits.setdefault(topic, FaultLimit(f"{self._what} of topic {topic}", most=self._most))
        limit.fault(reason)

    def good(self, topic: str) -> None:
        """Reset the count of a topic."""
        limit = self._limits.get(topic)
        if limit is not None:
            limit.good()
