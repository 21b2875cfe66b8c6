"""A client that reads an answer while it is written, and hangs up in between."""

import http.client
import socket
from collections.abc import Iterator
from typing import Self

from tests.worker.serving.serving import WAIT_S, Serving

_BUFFER_BYTES = 65_536
"""What fits between the two sockets beyond what the server's takes."""


class Reader:
    """Takes no more than the test asks for; the end of its block is the end of the connection.

    Thread: the test's.
    """

    def __init__(self, serving: Serving, path: str, **headers: str) -> None:
        """`headers` with `_` for their `-`."""
        listening = serving.server.listening
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        self._socket.settimeout(WAIT_S)
        self._socket.connect((listening.host, listening.port))
        given = {"Host": "localhost", "Connection": "close"} | {name.replace("_", "-"): content for name, content in headers.items()}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {content}" for name, content in given.items()), "", ""]
        self._socket.sendall("\r\n".join(lines).encode())
        self.response = http.client.HTTPResponse(self._socket)
        self.response.begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self._socket.close()

    def read(self, size: int | None = None) -> bytes:
        """Return the next bytes, as many as there are to come at most."""
        return self.response.read(size)

    def events(self) -> Iterator[dict[str, str]]:
        """Return server-sent events as a browser reads them, comments apart."""
        event: dict[str, str] = {}
        while raw := self.response.readline():
            name, _, content = raw.decode().rstrip("\n").partition(": ")
            if raw.strip():
                event[name] = content
            else:
                yield event
                event = {}
