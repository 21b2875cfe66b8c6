"""Ports for servers that tests start.

They lie below the system's range for outgoing connections: a client that keeps trying a port in that range while its server is down can
connect to itself, and the server then finds its port taken. Parallel test processes draw from separate ranges, and no process draws a
port twice, because its first user may not have bound it yet.
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
    """Return a port of 127.0.0.1 on which nothing listens."""
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


def listens(port: int) -> bool:
    """Return whether a server on a port of 127.0.0.1 takes connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
