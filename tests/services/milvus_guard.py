"""First process of its own network and process namespace: runs a Milvus inside, and connects one outside port to it.

`unshare --net --pid --fork --kill-child --mount-proc python milvus_guard.py LISTENER WHEEL FOLDER` (tests.services.wheel_milvus).
Milvus listens on every interface; the only one inside is a loopback that is invisible from outside. LISTENER is the file descriptor of a
socket that listens outside, on 127.0.0.1. A socket stays in the namespace where it was created, so this process can accept from it and
connect inside. When its standard input ends, which even a killed test run causes, it removes FOLDER, and the kernel kills the rest.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading

_SET_FLAGS, _UP = 0x8914, 0x1
_PORT = 19_530
_CHUNK_BYTES = 1 << 16
_STOP_S = 5.0
_SETTINGS = ("log.level=warn", "proxy.timeTickInterval=50", "common.session.ttl=15")
"""A Strong read waits for the next tick (every 200 ms by default). The collections that a killed server had loaded stay assigned to it
until its session expires (30 s by default); a server that is paused for longer than its session exits."""
_RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); import milvus; milvus.main()"


def main() -> None:
    number, wheel, folder = sys.argv[1:]
    with socket.socket() as anything:
        fcntl.ioctl(anything, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))
    options = ["--data", folder, "--proxy-port", str(_PORT)]
    for setting in _SETTINGS:
        options += ["--extra-config", setting]
    wrapper = subprocess.Popen([sys.executable, "-c", _RUN, wheel, *options], stdin=subprocess.DEVNULL)
    told_to_end = threading.Event()
    threading.Thread(target=_accept, args=(socket.socket(fileno=int(number)),), daemon=True).start()
    threading.Thread(target=_end_with, args=(wrapper, told_to_end), daemon=True).start()
    sys.stdin.buffer.read()  # until the other end is closed
    told_to_end.set()
    wrapper.send_signal(signal.SIGINT)  # on SIGTERM the wrapper would leave the server behind
    with contextlib.suppress(subprocess.TimeoutExpired):
        wrapper.wait(_STOP_S)
    if os.getpid() == 1:  # only as the first process of its own namespace
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)  # all others in it, so that FOLDER can be removed
    shutil.rmtree(folder, ignore_errors=True)


def _end_with(wrapper: "subprocess.Popen[bytes]", told_to_end: threading.Event) -> None:
    """Close the outside port if the server ends by itself."""
    code = wrapper.wait()
    if not told_to_end.is_set():
        os._exit(code or 1)


def _accept(listener: socket.socket) -> None:
    while True:
        outside, _ = listener.accept()
        try:
            inside = socket.create_connection(("127.0.0.1", _PORT))
        except OSError:
            outside.close()
            continue
        for source, target in ((outside, inside), (inside, outside)):
            target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while taken := source.recv(_CHUNK_BYTES):
            target.sendall(taken)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main()
