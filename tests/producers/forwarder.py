"""A port that leads to another one: a broker that 'comes' on an address where there was none."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def forwarder(port: int, target: str) -> Iterator[None]:
    """Listen on `port` of 127.0.0.1 and pass every connection on to `target` (host:port)."""
    sockets: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                inner, _ = listener.accept()
            except OSError:
                return
            outer = _connect(target)
            sockets.extend((inner, outer))
            for pair in ((inner, outer), (outer, inner)):
                threads.append(threading.Thread(target=_pump, args=pair))
                threads[-1].start()

    listener = socket.create_server(("127.0.0.1", port))
    accepting = threading.Thread(target=accept, args=(listener,))
    accepting.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for one in sockets:
            with suppress(OSError):  # the other side may have left already
                one.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for one in sockets:
            one.close()


def _connect(target: str) -> socket.socket:
    host, _, port = target.rpartition(":")
    return socket.create_connection((host, int(port)))


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(65_536):
            sink.sendall(chunk)
