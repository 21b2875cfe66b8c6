"""Chooses the ports of a stack: the well-known ones that docker-compose.yml publishes, where they are free."""

import socket

from tests.services.ports import free_port

WELL_KNOWN = {"kafka": 9092, "redis": 6379, "milvus": 19530, "worker": 8790, "prometheus": 9090}


def choose(*, well_known: bool = True) -> dict[str, int]:
    """Return a port for each part that listens; with `well_known=False` any free ports."""
    chosen: dict[str, int] = {}
    for name, port in WELL_KNOWN.items():
        chosen[name] = port if well_known and is_free(port) else _another(set(chosen.values()))
    return chosen


def is_free(port: int) -> bool:
    """Return whether nothing listens there; recently closed connections do not matter."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _another(taken: set[int]) -> int:
    while (port := free_port()) in taken:
        pass
    return port
