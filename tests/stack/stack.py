"""The parts of a stack in start order: each depends on those before it."""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.model_fixture import CACHE
from tests.services.local_kafka import LocalKafka
from tests.services.redis import LocalRedis
from tests.services.wheel_milvus import WheelMilvus
from tests.stack.look import Readiness, answers_well, readiness
from tests.stack.parts import Part, ProgramPart, ServerPart, Unstartable, run_once
from tests.stack.place import Place
from tests.stack.prometheus import command
from worker.cli.toml import toml_of

_PARTITIONS = 6
_DRAIN_S = 10.0
_CANARY_S = 10.0
_READY_S = 240.0
"""Allows for a busy machine, and for preparing the model the first time."""
_TOPICS_S = 120.0
_LOOK_AGAIN_S = 0.2
_VECTAIL = (sys.executable, "-m", "worker")


class Stack:
    """All parts; they stop in reverse start order.

    Thread: the supervisor's.
    """

    def __init__(self, place: Place, ports: Mapping[str, int], rate: float) -> None:
        self._place = place
        self._rate = rate
        self._worker_at = f"127.0.0.1:{ports['worker']}"
        parts: list[Part] = [
            ServerPart("kafka", ports["kafka"], lambda port: LocalKafka(port=port)),
            ServerPart("redis", ports["redis"], lambda port: LocalRedis("--maxmemory", "256mb", port=port)),
            ServerPart("milvus", ports["milvus"], lambda port: WheelMilvus(port=port)),
            self._worker(),
            self._prometheus(f"127.0.0.1:{ports['prometheus']}"),
            self._feed(),
        ]
        self.parts = {part.name: part for part in parts}

    def start(self, say: Callable[[str], None]) -> None:
        """Start all parts; return when the worker is ready. Raises Unstartable, ServerMissing."""
        steps = {"kafka": self._make_topics, "worker": self._await_ready}
        self._write_settings()
        for name, part in self.parts.items():
            say(f"starting {name}")
            part.start()
            if name in steps:
                steps[name]()

    def close(self, say: Callable[[str], None]) -> None:
        """Stop all parts that run."""
        for name, part in reversed(self.parts.items()):
            say(f"ending {name}")
            part.close()

    def _write_settings(self) -> None:
        at = {name: part.address for name, part in self.parts.items()}
        host, _, port = self._worker_at.rpartition(":")
        settings = {
            "kafka": {"bootstrap_servers": at["kafka"]},
            "redis": {"url": f"redis://{at['redis']}/0"},
            "milvus": {"uri": f"http://{at['milvus']}"},
            "model": {"cache": str(CACHE)},
            # One thread, because the servers need the rest of a small machine.
            "engine": {"name": "llama", "threads": 1},
            "http": {"host": host, "port": int(port)},
            "status": {"canary_interval_s": _CANARY_S},
            "limits": {"drain_timeout_s": _DRAIN_S},
        }
        self._place.settings_file.write_text(f"{toml_of(settings)}\n", encoding="utf-8")

    def _make_topics(self) -> None:
        words = ("topics", "init", "--partitions", str(_PARTITIONS), "--config", str(self._place.settings_file))
        run_once("vectail topics init", (*_VECTAIL, *words), _TOPICS_S)

    def _worker(self) -> Part:
        return ProgramPart(
            "worker",
            self._worker_at,
            lambda: (*_VECTAIL, "run", "--config", str(self._place.settings_file)),
            self._place.log("worker"),
            answers=lambda: answers_well(self._worker_at, "/healthz"),
            within_s=_READY_S,
            stop_s=3 * _DRAIN_S,
        )

    def _await_ready(self) -> None:
        until_s = time.monotonic() + _READY_S
        said: Readiness | None = None
        while said is None or said.status != "ready":
            if time.monotonic() > until_s:
                what = "nothing" if said is None else ", ".join(f"{name}: {why}" for name, why in said.wrong().items())
                raise Unstartable(f"worker was not ready within {_READY_S:.0f} s; its /readyz says: {what}")
            if not self.parts["worker"].lives:
                raise Unstartable(f"worker ended before it was ready: {_end_of(self._place.log('worker'))}")
            time.sleep(_LOOK_AGAIN_S)
            said = readiness(self._worker_at)

    def _prometheus(self, address: str) -> Part:
        return ProgramPart(
            "prometheus",
            address,
            lambda: command(self._place.folder, address, {"vectail": self._worker_at, "prometheus": address}),
            self._place.log("prometheus"),
            answers=lambda: answers_well(address, "/-/ready"),
        )

    def _feed(self) -> Part:
        words = (*_VECTAIL, "feed", "--synthetic", "--rate", str(self._rate), "--config", str(self._place.settings_file))
        return ProgramPart("feed", "", lambda: words, self._place.log("feed"))


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[-1] if lines else "it said nothing"
