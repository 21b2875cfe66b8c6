"""The first process of a network and process namespace of its own: runs a Milvus in there and lets one outside port reach it.

`unshare --net --pid --fork --kill-child --mount-proc python milvus_guard.py LISTENER WHEEL FOLDER` (tests.services.wheel_milvus).
Milvus listens on every interface; in here the only one is a loopback that nobody else sees. LISTENER is the number of a socket
that listens outside, on 127.0.0.1: a socket stays in the namespace where it was made, so who accepts from it and connects in here
is the bridge. Ends when its standard input ends, that is, with the test run, however that dies: FOLDER goes, and the kernel ends the rest.
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
"""A read at Strong consistency waits for the next tick, 200 ms apart by default. What a killed server had loaded stays with it until its
session is over, 30 s by default; one that was paused for longer than its session ends."""
_RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); import milvus; milvus.main()"


def main() -> None:
    """Run as a program."""
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
    sys.stdin.buffer.read()  # until nobody holds the other end
    told_to_end.set()
    wrapper.send_signal(signal.SIGINT)  # to the wrapper: on SIGTERM it would leave the server behind
    with contextlib.suppress(subprocess.TimeoutExpired):
        wrapper.wait(_STOP_S)
    if os.getpid() == 1:  # the first of a namespace of its own, and only then
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)  # all others in it: nobody writes there any more
    shutil.rmtree(folder, ignore_errors=True)


def _end_with(wrapper: "subprocess.Popen[bytes]", told_to_end: threading.Event) -> None:
    """Leave no bridge standing before a server that has ended by itself."""
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
