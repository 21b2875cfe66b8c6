"""Takes the port before anything else starts, so that a port in use is told at once and in one line.

No library is needed for it; what comes in before the server runs waits in the socket's queue.
"""

import ipaddress
import os
import socket
from dataclasses import dataclass

from worker.settings.status_table import HttpTable

_BACKLOG = 128


class HttpRefused(Exception):
    """The user must change where we listen; the message is one line."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A socket that listens; whoever serves it closes it.

    Thread: any.
    """

    socket: socket.socket
    host: str
    """The address, not the name."""
    port: int

    @property
    def url(self) -> str:
        """Where to ask."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return ipaddress.ip_address(self.host.partition("%")[0]).is_loopback


def listen(table: HttpTable) -> Listening:
    """Listen where the table says. Raises HttpRefused."""
    try:
        family, _, _, _, address = socket.getaddrinfo(table.host, table.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        # it listens at once, because two that are only bound may have the same port
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
        # for what is accepted, too: an answer's body would wait 40 ms for the acknowledgement of its head
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise HttpRefused(f"http.host {table.host!r} is no name or address: {reason}") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        change = "set http.port (0: any free one), or http.enabled to false"
        raise HttpRefused(f"http cannot listen on {table.host} port {table.port}: {reason}; {change}") from None
    host, port, *_ = listener.getsockname()
    return Listening(listener, host, port)
