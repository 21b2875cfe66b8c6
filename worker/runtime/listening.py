"""Opens the port before anything else starts, so that a port in use is reported at once and in one line.

This loads no server library. Connections that arrive before the server runs wait in the socket's backlog.
"""

import ipaddress
import os
import socket
from dataclasses import dataclass
from typing import Protocol

_BACKLOG = 128


class Address(Protocol):
    """Where to listen: the settings have it.

    Thread: any.
    """

    @property
    def host(self) -> str:
        """A name or an address."""

    @property
    def port(self) -> int:
        """0: any free one."""

    @property
    def may_be_open(self) -> bool:
        """Whether other machines may reach it."""


class HttpRefused(Exception):
    """The address cannot or must not be listened on; the message is one line that names the settings to change."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A socket that listens; the server that uses it closes it."""

    socket: socket.socket
    host: str
    """An IP address, never a name."""
    port: int

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return _is_loopback(self.host)


def listen(table: Address) -> Listening:
    """Listen on the configured address. Raises HttpRefused, also if other machines would reach it without a token."""
    try:
        family, _, _, _, address = socket.getaddrinfo(table.host, table.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        if not (_is_loopback(str(address[0])) or table.may_be_open):
            change = "set http.token, or http.allow_without_token to true"
            raise HttpRefused(f"http would let everyone who reaches {table.host} search the logs; {change}")
        # listen at once: two sockets may be bound to one port, but only one of them can listen
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
        # accepted connections inherit it; without it a body waits 40 ms for the acknowledgement of its head
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


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
