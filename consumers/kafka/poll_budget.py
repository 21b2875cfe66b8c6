"""Bounds what one poll takes from the client: the number of messages asked for, or little more than `BUDGET_BYTES`.

What the client holds is bounded by `kafka.prefetch_bytes`, what has a receipt by the ledger's cap. This bounds what lies between: records
that were polled and have no receipt yet. `consumers.kafka.waiting` turns messages into records by the same budget, because headers as
objects may take thirty times their bytes.
"""

from collections.abc import Callable, Sequence

import numpy as np

from consumers.kafka.message import ClientMessage

BUDGET_BYTES = 8 * 1024 * 1024
"""A batch of 8,000 records of 770 bytes, which is what a Kubernetes shipper writes for a line, and a quarter more."""
_FIRST_CALL_MESSAGES = 64
"""Messages in the first call; each later one asks at most for as many as there are already, so that their sizes are known."""


class PollBudget:
    """A poll ends once it has `BUDGET_BYTES`; only its last call may exceed them, and that asks for no more than seems to fit.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._largest_bytes = 1
        """The largest message of the last poll."""

    def collect_messages(
        self, first: ClientMessage, max_messages: int, more: Callable[[int], Sequence[ClientMessage]]
    ) -> list[ClientMessage]:
        """Return `first` and what `more` returns; `more` takes the most messages it may return, and returns none when none are there."""
        taken: list[ClientMessage] = [first]
        taken_bytes, largest_bytes = _size_bytes(taken)
        while len(taken) < max_messages and taken_bytes < BUDGET_BYTES:
            seem_to_fit = (BUDGET_BYTES - taken_bytes) // max(largest_bytes, self._largest_bytes)
            asked = min(seem_to_fit, max(len(taken), _FIRST_CALL_MESSAGES), max_messages - len(taken))
            received = more(max(asked, 1))
            if not received:
                break
            received_bytes, largest_received_bytes = _size_bytes(received)
            taken += received
            taken_bytes += received_bytes
            largest_bytes = max(largest_bytes, largest_received_bytes)
        self._largest_bytes = max(largest_bytes, 1)
        return taken


def _size_bytes(messages: Sequence[ClientMessage]) -> tuple[int, int]:
    """Return the size of all, and of the largest: without headers, which only become objects when they are read."""
    sizes = np.fromiter(map(len, messages), np.int64, len(messages))
    keys = [message.key() for message in messages]
    if keys.count(None) < len(keys):
        sizes += np.fromiter([len(key or b"") for key in keys], np.int64, len(keys))
    return int(sizes.sum()), int(sizes.max())
