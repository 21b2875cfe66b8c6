"""A real Redis for tests, by order of preference: one that the environment names, one in Docker, or a local `redis-server`.

`VECTAIL_TEST_REDIS=redis://HOST:PORT` names a running server, which is never stopped and may keep what tests wrote. Tests that kill the
server, fill it or revoke rights start their own (`LocalRedis`).
"""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.services.docker_servers import docker_redis
from tests.services.missing import ServerMissing, named_address, skip_or_fail
from tests.services.ports import free_port, listens
from tests.services.processes import stop

ADDRESS_VARIABLE = "VECTAIL_TEST_REDIS"
_ANSWER_S = 20.0
_STOP_S = 10.0
_AGAIN_S = 0.02


class LocalRedis:
    """One local `redis-server` process on 127.0.0.1, stopped by its process id."""

    def __init__(self, *options: str, port: int | None = None, sentinel: bool = False) -> None:
        """`options` as on the command line. For a `sentinel`, the first one is its settings file, and `port` repeats the port in it."""
        binary = shutil.which("redis-server")
        if binary is None:
            raise ServerMissing("redis-server is not installed")
        self.port = free_port() if port is None else port
        self._folder = Path(tempfile.mkdtemp(prefix="vectail-redis-"))
        fixed = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(self._folder)]
        self._command = [binary, *([] if sentinel else fixed), *options]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def admin(self, **settings: Any) -> Any:  # noqa: ANN401 - redis-py's own settings, and its answers have no types
        """Return a redis-py client for the test's own requests."""
        return redis.Redis(host="127.0.0.1", port=self.port, protocol=2, retry=Retry(NoBackoff(), 0), **settings)

    def start(self) -> None:
        """Start it on the same port, empty; return when it listens. Does nothing if it runs."""
        if self._process is not None:
            return
        log = self._folder / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(self._command, stdout=output, stderr=subprocess.STDOUT)
        until_s = time.monotonic() + _ANSWER_S
        while not listens(self.port):
            if self._process.poll() is not None or time.monotonic() > until_s:
                self.kill()
                raise RuntimeError(f"redis-server on port {self.port} does not answer:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(_AGAIN_S)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_STOP_S)
            self._process = None

    def pause(self) -> None:
        """Stop it as a frozen machine would: it listens and does not answer."""
        assert self._process is not None
        stop(self._process.pid)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def named_redis() -> Iterator[str]:
    """Yield the URL of the Redis that the environment names. Raises ServerMissing."""
    address = named_address(ADDRESS_VARIABLE)
    _await_answer(address)
    yield address


@contextmanager
def in_docker() -> Iterator[str]:
    """Yield the URL of a new one in Docker. Raises ServerMissing."""
    with docker_redis() as port:
        url = f"redis://127.0.0.1:{port}"
        _await_answer(url)
        yield url


@contextmanager
def as_process() -> Iterator[str]:
    """Yield the URL of a new local process. Raises ServerMissing."""
    with LocalRedis() as server:
        yield server.url


def local_redis(*options: str, **more: Any) -> LocalRedis:  # noqa: ANN401 - as LocalRedis takes them
    """Start a server for one test; skip or fail the test if `redis-server` is missing."""
    try:
        return LocalRedis(*options, **more)
    except ServerMissing as missing:
        return skip_or_fail(f"no Redis: {missing}")


def run_cli(port: int, *words: str) -> str:
    """Run `redis-cli` and return what it printed."""
    command: Sequence[str] = ("redis-cli", "-p", str(port), *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_S, check=True).stdout


def _await_answer(url: str) -> None:
    until_s = time.monotonic() + _ANSWER_S
    while True:
        try:
            redis.Redis.from_url(url).ping()
        except redis.ConnectionError:
            if time.monotonic() > until_s:
                raise
            time.sleep(_AGAIN_S)
        else:
            return
