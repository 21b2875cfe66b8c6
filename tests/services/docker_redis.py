"""A real Redis (or Valkey) in a Docker container: the image and settings of docker-compose.yml, on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from docker.errors import DockerException
from testcontainers.core.container import DockerContainer

from tests.services.compose import image_of, read_compose
from tests.services.docker_daemon import check_daemon
from tests.services.missing import ServerMissing
from tests.services.ports import free_port

_INSIDE = 6379


@contextmanager
def docker_redis() -> Iterator[int]:
    """Yield the port of an empty server, and remove its container afterwards. Raises ServerMissing."""
    check_daemon()
    port = free_port()
    service = read_compose()["services"]["redis"]
    container = DockerContainer(image_of("redis"), command=" ".join(service["command"]).replace("--save ", '--save "" '))
    container.with_kwargs(
        user=service["user"],
        read_only=service["read_only"],
        cap_drop=service["cap_drop"],
        security_opt=service["security_opt"],
        tmpfs=dict(mount.split(":") for mount in service["tmpfs"]),
    )
    # `with_bind_ports` accepts no interface, as in `DockerKafka`.
    container.ports = cast("dict[str, int | None]", {f"{_INSIDE}/tcp": ("127.0.0.1", port)})
    try:
        container.start()
    except DockerException as failure:
        raise ServerMissing(f"Docker could not start {image_of('redis')}: {failure}") from failure
    try:
        yield port
    finally:
        container.stop()
