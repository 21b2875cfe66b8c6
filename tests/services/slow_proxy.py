"""A TCP proxy on loopback between a client and a server that a test can make slow, stingy or silent, and then fast again."""

import socket
import threading
from typing import Self

_CHUNK = 65536
_ACCEPT_S = 0.05


class SlowProxy:
    """Passes everything on both ways; while it `hold`s, what the server answered stays here and is counted.

    Thread: any; it has one for new connections and two for each.
    """

    def __init__(self, port: int) -> None:
        """`port`: where the server listens."""
        self._target = ("127.0.0.1", port)
        self._go = threading.Event()
        self._go.set()
        self._trickle_s: float | None = None
        self._most_bytes: int | None = None
        self.held = threading.Event()
        """An answer has come from the server and has not been passed on."""
        self.gone = threading.Event()
        """A client has closed its connection."""
        self._closed = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_ACCEPT_S)
        self.port = int(self._listener.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def passes(self) -> bool:
        """Return whether answers are passed on."""
        return self._go.is_set()

    def hold(self) -> None:
        """Keep back every answer from now on."""
        self.held.clear()
        self.gone.clear()
        self._go.clear()

    def hold_after(self, most_bytes: int) -> None:
        """Pass on so many bytes of answers on each connection made from now on, and then no more."""
        self._most_bytes = most_bytes

    def trickle(self, every_s: float) -> None:
        """Pass answers on a byte at a time."""
        self.gone.clear()
        self._trickle_s = every_s

    def release(self) -> None:
        """Pass on everything at once again."""
        self._trickle_s = self._most_bytes = None
        self._go.set()

    def close(self) -> None:
        self._closed.set()
        self.release()
        for one in list(self._sockets):
            _shut(one)
        for thread in list(self._threads):
            thread.join(10)
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            client.settimeout(None)
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            self._sockets += [client, server]
            for pump in (self._questions, self._answers):
                thread = threading.Thread(target=pump, args=(client, server), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _questions(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while chunk := client.recv(_CHUNK):
                server.sendall(chunk)
        except OSError:
            pass
        finally:
            self.gone.set()
            _shut(server)

    def _answers(self, client: socket.socket, server: socket.socket) -> None:
        try:
            left = self._most_bytes
            while chunk := server.recv(_CHUNK):
                if left is not None:
                    client.sendall(chunk[:left])
                    left = max(left - len(chunk), 0)
                    continue
                if not self._go.is_set():
                    self.held.set()
                    self._go.wait()
                self._pass_on(client, chunk)
        except OSError:
            pass
        finally:
            _shut(client)
            client.close()
            server.close()

    def _pass_on(self, client: socket.socket, chunk: bytes) -> None:
        while chunk and self._trickle_s is not None:
            client.sendall(chunk[:1])
            chunk = chunk[1:]
            self._closed.wait(self._trickle_s)
        client.sendall(chunk)


def _shut(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
