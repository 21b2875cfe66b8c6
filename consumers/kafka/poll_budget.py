"""Bounds what one poll takes from the client: the number of messages asked for, or little more than `BUDGET_BYTES`.

What the client holds is bounded by `kafka.prefetch_bytes`, what has a receipt by the ledger's cap. This bounds what lies between: records
that were polled and have no receipt yet. `consumers.kafka.intake` turns messages into records by the same budget, because headers as
objects may take thirty times their bytes.
"""

from collections.abc import Callable, Sequence

from consumers.kafka.message import ClientMessage

BUDGET_BYTES = 4 * 1024 * 1024
_MAX_MESSAGES_PER_CALL = 64
"""Messages in one call; their sizes decide how many the next call asks for."""


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
        taken_bytes = largest_bytes = _size_bytes(first)
        while len(taken) < max_messages and taken_bytes < BUDGET_BYTES:
            seem_to_fit = (BUDGET_BYTES - taken_bytes) // max(largest_bytes, self._largest_bytes)
            received = more(max(min(seem_to_fit, _MAX_MESSAGES_PER_CALL, max_messages - len(taken)), 1))
            if not received:
                break
            sizes = [_size_bytes(message) for message in received]
            taken += received
            taken_bytes += sum(sizes)
            largest_bytes = max(largest_bytes, *sizes)
        self._largest_bytes = max(largest_bytes, 1)
        return taken


def _size_bytes(message: ClientMessage) -> int:
    """Return the size without headers, which only become objects when they are read."""
    return len(message.key() or b"") + len(message.value() or b"")
