"""A real Kafka in a Docker container: the image that docker-compose.yml names, on a fixed loopback port."""

from typing import cast

from docker.errors import DockerException
from testcontainers.core.container import DockerContainer

from tests.services.compose import image_of
from tests.services.docker_daemon import check_daemon
from tests.services.kafka import OwnKafka, await_answer
from tests.services.missing import ServerMissing
from tests.services.ports import free_port

_INSIDE = 9092
_STOP_S = 30


class DockerKafka(OwnKafka):
    """One broker in its own container; a restart keeps its port and its records.

    Thread: the test's.
    """

    def __init__(self) -> None:
        check_daemon()
        self._port = free_port()
        self._running = False
        super().__init__(f"127.0.0.1:{self._port}")
        self._container = DockerContainer(image_of("kafka")).with_envs(**_settings(self.bootstrap))
        # `with_bind_ports` accepts no interface; the Docker client beneath it does.
        self._container.ports = cast("dict[str, int | None]", {f"{_INSIDE}/tcp": ("127.0.0.1", self._port)})
        try:
            self._container.start()
        except DockerException as failure:
            raise ServerMissing(f"Docker could not start {image_of('kafka')}: {failure}") from failure
        self._running = True
        try:
            await_answer(self.bootstrap, self._check_alive)
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        if self._running:
            self._container.get_wrapped_container().kill()
            self._gone()

    def stop(self) -> None:
        if self._running:
            self._container.get_wrapped_container().stop(timeout=_STOP_S)
            self._gone()

    def start(self) -> None:
        if not self._running:
            self._container.get_wrapped_container().start()
            self._running = True
            await_answer(self.bootstrap, self._check_alive)

    def close(self) -> None:
        self._container.stop()

    def _gone(self) -> None:
        self._container.get_wrapped_container().wait()
        self._running = False

    def _check_alive(self) -> None:
        container = self._container.get_wrapped_container()
        container.reload()
        if container.status == "exited":
            raise RuntimeError(f"Kafka's container ended:\n{container.logs(tail=40).decode(errors='replace')}")


def _settings(bootstrap: str) -> dict[str, str]:
    # The image drops its packaged defaults as soon as one property is set, so the list must be complete.
    return {
        "CLUSTER_ID": "dmVjdGFpbC10ZXN0LWthZg",
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_LISTENERS": f"HOST://0.0.0.0:{_INSIDE},CONTROLLER://127.0.0.1:29093",
        "KAFKA_ADVERTISED_LISTENERS": f"HOST://{bootstrap}",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "HOST:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "HOST",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@127.0.0.1:29093",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
        "KAFKA_LOG_RETENTION_MS": "-1",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_BROKER_SESSION_TIMEOUT_MS": "6000",
        "KAFKA_BROKER_HEARTBEAT_INTERVAL_MS": "500",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS": "1000",
        "KAFKA_GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS": "1000",
        "KAFKA_GROUP_CONSUMER_SESSION_TIMEOUT_MS": "10000",
        "KAFKA_GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS": "200",
        "KAFKA_GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS": "500",
    }
