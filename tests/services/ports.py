"""Ports for servers that tests start.

Below the range from which the system takes the ports of outgoing connections: a client that keeps trying a port there while its
server is down can connect to itself, and the server then finds its port taken.
"""

import random
import socket

_LOWEST = 20_000
_HIGHEST = 31_000


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens now."""
    for port in random.SystemRandom().sample(range(_LOWEST, _HIGHEST), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    message = f"no free port between {_LOWEST} and {_HIGHEST}"
    raise RuntimeError(message)
