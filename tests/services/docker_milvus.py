"""A real Milvus in a Docker container: the image and settings of docker-compose.yml, on a loopback port."""

from typing import cast

from docker.errors import DockerException
from testcontainers.core.container import DockerContainer

from tests.services.compose import image_of, read_compose
from tests.services.docker_daemon import check_daemon
from tests.services.milvus import OwnMilvus, await_answer
from tests.services.missing import ServerMissing
from tests.services.ports import free_port

_INSIDE = 19_530


class DockerMilvus(OwnMilvus):
    """One standalone server in its own container.

    Thread: the test's.
    """

    def __init__(self) -> None:
        check_daemon()
        port = free_port()
        self.uri = f"http://127.0.0.1:{port}"
        service = read_compose()["services"]["milvus"]
        self._container = DockerContainer(image_of("milvus"), command=" ".join(service["command"])).with_envs(**service["environment"])
        self._container.with_kwargs(security_opt=["seccomp:unconfined"])
        # `with_bind_ports` accepts no interface, as in `DockerKafka`.
        self._container.ports = cast("dict[str, int | None]", {f"{_INSIDE}/tcp": ("127.0.0.1", port)})
        try:
            self._container.start()
        except DockerException as failure:
            raise ServerMissing(f"Docker could not start {image_of('milvus')}: {failure}") from failure
        try:
            await_answer(self.uri, self._check_alive)
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        container = self._container.get_wrapped_container()
        container.kill()
        container.wait()

    def start(self) -> None:
        self.resume()
        self._container.get_wrapped_container().start()
        await_answer(self.uri, self._check_alive)

    def pause(self) -> None:
        self._container.get_wrapped_container().pause()

    def resume(self) -> None:
        container = self._container.get_wrapped_container()
        container.reload()
        if container.status == "paused":
            container.unpause()

    def close(self) -> None:
        self.resume()
        self._container.stop()

    def _check_alive(self) -> None:
        container = self._container.get_wrapped_container()
        container.reload()
        if container.status == "exited":
            raise RuntimeError(f"Milvus's container ended:\n{container.logs(tail=40).decode(errors='replace')}")
