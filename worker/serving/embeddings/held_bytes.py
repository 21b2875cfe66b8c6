"""Bytes that clients make the API hold: bodies until they are answered, and answers until they are read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from worker.serving.embeddings.embedding_errors import too_busy

_BUSY_RETRY_S: Final = 1.0


class HeldBytes:
    """Never more than `most_bytes`, but for the first request, which is taken whatever it needs.

    Thread: the event loop.
    """

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        self._most_bytes = most_bytes

    @contextmanager
    def holding(self) -> Iterator[Callable[[int], None]]:
        """Yield what adds to the bytes of one request, and raises EmbeddingRefused; all of them are given back at the end."""
        held = 0

        def hold(more_bytes: int) -> None:
            nonlocal held
            held += more_bytes
            self.bytes += more_bytes
            if self.bytes > self._most_bytes and self.bytes > held:
                raise too_busy(_BUSY_RETRY_S)

        try:
            yield hold
        finally:
            self.bytes -= held
