"""Reads the body of a request, until it exceeds its limit in bytes or in seconds."""

import asyncio
from collections.abc import AsyncIterable, Callable

from worker.serving.request_checks import too_long
from worker.serving.responses import HttpError


async def read_body(
    parts: AsyncIterable[bytes], *, most_bytes: int, most_s: float, hold: Callable[[int], None] = lambda _bytes: None
) -> bytes:
    """Return the body; `hold` is told of every part, and may raise. Raises HttpError."""
    body = bytearray()
    try:
        async with asyncio.timeout(most_s):
            async for part in parts:
                body += part
                hold(len(part))
                if len(body) > most_bytes:
                    raise too_long(most_bytes)
    except TimeoutError:
        raise HttpError(408, "too_slow", f"the body did not arrive within {most_s:g} s", headers={"Connection": "close"}) from None
    return bytes(body)
