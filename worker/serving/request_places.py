"""A bounded number of places for requests. A request that finds none is refused at once and told when to try again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from worker.serving.responses import HttpError, retry_after


class Places:
    """Places that requests hold while they are in work.

    Thread: the event loop.
    """

    def __init__(self, most: int, taken: str, *, retry_s: int) -> None:
        """`taken` says what holds the places, such as "exports are being read"."""
        self._free = most
        self._refusal = f"{most} {taken} already"
        self._retry_s = retry_s

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a place. Raises HttpError."""
        if not self._free:
            raise HttpError(429, "too_many", self._refusal, headers=retry_after(self._retry_s))
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1
