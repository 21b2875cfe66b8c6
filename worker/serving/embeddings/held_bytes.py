"""Bytes that clients make the API hold: bodies until they are answered, and answers until they are read."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from worker.serving.embeddings.embedding_errors import too_busy

_BUSY_RETRY_S: Final = 1.0
PIECE_BYTES: Final = 256 * 1024
"""Of an answer, handed to the connection at once; the next one waits until the client has read most of it."""


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


class PiecedResponse(Response):
    """A body that goes out in pieces, each when the one before is read; `on_end` is called when the last is on its way, or nobody reads."""

    def __init__(self, body: bytes, headers: Mapping[str, str], media_type: str, on_end: Callable[[], object]) -> None:
        super().__init__(body, 200, headers, media_type)
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See Starlette."""
        del scope, receive
        body = memoryview(self.body)
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for end in range(PIECE_BYTES, len(body) + PIECE_BYTES, PIECE_BYTES):
                piece = bytes(body[end - PIECE_BYTES : end])
                await send({"type": "http.response.body", "body": piece, "more_body": end < len(body)})
        finally:
            self._on_end()
