"""The HTTP server: an event loop on a thread of its own. The only file that knows uvicorn.

Theory of operation
1. The socket listens already (`worker.http.listening`). `start` begins to answer, `stop_intake` refuses what is new, `close` ends.
2. What a stranger can hold is bounded (`ServerLimits`): connections; the life of one on which no request is being answered, be it silent,
   sending a head slowly or not reading its answer; a head (16 KiB, h11's own bound); a body in bytes (`http.max_body_bytes`) and
   seconds; what still arrives of one that was refused (`MOST_UNASKED_BYTES`); open queries (`http.max_open_queries`) and how long each
   waits (`http.timeout_s`).
3. Nothing waits for it: the thread is a daemon, and `close` returns in time whatever clients do.

Not taken: uvicorn's `limit_concurrency`, which counts connections only when one of them has sent a whole head, and never closes any.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from worker.http.api import RequestRules, new_app
from worker.http.listening import Listening
from worker.http.pending_queries import PendingQueries, Take
from worker.http.responses import Page
from worker.runtime.stage import Crash, Stage
from worker.settings.status_table import HttpTable

MOST_UNASKED_BYTES = 1024 * 1024
"""So much of a body that was refused is taken and forgotten, so that its sender reads why; then the connection is cut off."""
_KEEP_ALIVE_S = 5
_END_S = 2.0
"""How long answers that are being sent may take once the server ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """What strangers may hold.

    Thread: any.
    """

    most_connections: int = 512
    """The next are cut off."""
    lull_s: float = 60.0
    """How long a connection lives on which no request is being answered; enough to read the longest answer over a slow line."""
    body_s: float = 10.0
    """How long a body may take to arrive."""


class HttpServer:
    """Answers what comes in at a socket, from `start` until `close`.

    Thread: main; the app runs on a thread of its own.
    """

    def __init__(
        self,
        listening: Listening,
        table: HttpTable,
        take: Take,
        *,
        say: Callable[[str], None],
        on_crash: Crash,
        pages: Mapping[str, Page] = MappingProxyType({}),
        bounds: ServerLimits | None = None,
    ) -> None:
        """`take` puts a question into the query lane, on the server's thread; `on_crash` is told when that ends by itself."""
        self.listening = listening
        self._say = say
        self._asking = PendingQueries(take, most_open=table.max_open_queries, timeout_s=table.timeout_s)
        token = table.token.get_secret_value()
        own_names_only = listening.is_loopback and not token
        bounds = bounds or ServerLimits()
        rules = RequestRules(token=token, own_names_only=own_names_only, max_body_bytes=table.max_body_bytes, body_s=bounds.body_s)
        if not listening.is_loopback and not token:
            say(f"http listens on {listening.host} without a token: whoever reaches it can search the logs; set http.token")
        self._server = uvicorn.Server(
            uvicorn.Config(
                new_app(self._asking, rules, say, pages),
                http=_bounded(bounds),
                ws="none",
                lifespan="off",
                workers=1,
                log_config=None,
                log_level=logging.CRITICAL,  # a request that is no HTTP is its sender's fault, and no line in our log
                access_log=False,
                proxy_headers=False,
                server_header=False,
                headers=[("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")],
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=math.ceil(_END_S),
            )
        )
        self._stage = Stage("http", self._body, on_crash)

    def start(self) -> None:
        """Begin to answer."""
        self._stage.start()

    def stop_intake(self) -> None:
        """From when this returns, nothing more is put into the query lane; what is open may still be answered."""
        self._asking.stop_intake()

    def close(self, timeout_s: float) -> None:
        """Answer what is open, 503 if nobody else has, and end; returns after `timeout_s` at the latest."""
        self._asking.give_up()
        self._server.should_exit = True
        if self._stage.ident is None:
            self.listening.socket.close()
        else:
            self._stage.join(timeout_s)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._stage.is_alive()

    @property
    def cpu_s(self) -> float:
        """Processor time of the server's thread; known once it has ended."""
        return self._stage.cpu_s

    def _body(self) -> None:
        with asyncio.Runner() as runner:
            runner.get_loop().set_exception_handler(self._tell)
            runner.run(self._serve())

    async def _serve(self) -> None:
        await self._server.serve(sockets=[self.listening.socket])
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # one turn of the loop, in which they close

    def _tell(self, _loop: asyncio.AbstractEventLoop, facts: dict[str, Any]) -> None:
        """Say what went wrong outside of any request: no more descriptors, a connection that broke."""
        error = facts.get("exception")
        self._say(f"http: {facts['message']}" + (f" ({type(error).__name__})" if error is not None else ""))


class _Bounded(H11Protocol):
    """One connection, bounded where uvicorn leaves it to the other side.

    Thread: the event loop.
    """

    bounds: ServerLimits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        self._lull: asyncio.TimerHandle | None = None
        self._begin_lull()
        if len(self.connections) > self.bounds.most_connections:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_lull()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._end_lull()
            return
        self._unasked_bytes += len(data)
        if self._unasked_bytes > MOST_UNASKED_BYTES:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        if self._is_answering():  # uvicorn would let the app answer, too, and h11 would not
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        self._begin_lull()
        super().on_response_complete()  # takes the next request if it is here already
        if self._is_answering():
            self._end_lull()

    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        is_open = cycle is not None and not cycle.response_complete and not cycle.disconnected
        return is_open and not self.transport.get_write_buffer_size()  # else the answer before it is not read yet

    def _begin_lull(self) -> None:
        self._end_lull()
        self._unasked_bytes = 0
        self._lull = self.loop.call_later(self.bounds.lull_s, self.transport.abort)

    def _end_lull(self) -> None:
        if self._lull is not None:
            self._lull.cancel()
            self._lull = None


def _bounded(limits: ServerLimits) -> type[asyncio.Protocol]:
    class Bounded(_Bounded):
        bounds = limits

    return Bounded
