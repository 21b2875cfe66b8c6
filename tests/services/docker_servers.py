"""Kafka, Milvus and Redis in Docker containers: the images that docker-compose.yml names, each behind one loopback port."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, cast

import docker
from docker.errors import DockerException
from testcontainers.core.container import DockerContainer

from tests.services import kafka, milvus
from tests.services.compose import image_of, read_compose
from tests.services.local_kafka import BROKER_SETTINGS
from tests.services.missing import ServerMissing
from tests.services.ports import free_port

_UNIX = "unix://"
_DAEMON = f"{_UNIX}/var/run/docker.sock"
_API = "1.41"
"""Supported since Docker 20.10."""
_PING_S = 5
_STOP_S = 30
_KAFKA, _MILVUS, _REDIS = 9092, 19_530, 6379


class _Container:
    """A container of a service of docker-compose.yml; a restart keeps its port and its files."""

    def __init__(self, service: str, ports: tuple[int, int], environment: Mapping[str, str], command: str = "", **options: Any) -> None:  # noqa: ANN401
        """Begin it; the first of its `ports` is the second one of 127.0.0.1. `options` as Docker takes them. Raises ServerMissing."""
        _check_daemon()
        inside, port = ports
        self._made = DockerContainer(image_of(service), command=command).with_envs(**environment)
        self._made.tmpfs = options.pop("tmpfs", {})
        self._made.with_kwargs(**options)
        # `with_bind_ports` accepts no interface; the Docker client beneath it does.
        self._made.ports = cast("dict[str, int | None]", {f"{inside}/tcp": ("127.0.0.1", port)})
        try:
            self._made.start()
        except DockerException as failure:
            raise ServerMissing(f"Docker could not start {image_of(service)}: {failure}") from failure

    @property
    def inner(self) -> Any:  # noqa: ANN401 - Docker's own class has no types
        """Return it as Docker's client knows it now."""
        inner = self._made.get_wrapped_container()
        inner.reload()
        return inner

    def kill(self) -> None:
        self.inner.kill()
        self.inner.wait()

    def remove(self) -> None:
        self._made.stop()

    def check_alive(self) -> None:
        """Raise RuntimeError if it has ended."""
        inner = self.inner
        if inner.status == "exited":
            raise RuntimeError(f"the container of {inner.image} ended:\n{inner.logs(tail=40).decode(errors='replace')}")


class DockerKafka(kafka.OwnKafka):
    """One broker in its own container; a restart keeps its port and its records."""

    def __init__(self) -> None:
        port = free_port()
        super().__init__(f"127.0.0.1:{port}")
        self._container = _Container("kafka", (_KAFKA, port), _kafka_environment(self.bootstrap))
        try:
            kafka.await_answer(self.bootstrap, self._container.check_alive)
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        if self._container.inner.status == "running":
            self._container.kill()

    def stop(self) -> None:
        if (inner := self._container.inner).status == "running":
            inner.stop(timeout=_STOP_S)
            inner.wait()

    def start(self) -> None:
        if (inner := self._container.inner).status != "running":
            inner.start()
            kafka.await_answer(self.bootstrap, self._container.check_alive)

    def close(self) -> None:
        self._container.remove()


class DockerMilvus(milvus.OwnMilvus):
    """One standalone server in its own container."""

    def __init__(self) -> None:
        port = free_port()
        super().__init__(f"http://127.0.0.1:{port}")
        service = read_compose()["services"]["milvus"]
        command, rights = " ".join(service["command"]), ["seccomp:unconfined"]
        self._container = _Container("milvus", (_MILVUS, port), service["environment"], command, security_opt=rights)
        try:
            milvus.await_answer(self.uri, self._container.check_alive)
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        self._container.kill()

    def start(self) -> None:
        self.resume()
        self._container.inner.start()
        milvus.await_answer(self.uri, self._container.check_alive)

    def pause(self) -> None:
        self._container.inner.pause()

    def resume(self) -> None:
        if (inner := self._container.inner).status == "paused":
            inner.unpause()

    def close(self) -> None:
        self.resume()
        self._container.remove()


@contextmanager
def docker_redis() -> Iterator[int]:
    """Yield the port of an empty Redis (or Valkey) with the settings of docker-compose.yml. Raises ServerMissing."""
    port = free_port()
    service = read_compose()["services"]["redis"]
    rights = {name: service[name] for name in ("user", "read_only", "cap_drop", "security_opt")}
    rights["tmpfs"] = dict(mount.split(":") for mount in service["tmpfs"])
    container = _Container("redis", (_REDIS, port), {}, " ".join(service["command"]).replace("--save ", '--save "" '), **rights)
    try:
        yield port
    finally:
        container.remove()


def _kafka_environment(bootstrap: str) -> dict[str, str]:
    own = {
        "controller.quorum.voters": "1@127.0.0.1:29093",
        "listeners": f"HOST://0.0.0.0:{_KAFKA},CONTROLLER://127.0.0.1:29093",
        "advertised.listeners": f"HOST://{bootstrap}",
        "listener.security.protocol.map": "HOST:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "HOST",
    }
    # The image drops its packaged defaults as soon as one property is set, so the list must be complete.
    named = {f"KAFKA_{name.upper().replace('.', '_')}": value for name, value in (BROKER_SETTINGS | own).items()}
    return named | {"CLUSTER_ID": "dmVjdGFpbC10ZXN0LWthZg"}


def _check_daemon() -> None:
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
