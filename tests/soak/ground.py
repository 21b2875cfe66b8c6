"""The environment of a soak: real servers, each behind a proxy, and the faults that can be injected."""

import contextlib
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults.scene import Scene
from tests.faults.stranger import Stranger
from tests.faults.topics import Topics
from tests.model_fixture import CACHE
from tests.services.kafka import OwnKafka
from tests.services.proxy import Proxy, kafka_proxy
from tests.services.redis import LocalRedis
from tests.services.shared import own_kafka, own_milvus
from tests.soak.plan import LONG_AWAY
from worker.embedding.model.prepared import prepare_model


class Ground:
    """Everything outside the workers, with faults that can be switched on and off.

    Thread: the soak's.
    """

    def __init__(self, scene: Scene, kafka: OwnKafka, proxies: dict[str, Proxy]) -> None:
        """`proxies`: one each for kafka, milvus and redis."""
        self.scene = scene
        self._kafka = kafka
        self._proxies = proxies
        self._members: list[Stranger] = []

    def settings(self) -> dict[str, str]:
        """Return the settings of a worker: every address is a proxy's."""
        at = {name: f"127.0.0.1:{proxy.port}" for name, proxy in self._proxies.items()}
        return {
            "kafka__bootstrap_servers": at["kafka"],
            "milvus__uri": f"http://{at['milvus']}",
            "redis__url": f"redis://{at['redis']}",
        }

    def begin(self, kind: str) -> None:
        """Start a fault; a momentary one is over when this returns."""
        server, _, how = kind.partition(" ")
        ways: dict[str, Callable[[], None]] = {
            LONG_AWAY: self._proxies["milvus"].refuse,
            "kafka restart": self._restart_kafka,
            "member": self._join,
        }
        if kind in ways:
            ways[kind]()
        elif how == "silent":
            self._proxies[server].silence()
        else:
            self._proxies[server].refuse()

    def end(self, kind: str) -> None:
        """End a fault."""
        if kind == "member":
            self._members.pop().leave()
        elif kind != "kafka restart":
            self._proxies[kind.partition(" ")[0]].release()

    def close(self) -> None:
        """End all faults for good."""
        while self._members:
            self._members.pop().leave()
        for proxy in self._proxies.values():
            proxy.release()

    def _restart_kafka(self) -> None:
        self._kafka.stop()
        self._kafka.start()

    def _join(self) -> None:
        self._members.append(member := self.scene.topics.stranger())
        member.stay()


@contextlib.contextmanager
def open_ground() -> Iterator[Ground]:
    """Start the servers; skip, as a test would, if one is unavailable."""
    with contextlib.ExitStack() as stack:
        model = prepare_model(None, CACHE)
        kafka, milvus = stack.enter_context(own_kafka()), stack.enter_context(own_milvus())
        redis = LocalRedis("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lfu")
        stack.callback(redis.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vectail-soak-")))
        ports = {"milvus": int(milvus.uri.rpartition(":")[2]), "redis": redis.port}
        proxies = {name: stack.enter_context(Proxy(port)) for name, port in ports.items()}
        proxies["kafka"] = stack.enter_context(kafka_proxy(kafka.bootstrap))
        scene = Scene(Topics(kafka, lambda stem: f"{stem}-{uuid.uuid4().hex[:12]}"), folder, model, milvus)
        scene.members_die()
        stack.callback(scene.close)
        ground = Ground(scene, kafka, proxies)
        stack.callback(ground.close)
        yield ground
