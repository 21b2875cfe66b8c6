"""A server on a port of its own, and the other side of it: the standard library's client, and bare sockets."""

import http.client
import json
import queue
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

from worker.asking.refusals import QueryReply, ReplyCode
from worker.asking.requests import QueryRequest
from worker.runtime.listening import listen
from worker.serving.server import HttpServer, ServerLimits
from worker.serving.worker_view import WorkerView
from worker.settings.service_tables import HttpTable

WAIT_S = 20.0
PATH = "/api/search"
HITS = b'{"hits": [{"text": "an \\"error\\" of the disk"}], "complete": true, "seconds": {}}'
HEAD = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
QUERY = HEAD + b"Content-Length: 2\r\n\r\n{}"


class HttpResponse(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    value: bytes

    @property
    def error(self) -> dict[str, str]:
        """The error object; it has all three keys, and the content type is JSON."""
        assert self.headers["Content-Type"] == "application/json"
        error: dict[str, str] = json.loads(self.value)["error"]
        assert set(error) == {"code", "field", "reason"}
        assert error["reason"]
        return error


class Serving:
    """A server whose queries the test answers itself.

    Thread: the test's; `take_request` is called on the server's.
    """

    def __init__(
        self,
        *,
        takes: bool = True,
        limits: ServerLimits | None = None,
        **settings: Any,  # noqa: ANN401 - HttpTable's, and parts of the view
    ) -> None:
        view = {name: settings.pop(name) for name in ("pages", "documents", "actions", "settings") if name in settings}
        table = HttpTable(**({"port": 0} | settings))
        self.requests: queue.Queue[QueryRequest] = queue.Queue()
        self.takes = takes
        self.replies: Callable[[QueryRequest], QueryReply | None] = lambda _request: None
        """Answers queries at once; those for which it returns None are left to the test."""
        self.fault: Exception | None = None
        self.said: list[str] = []
        self.crashes: list[tuple[str, Exception]] = []
        self.server = HttpServer(
            listen(table),
            table,
            WorkerView(take_request=self.take_request, name="test:1", **view),
            say=self.said.append,
            on_crash=lambda name, error: self.crashes.append((name, error)),
            limits=limits,
        )
        self.server.start()

    def take_request(self, request: QueryRequest) -> bool:
        if self.fault is not None:
            raise self.fault
        if self.takes and (reply := self.replies(request)) is not None:
            request.requester.reply(reply, deadline_s=None)
        elif self.takes:
            self.requests.put(request)
        return self.takes

    def taken(self) -> QueryRequest:
        """Wait for the next request in the query lane."""
        return self.requests.get(timeout=WAIT_S)

    def answer(self, value: bytes = HITS, code: ReplyCode = "answered") -> QueryRequest:
        """Wait for the next request and reply to it."""
        request = self.taken()
        reply_to(request, value, code)
        return request

    def client(self) -> http.client.HTTPConnection:
        listening = self.server.listening
        return http.client.HTTPConnection(listening.host, listening.port, timeout=WAIT_S)

    def send(self, body: Any = b"{}", *, method: str = "POST", path: str = PATH, **headers: str) -> http.client.HTTPConnection:  # noqa: ANN401 - what http.client takes
        """Send a request and do not wait; `headers` with `_` for their `-`."""
        client = self.client()
        named = {"Content-Type": "application/json"} | {name.replace("_", "-"): content for name, content in headers.items()}
        client.request(method, path, body, named)
        return client

    def get(self, path: str, **headers: str) -> HttpResponse:
        """Get a path and wait for the answer."""
        return receive(self.send(None, method="GET", path=path, **headers))

    def refused(self, body: Any = b"{}", **request: Any) -> HttpResponse:  # noqa: ANN401 - as send
        """Send a request that does not reach the query lane; returns its response."""
        answer = receive(self.send(body, **request))
        assert self.requests.empty()
        return answer

    def dial(self, sent: bytes = b"") -> socket.socket:
        """Open a bare connection and send some bytes."""
        listening = self.server.listening
        connection = socket.create_connection((listening.host, listening.port), timeout=WAIT_S)
        connection.sendall(sent)
        return connection

    def close(self) -> None:
        """End; whatever the test did, the thread ends."""
        self.server.close(WAIT_S)
        assert not self.server.is_alive


def reply_to(request: QueryRequest, value: bytes = HITS, code: ReplyCode = "answered") -> None:
    """Reply as the answer step does."""
    request.requester.reply(QueryReply(value, code), deadline_s=None)


def receive(client: http.client.HTTPConnection, *, keep: bool = False) -> HttpResponse:
    """Wait for the response; close the connection after it unless `keep`."""
    response = client.getresponse()
    received = HttpResponse(response.status, response.headers, response.read())
    if not keep:
        client.close()
    return received


def is_cut_off(connection: socket.socket) -> bool:
    """Wait until the other side closes; what it sends before is discarded."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    finally:
        connection.close()
    return True
