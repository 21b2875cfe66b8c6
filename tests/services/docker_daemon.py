"""Checks for a Docker daemon, so that the tests' servers can be containers."""

import os
import socket
from contextlib import closing

import docker
from docker.errors import DockerException

from tests.services.missing import ServerMissing

_UNIX = "unix://"
_DAEMON = f"{_UNIX}/var/run/docker.sock"
_API = "1.41"
"""Supported since Docker 20.10."""
_PING_S = 5


def check_daemon() -> None:
    """Raise ServerMissing where no daemon answers."""
    address = os.environ.get("DOCKER_HOST", _DAEMON)
    try:
        if address.startswith(_UNIX):
            # Docker's own client leaks its socket when it cannot connect, and the tests turn that warning into an error.
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(address.removeprefix(_UNIX))
        with closing(docker.from_env(version=_API, timeout=_PING_S)) as client:
            client.ping()
    except (DockerException, OSError) as failure:
        raise ServerMissing(f"no Docker daemon answers at {address}") from failure
