"""Ports for servers that tests start.

Below the range from which the system takes the ports of outgoing connections: a client that keeps trying a port there while its
server is down can connect to itself, and the server then finds its port taken. Test processes that run side by side draw from ranges
of their own, and none draws a port twice: it may not be taken yet.
"""

import os
import random
import socket

_LOWEST = 20_000
_PORTS = 11_000
_RANGES = 4
_RANGE = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _RANGES
_OURS = range(_LOWEST + _RANGE * _PORTS // _RANGES, _LOWEST + (_RANGE + 1) * _PORTS // _RANGES)
_drawn: set[int] = set()


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens now."""
    for port in random.SystemRandom().sample([port for port in _OURS if port not in _drawn], 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _drawn.add(port)
            return port
    message = f"no free port in {_OURS}"
    raise RuntimeError(message)
