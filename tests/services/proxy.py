"""A TCP proxy on loopback between clients and a server; a test can make it fail in many ways, and recover.

`Proxy(port)` forwards everything both ways. `kafka_proxy(bootstrap)` also keeps a broker's clients on the proxy. A fault applies to open
and to new connections, from the return of its call until `release`.
"""

import asyncio
import socket
import struct
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

from tests.services.damage import Damage
from tests.services.ports import free_port

R = TypeVar("R")
Way = Literal["questions", "answers"]
"""From the client to the server, or back."""
BOTH: tuple[Way, Way] = ("questions", "answers")

CHUNK_BYTES = 65_536
_MOST_WAITING = 16
"""Chunks read ahead while an earlier one is delayed or held."""
_DONE_S = 10.0
_REST_S = 0.05
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(eq=False, slots=True)
class _Link:
    """A client's connection, the matching one to the server, and how many bytes of answers may still pass (None: all)."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    left_bytes: int | None


class Proxy(AbstractContextManager["Proxy"]):
    """Bytes arrive unchanged and in order, except for the faults that the test has switched on.

    Thread: any; a loop on a thread of its own does the work.
    """

    def __init__(self, port: int, *, at: int = 0, rename: tuple[bytes, bytes] = (b"", b"")) -> None:
        """`port` is the server's, `at` the proxy's (0: any). In answers, `rename[0]` is replaced by `rename[1]`, which is as long."""
        self.held = threading.Event()
        """Set when bytes have arrived and are held back."""
        self.gone = threading.Event()
        """Set when a client has closed its connection."""
        self.accepted = 0
        """Return the number of connections so far."""
        self.passed_bytes: Counter[Way] = Counter()
        self._target, self._rename = port, rename
        self._links: set[_Link] = set()
        self._served: set[asyncio.Task[None]] = set()
        self._clients: list[asyncio.StreamWriter] = []
        """All that have been accepted."""
        self._listener: asyncio.Server | None = None
        self._damage: dict[Way, Damage] = {way: Damage() for way in BOTH}
        self._forget_faults()
        self._loop = asyncio.new_event_loop()
        self._changed = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        try:
            self.port = self._on_loop(lambda: self._listen(at))
        except OSError:
            self.close()
            raise

    def _forget_faults(self) -> None:
        self._held_ways: set[Way] = set()
        self._most_bytes: int | None = None
        self._delay_s: dict[Way, float] = {}
        self._trickle_s = 0.0
        for damage in self._damage.values():
            damage.end()

    @property
    def passes(self) -> bool:
        return "answers" not in self._held_ways

    @property
    def spoiled(self) -> int:
        """Return the number of bytes with a flipped bit, both ways together."""
        return sum(damage.spoiled for damage in self._damage.values())

    def hold(self, *ways: Way) -> None:
        """Hold back the bytes of one direction (default: answers); `release` forwards them."""
        self.held.clear()
        self.gone.clear()
        self._held_ways |= set(ways or ("answers",))

    def silence(self) -> None:
        """Be a black hole: accept connections and forward nothing."""
        self.hold(*BOTH)

    def hold_after(self, most_bytes: int) -> None:
        """On each new connection, forward this many bytes of answers and never the rest."""
        self._most_bytes = most_bytes

    def delay(self, seconds: float, *ways: Way) -> None:
        """Let each chunk arrive this much later, in one direction or (default) both."""
        self._delay_s |= dict.fromkeys(ways or BOTH, seconds)

    def trickle(self, every_s: float) -> None:
        """Forward answers one byte at a time."""
        self.gone.clear()
        self._trickle_s = every_s

    def flip(self, share: float, way: Way = "answers", *, seed: int = 0) -> None:
        """Flip one bit in this share of the bytes; the seed chooses them."""
        self._damage[way].flip(share, seed)

    def spoil(self, marker: bytes, way: Way = "answers", *, times: int = 1) -> None:
        """Flip one bit of `marker` the next `times` times that it passes in one piece."""
        self._damage[way].spoil(marker, times)

    def reset(self) -> None:
        """Reset every open connection on both sides; accept new ones."""
        self._on_loop(self._reset_links)

    def refuse(self) -> None:
        """Stop listening, so that new connections are refused, and close every open one."""
        self._on_loop(self._stop_listening)
        self._on_loop(self._reset_links)

    def release(self) -> None:
        """End every fault: forward what was held, listen on the same port again."""
        self._forget_faults()
        self._on_loop(self._wake)

    def close(self) -> None:
        """Close every connection and end the thread. Safe to call twice."""
        if self._loop.is_closed():
            return
        self._on_loop(self._end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_DONE_S)
        self._loop.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _on_loop(self, do: Callable[[], Awaitable[R]]) -> R:
        async def done() -> R:
            return await do()

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(_DONE_S)

    async def _listen(self, port: int) -> int:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", port)
        return int(self._listener.sockets[0].getsockname()[1])

    async def _stop_listening(self) -> None:
        if self._listener is not None:
            # asyncio would leave open what it is just accepting: its task fails once the listener is closed.
            while accepting := {task for task in asyncio.all_tasks() if "_accept_connection2" in repr(task.get_coro())}:
                await asyncio.wait(accepting)
            self._listener.close()
            self._listener = None

    async def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        if self._listener is None:
            await self._listen(self.port)

    async def _reset_links(self) -> None:
        for link in list(self._links):
            for side in (link.client, link.server):
                with suppress(OSError):  # already gone
                    side.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
                side.transport.abort()

    async def _end(self) -> None:
        await self._stop_listening()
        for link in list(self._links):
            link.client.transport.abort()
            link.server.transport.abort()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:  # a connection that is just being accepted makes one more
            for task in self._served:
                task.cancel()
            await asyncio.wait(others)
        for client in self._clients:
            client.close()  # a task that was cancelled before it began has not done so
            with suppress(OSError):
                await client.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = self._loop.create_task(self._serve(reader, client))
        self._served.add(task)
        task.add_done_callback(self._served.discard)
        self._clients.append(client)

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.CancelledError):  # the server does not listen; the proxy is closed
                answers, server = await asyncio.open_connection("127.0.0.1", self._target)
                try:
                    await self._join(_Link(client, server, self._most_bytes), reader, answers)
                finally:
                    server.close()
        finally:
            client.close()

    async def _join(self, link: _Link, reader: asyncio.StreamReader, answers: asyncio.StreamReader) -> None:
        """Forward both ways until one of them ends."""
        self._links.add(link)
        pumps = {
            asyncio.create_task(self._pump("questions", reader, link.server, link)),
            asyncio.create_task(self._pump("answers", answers, link.client, link)),
        }
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._links.discard(link)

    async def _pump(self, way: Way, source: asyncio.StreamReader, sink: asyncio.StreamWriter, link: _Link) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_MOST_WAITING)
        receive = asyncio.create_task(self._receive(way, source, waiting))
        try:
            with suppress(OSError):
                while chunk := (due_and_chunk := await waiting.get())[1]:
                    await asyncio.sleep(max(due_and_chunk[0] - self._loop.time(), 0))
                    await self._pass(way, chunk, sink, link)
        finally:
            receive.cancel()
        if way == "questions":
            self.gone.set()

    async def _receive(self, way: Way, source: asyncio.StreamReader, waiting: asyncio.Queue[tuple[float, bytes]]) -> None:
        """Note of each chunk when it may go on: chunks that came together are delayed together. An empty one is the end."""
        chunk = b"-"
        while chunk:
            chunk = b""
            with suppress(OSError):
                chunk = await source.read(CHUNK_BYTES)
                if chunk and way == "answers":
                    chunk = await self._renamed(source, chunk)
            await waiting.put((self._loop.time() + self._delay_s.get(way, 0.0), chunk))

    async def _pass(self, way: Way, chunk: bytes, sink: asyncio.StreamWriter, link: _Link) -> None:
        if way == "answers" and link.left_bytes is not None:
            chunk, link.left_bytes = chunk[: link.left_bytes], max(link.left_bytes - len(chunk), 0)
        while way in self._held_ways:
            self.held.set()
            await self._changed.wait()
        chunk = self._damage[way].done_to(chunk)
        while chunk and way == "answers" and self._trickle_s:
            await self._write(way, chunk[:1], sink)
            chunk = chunk[1:]
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self._trickle_s)
        await self._write(way, chunk, sink)

    async def _write(self, way: Way, chunk: bytes, sink: asyncio.StreamWriter) -> None:
        self.passed_bytes[way] += len(chunk)
        sink.write(chunk)
        await sink.drain()

    async def _renamed(self, source: asyncio.StreamReader, chunk: bytes) -> bytes:
        """Rename in a chunk; if its end may be the start of the name, wait briefly for the rest."""
        old, new = self._rename
        while any(chunk.endswith(old[:length]) for length in range(1, len(old))):
            try:
                more = await asyncio.wait_for(source.read(CHUNK_BYTES), _REST_S)
            except TimeoutError:
                break
            if not more:
                break
            chunk += more
        return chunk.replace(old, new) if old else chunk


def kafka_proxy(bootstrap: str) -> Proxy:
    """Return a proxy for the broker at `host:port`; it replaces the broker's address in answers (a string and four bytes) by its own."""
    host, _, port = bootstrap.rpartition(":")
    old, at = int(port), free_port()
    return Proxy(old, at=at, rename=(host.encode() + old.to_bytes(4, "big"), host.encode() + at.to_bytes(4, "big")))
