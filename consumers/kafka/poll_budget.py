"""How much one poll takes from the client: as many records as are asked for, or little more than `MOST_BYTES` of them.

What the client holds itself is bounded by `kafka.prefetch_bytes`, what has a receipt by the ledger's cap. In between stands what was
polled and has no receipt yet: `consumers.kafka` polls here, so that it is one portion and not so many records of whatever size.
`consumers.kafka.intake` makes records of one portion at a time, too: as objects, headers may take thirty times their bytes.
"""

from collections.abc import Callable, Sequence

from consumers.kafka.message import ClientMessage

MOST_BYTES = 4 * 1024 * 1024
_MOST_AT_ONCE = 64
"""Messages asked for at once; the next ones are asked for when these are seen."""


class PollBudget:
    """A portion is over when it has `MOST_BYTES`. Its last message may be of any size; one call takes no more than seems to fit.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._largest_bytes = 1
        """Of the last portion."""

    def take(self, first: ClientMessage, most_messages: int, more: Callable[[int], Sequence[ClientMessage]]) -> list[ClientMessage]:
        """Return `first` and what `more` gives, called with how many messages it may give at most; it gives none when none is there."""
        taken: list[ClientMessage] = [first]
        taken_bytes = largest_bytes = _size_bytes(first)
        while len(taken) < most_messages and taken_bytes < MOST_BYTES:
            seem_to_fit = (MOST_BYTES - taken_bytes) // max(largest_bytes, self._largest_bytes)
            came = more(max(min(seem_to_fit, _MOST_AT_ONCE, most_messages - len(taken)), 1))
            if not came:
                break
            sizes = [_size_bytes(message) for message in came]
            taken += came
            taken_bytes += sum(sizes)
            largest_bytes = max(largest_bytes, *sizes)
        self._largest_bytes = max(largest_bytes, 1)
        return taken


def _size_bytes(message: ClientMessage) -> int:
    """Return the size without headers, which become objects when they are asked for."""
    return len(message.key() or b"") + len(message.value() or b"")
