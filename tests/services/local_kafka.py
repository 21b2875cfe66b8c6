"""A real Kafka from Maven's jars: one KRaft node that the test run starts, with its own folder and ports on 127.0.0.1.

The jars are fetched once into the project's `.cache/`. Without Java 17 or Maven it raises ServerMissing, which names what is missing.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.services.fetched import fetched
from tests.services.kafka import OwnKafka, await_answer
from tests.services.missing import ServerMissing
from tests.services.ports import free_port
from tests.services.tries import started

VERSION = "4.3.1"
_POM = Path(__file__).with_name("pom.xml")
_CLUSTER = "dmVjdGFpbC10ZXN0LWthZg"
_STOP_S = 30.0
_FETCH_S = 280.0
_JVM = ("-Xms32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
HEAP_MB = 128
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"

BROKER_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    # A missing topic is a fault in production, so it is one here.
    "auto.create.topics.enable": "false",
    # Keep records of any age: tests write fixed timestamps.
    "log.retention.ms": "-1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    # Without this, 128 MB of heap are not enough.
    "log.cleaner.dedupe.buffer.size": "4194304",
    # With this a restart after SIGKILL takes 8 s instead of 13. With less, a short stall would leave topics without their broker.
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
    # No member loses its partitions when the machine stalls for a moment. Tests that kill members use `short_sessions`.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "500",
}


class LocalKafka(OwnKafka):
    """One local broker process; `close` stops it by its process id and removes its folder."""

    def __init__(self, *, port: int | None = None, logins: Mapping[str, str] | None = None, heap_mb: int = HEAP_MB) -> None:
        """`port`: a free one by default. `heap_mb` is enough for some hundred partitions.

        `logins`: passwords by user name; adds a listener at `secured` that requires one of them (SASL, PLAIN).
        """
        super().__init__()
        self.logins = logins or {}
        """Takes effect at the next start."""
        self._heap_mb = heap_mb
        self._classpath = f"{kafka_jars()}/*"
        self._folder = Path(tempfile.mkdtemp(prefix="vectail-kafka-"))
        self._process: subprocess.Popen[bytes] | None = None

        def begin() -> None:
            self.bootstrap = f"127.0.0.1:{free_port() if port is None else port}"
            self.secured = f"127.0.0.1:{free_port()}" if self.logins else ""
            self._controller = f"127.0.0.1:{free_port()}"
            self._format()
            self.start()

        started(begin, self.close)

    def start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._write_settings()
        with self._log().open("ab") as log:
            self._process = self._java("kafka.Kafka", "server.properties", options=(*_JVM, f"-Xmx{self._heap_mb}m"), output=log)
        await_answer(self.bootstrap, self._check_alive)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def close(self) -> None:
        self._end(signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self, sign: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            os.kill(self._process.pid, sign)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def _write_settings(self) -> None:
        clients = ",".join([f"PLAINTEXT://{self.bootstrap}", *([f"SASL_PLAINTEXT://{self.secured}"] if self.logins else [])])
        settings = BROKER_SETTINGS | {
            "controller.quorum.voters": f"1@{self._controller}",
            "listeners": f"{clients},CONTROLLER://{self._controller}",
            "advertised.listeners": clients,
            "log.dirs": str(self._records()),
        }
        if self.logins:
            users = " ".join(f'user_{name}="{password}"' for name, password in self.logins.items())
            settings["listener.security.protocol.map"] = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT"
            settings["sasl.enabled.mechanisms"] = "PLAIN"
            settings["listener.name.sasl_plaintext.plain.sasl.jaas.config"] = f"{_PLAIN} required {users};"
        (self._folder / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def _format(self) -> None:
        shutil.rmtree(self._records(), ignore_errors=True)
        self._write_settings()
        with self._log().open("ab") as log:
            tool = self._java("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", "server.properties", options=_JVM, output=log)
            if tool.wait(_STOP_S) != 0:
                raise RuntimeError(f"Kafka's folder could not be formatted:\n{self._last_words()}")

    def _java(self, main: str, *arguments: str, options: tuple[str, ...], output: IO[bytes]) -> subprocess.Popen[bytes]:
        command = ["java", *options, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", self._classpath, main, *arguments]
        # In its own session: Ctrl-C at the terminal reaches only the tests, which then stop the broker properly.
        return subprocess.Popen(
            command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )

    def _check_alive(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            code = self._process.returncode
            self._process = None
            raise RuntimeError(f"Kafka ended with exit code {code}:\n{self._last_words()}")

    def _records(self) -> Path:
        return self._folder / "records"

    def _log(self) -> Path:
        return self._folder / "server.log"

    def _last_words(self) -> str:
        return self._log().read_text(errors="replace")[-4000:]


def kafka_jars() -> Path:
    """Return the folder of Kafka's jars; the first call fetches them with Maven, one test run at a time."""
    if missing := [tool for tool in ("java", "mvn") if shutil.which(tool) is None]:
        raise ServerMissing(f"{' and '.join(missing)} not installed (Java 17 and Maven start a real one)")
    return fetched(f"kafka-{VERSION}-tools", _fetch)


def _fetch(jars: Path) -> None:
    command = ["mvn", "-q", "-B", "-f", str(_POM), "dependency:copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_S, check=False)
    if done.returncode != 0:
        raise ServerMissing(f"Maven could not fetch Kafka {VERSION}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
