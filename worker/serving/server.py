"""The HTTP server: an event loop on its own thread. The only file that imports uvicorn.

Theory of operation
1. The socket listens already (`worker.runtime.listening`). `start` begins to answer, `stop_intake` refuses new queries, `close` ends.
2. Everything a client can occupy is bounded (`ServerLimits`): the number of connections; how long a connection lives while it is idle,
   which means that no request on it is being answered: it is silent, sends a head slowly or does not read its answer (of one that is
   written piece by piece, an export or a tail: reads nothing at all); how many of those there are (`StreamRules`); the size of a head (16
   KiB, by h11 and `check_head`); the size and duration of a body; what arrives of a refused body
   (`MAX_IDLE_BYTES`); the number of open queries and how long each waits.
3. At the limit a new connection replaces the one that has been idle longest. The new one is cut off only if none is idle.
4. The pages are answered at the limit too, because supervisors restart a worker whose `/healthz` fails: requests below `/api` leave
   `reserved_connections` free, and each page renders for one request at a time, so many scrapes do not occupy all threads.
5. Shutdown never waits for it: the thread is a daemon, and `close` returns in time whatever clients do.

Not taken: uvicorn's `limit_concurrency`. It counts a connection only once a whole head has arrived, and never closes one.
Not taken: a port of its own for the pages. It is one more setting for each worker of a machine, and can be flooded as well.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from worker.runtime.listening import Listening
from worker.runtime.stage import Crash, Stage
from worker.serving.api import RequestRules, new_app
from worker.serving.pending_queries import PendingQueries
from worker.serving.streams import StreamRules
from worker.serving.worker_view import WorkerView
from worker.settings.service_tables import HttpTable

MAX_IDLE_BYTES = 1024 * 1024
"""Read and discarded while no request is being answered. The sender of a refused body can then read the refusal; after more, the
connection is cut off."""
_KEEP_ALIVE_S = 75
"""Longer than clients keep a connection for the next request, or both would close it at once; what is idle is bounded by `ServerLimits`."""
_END_S = 2.0
"""How long sending the last answers may take at shutdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """What clients may occupy."""

    max_connections: int = 512
    reserved_connections: int = 32
    """How many of them requests below `/api` leave free for the pages."""
    first_byte_s: float = 5.0
    """How long a new connection may be silent."""
    idle_s: float = 60.0
    """How long a connection lives while no request on it is being answered; enough to read the longest answer over a slow line."""
    body_bytes: int = 64 * 1024
    """Of the largest body."""
    body_s: float = 10.0
    """How long a body may take to arrive."""
    open_queries: int = 64
    """Those from Kafka are counted apart."""
    query_s: float = 60.0
    """How long a query may take, whatever its `deadline_ms`: more than the 30 s of one without a deadline, whose answer says why."""
    streams: StreamRules = field(default_factory=StreamRules)


class HttpServer:
    """Answers requests at a socket, from `start` until `close`.

    Thread: main; the app runs on its own thread.
    """

    def __init__(
        self,
        listening: Listening,
        table: HttpTable,
        view: WorkerView,
        *,
        say: Callable[[str], None],
        on_crash: Crash,
        limits: ServerLimits | None = None,
    ) -> None:
        """`on_crash` is called if the server's thread fails."""
        self.listening = listening
        self._say = say
        token = table.token.get_secret_value()
        limits = limits or ServerLimits()
        self._embeddings = view.embeddings
        self._queries = PendingQueries(view.take_request, max_open=limits.open_queries, timeout_s=limits.query_s)
        checks_host = listening.is_loopback and not token
        rules = RequestRules(
            token=token,
            checks_host=checks_host,
            max_answering=limits.max_connections - limits.reserved_connections,
            max_body_bytes=limits.body_bytes,
            body_s=limits.body_s,
            streams=limits.streams,
        )
        if not listening.is_loopback and not token:
            what = "search the logs" if view.has_index else "have vectors"
            say(f"http listens on {listening.host} without a token: everyone who reaches it can {what}")
        self._server = uvicorn.Server(
            uvicorn.Config(
                new_app(self._queries, rules, say, view),
                http=_protocol_with(limits),
                ws="none",
                lifespan="off",
                workers=1,
                log_config=None,
                log_level=logging.CRITICAL,  # malformed HTTP is the client's fault and must not fill our log
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=math.ceil(_END_S),
            )
        )
        self._stage = Stage("http", self._body, on_crash)

    def start(self) -> None:
        """Begin to answer."""
        self._stage.start()

    def stop_intake(self) -> None:
        """From when this returns nothing more enters the lanes; what is open may still be answered."""
        self._queries.stop_intake()
        if self._embeddings is not None:
            self._embeddings.stop()

    def close(self, timeout_s: float) -> None:
        """Answer open queries with 503 and end; returns after `timeout_s` at the latest."""
        self._queries.give_up()
        if self._embeddings is not None:
            self._embeddings.give_up()
        self._server.should_exit = True
        if self._stage.ident is None:
            self.listening.socket.close()
        else:
            self._stage.join(timeout_s)

    @property
    def is_alive(self) -> bool:
        """Whether the server's thread runs."""
        return self._stage.is_alive()

    @property
    def cpu_s(self) -> float:
        """Processor time of the server's thread; known once it has ended."""
        return self._stage.cpu_s

    def _body(self) -> None:
        with asyncio.Runner() as runner:
            runner.get_loop().set_exception_handler(self._say_loop_error)
            runner.run(self._serve())

    async def _serve(self) -> None:
        await self._server.serve(sockets=[self.listening.socket])
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # lets the loop close them

    def _say_loop_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """Log an error outside of any request, such as no file descriptors left or a broken connection."""
        error = context.get("exception")
        self._say(f"http: {context['message']}" + (f" ({type(error).__name__})" if error is not None else ""))


class _BoundedConnection(H11Protocol):
    """One connection, cut off when it has been idle for too long, has sent too much while idle, or makes room; uvicorn has no such limits.

    It overrides methods that are not uvicorn's public API, so pyproject.toml allows no untried minor version.

    Thread: the event loop.
    """

    limits: ServerLimits
    idle: "dict[_BoundedConnection, None]"
    """The idle connections of this server, the one that has been idle longest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        self._is_silent = True
        self._unread_bytes = 0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._begin_idle(self.limits.first_byte_s)
        if len(self.connections) > self.limits.max_connections:
            next(iter(self.idle)).cut_off()  # this connection is the last of them

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_idle()
        super().connection_lost(exc)

    def cut_off(self) -> None:
        """Close at once; what is not sent yet is lost."""
        self._end_idle()
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._is_silent:
            self._is_silent = False
            self._begin_idle(self.limits.idle_s)
        super().data_received(data)
        if self._is_answering():
            self._end_idle()
            return
        self._idle_bytes += len(data)
        if self._idle_bytes > MAX_IDLE_BYTES:
            self.cut_off()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._has_open_request():
            self._end_idle()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        if self._is_answering():  # the app must not answer as well: h11 would refuse to send it
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        self._begin_idle(self.limits.idle_s)
        super().on_response_complete()  # starts the next request if it has arrived
        if self._is_answering():
            self._end_idle()

    def _has_open_request(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        return cycle is not None and not cycle.response_complete and not cycle.disconnected

    def _is_answering(self) -> bool:
        return self._has_open_request() and not self.transport.get_write_buffer_size()  # else the previous answer is not read yet

    def _wait_for_reader(self) -> None:
        """Count as idle until the client reads on; in an answer that is written piece by piece the next piece waits for that."""
        self._unread_bytes = self.transport.get_write_buffer_size()
        self._begin_idle(self.limits.idle_s)

    def _end_of_patience(self) -> None:
        """Cut off, unless the client has read some of an answer that is written piece by piece."""
        has_read = self.transport.get_write_buffer_size() < self._unread_bytes
        if has_read and self._has_open_request() and self.cycle.response_started:
            self._wait_for_reader()
        else:
            self.cut_off()

    def _begin_idle(self, most_s: float) -> None:
        self._end_idle()
        self._idle_bytes = 0
        self._idle_timer = self.loop.call_later(most_s, self._end_of_patience)
        self.idle[self] = None

    def _end_idle(self) -> None:
        self.idle.pop(self, None)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None


def _protocol_with(server_limits: ServerLimits) -> type[asyncio.Protocol]:
    """Return the class of connections with these limits; uvicorn makes the instances."""
    idle_connections: dict[_BoundedConnection, None] = {}

    class BoundedConnection(_BoundedConnection):
        limits = server_limits
        idle = idle_connections

    return BoundedConnection
