"""A server on a port of its own, and the other side of it: the standard library's client, and bare sockets."""

import http.client
import json
import queue
import socket
from typing import Any, NamedTuple

from worker.http.listening import listen
from worker.http.server import HttpServer, ServerLimits
from worker.query import QueryRequest
from worker.settings.status_table import HttpTable

WAIT_S = 20.0
PATH = "/api/search"
HITS = b'{"hits": [{"text": "an \\"error\\" of the disk"}], "complete": true, "seconds": {}}'
HEAD = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
QUERY = HEAD + b"Content-Length: 2\r\n\r\n{}"


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    value: bytes

    @property
    def error(self) -> dict[str, str]:
        """The error object; it has all three keys and is called JSON."""
        assert self.headers["Content-Type"] == "application/json"
        error: dict[str, str] = json.loads(self.value)["error"]
        assert set(error) == {"code", "field", "reason"}
        assert error["reason"]
        return error


class Serving:
    """A server whose questions the test answers itself.

    Thread: the test's; `take` is called on the server's.
    """

    def __init__(self, *, takes: bool = True, bounds: ServerLimits | None = None, **settings: Any) -> None:  # noqa: ANN401 - HttpTable's
        table = HttpTable(**({"port": 0} | settings))
        self.questions: queue.Queue[QueryRequest] = queue.Queue()
        self.takes = takes
        self.fault: Exception | None = None
        self.said: list[str] = []
        self.crashes: list[tuple[str, Exception]] = []
        self.server = HttpServer(
            listen(table),
            table,
            self.take,
            say=self.said.append,
            on_crash=lambda name, error: self.crashes.append((name, error)),
            bounds=bounds,
        )
        self.server.start()

    def take(self, question: QueryRequest) -> bool:
        if self.fault is not None:
            raise self.fault
        if self.takes:
            self.questions.put(question)
        return self.takes

    def taken(self) -> QueryRequest:
        """Wait for the next question."""
        return self.questions.get(timeout=WAIT_S)

    def answer(self, reply: bytes = HITS) -> QueryRequest:
        """Wait for the next question and reply to it."""
        question = self.taken()
        question.asked.reply(reply, deadline_s=None)
        return question

    def client(self) -> http.client.HTTPConnection:
        listening = self.server.listening
        return http.client.HTTPConnection(listening.host, listening.port, timeout=WAIT_S)

    def send(self, body: Any = b"{}", *, method: str = "POST", path: str = PATH, **headers: str) -> http.client.HTTPConnection:  # noqa: ANN401 - what http.client takes
        """Send a request and do not wait; `headers` with `_` for their `-`."""
        client = self.client()
        named = {"Content-Type": "application/json"} | {name.replace("_", "-"): content for name, content in headers.items()}
        client.request(method, path, body, named)
        return client

    def refused(self, body: Any = b"{}", **request: Any) -> Answer:  # noqa: ANN401 - as send
        """Send a request that reaches no query lane; returns its answer."""
        answer = receive(self.send(body, **request))
        assert self.questions.empty()
        return answer

    def dial(self, sent: bytes = b"") -> socket.socket:
        """Open a bare connection and send so much."""
        listening = self.server.listening
        connection = socket.create_connection((listening.host, listening.port), timeout=WAIT_S)
        connection.sendall(sent)
        return connection

    def close(self) -> None:
        """End; whatever the test did, the thread ends and nothing has crashed unseen."""
        self.server.close(WAIT_S)
        assert not self.server.is_alive


def receive(client: http.client.HTTPConnection, *, keep: bool = False) -> Answer:
    """Wait for the answer; hangs up after it unless it is to be kept."""
    response = client.getresponse()
    answer = Answer(response.status, response.headers, response.read())
    if not keep:
        client.close()
    return answer


def is_cut_off(connection: socket.socket) -> bool:
    """Wait until the other side closes; what it sends before is forgotten."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    finally:
        connection.close()
    return True
