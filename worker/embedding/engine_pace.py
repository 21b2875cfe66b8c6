"""How fast an engine computes: tokens a second, over its last batches. Pure."""

_SHARE = 0.1
"""Of the newest batch: what counts is the last ten or so."""


class EnginePace:
    """The seconds of tokens and batches, each weighted by how recent it is, so that small batches count by their time.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(self) -> None:
        self._tokens = 0.0
        self._seconds = 0.0

    def observe(self, tokens: int, seconds: float) -> None:
        """Learn from a batch; nothing from an empty one."""
        if tokens > 0 and seconds > 0:
            self._tokens += _SHARE * (tokens - self._tokens)
            self._seconds += _SHARE * (seconds - self._seconds)

    def seconds(self, tokens: int) -> float:
        """Return how long so many tokens take; 0 before the first batch."""
        return tokens * self._seconds / self._tokens if self._tokens else 0.0
