"""`vectail mcp`: the MCP tools for a client that starts them as a program, over a running worker.

They ask the worker over HTTP, or over Kafka as `vectail search` does. Standard output carries the protocol and nothing else. When a
worker is away, the tool's answer says so, and the next call asks again.
"""

import asyncio
import http.client
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from worker.cli.exit_codes import DRAINED
from worker.cli.exits import exit_at_once, stop_on_signals, user_error
from worker.cli.query_client import NoReply, QueryClient
from worker.cli.search_verb import open_query_client
from worker.runtime.logs import configure_logs
from worker.serving.mcp_endpoint import DEADLINE_MS, answered, lines_of
from worker.serving.mcp_questions import Answer, LogIndex, NotAnswered
from worker.serving.mcp_server import serve_stdio
from worker.settings.settings import Settings

_TIMEOUT_S = DEADLINE_MS / 1000 + 5
_UNAUTHORIZED = 401
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a worker listens on, and where to reach it from here
_SHOWN_CHARACTERS = 200


def serve_client(index: LogIndex) -> None:
    """Serve the client at standard input and output until it hangs up, or a signal comes."""
    configure_logs(quiet=True)
    stop_on_signals(lambda: exit_at_once(DRAINED))
    if sys.stdin.isatty():
        sys.stderr.write("vectail: this is for an MCP client to start (docs/mcp.md); it waits for one on standard input\n")
    asyncio.run(serve_stdio(index))


def ask_over_http(settings: Settings, url: str | None) -> LogIndex:
    """Return the index of the worker at `url`, or at the address in the settings. Raises CommandFailed."""
    worker = _HttpWorker(url or _default_url(settings), settings.http.token.get_secret_value())

    async def ask(query: Mapping[str, object], _kind: type[Answer]) -> Answer:
        body = json.dumps({**query, "deadline_ms": DEADLINE_MS}).encode("utf-8")
        answer: Answer = await asyncio.to_thread(worker.send, "POST", "/api/search", body)
        return answered(answer)

    async def read_lag() -> Mapping[str, Any]:
        return answered(await asyncio.to_thread(worker.send, "GET", "/api/lag", None))

    return LogIndex(ask=ask, read_lag=read_lag, templates_of=lines_of(settings), now_ms=_now_ms)


@contextmanager
def ask_over_kafka(settings: Settings) -> Iterator[LogIndex]:
    """Yield the index of whichever worker answers on the query topic. Raises CommandFailed."""
    with open_query_client(settings.kafka) as client:
        lock = threading.Lock()

        async def ask(query: Mapping[str, object], _kind: type[Answer]) -> Answer:
            try:
                answer: Answer = await asyncio.to_thread(_ask_one, client, lock, {**query, "deadline_ms": DEADLINE_MS})
                return answered(answer)
            except NoReply as error:
                raise NotAnswered(str(error)) from error

        yield LogIndex(ask=ask, templates_of=lines_of(settings), now_ms=_now_ms)


def _ask_one(client: QueryClient, lock: threading.Lock, query: Mapping[str, object]) -> Any:  # noqa: ANN401 - the JSON object of its form
    """Ask while no other thread does. Raises NoReply."""
    with lock:
        return client.ask(query, timeout_s=_TIMEOUT_S)


class _HttpWorker:
    """A worker's HTTP API.

    Thread: any; each request has a connection of its own.
    """

    def __init__(self, url: str, token: str) -> None:
        try:
            parts = urlsplit(url)
            self._port = parts.port
        except ValueError:
            raise user_error(f"--url {url!r}: is not an address") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise user_error(f"--url {url!r}: give an address such as http://127.0.0.1:8790")
        self._url = url
        self._host = parts.hostname
        self._folder = parts.path.rstrip("/")
        self._connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}

    def send(self, method: str, path: str, body: bytes | None) -> Any:  # noqa: ANN401 - the JSON object of its path
        """Send a request and return the JSON object that comes back, an error object too. Raises NotAnswered."""
        connection = self._connect(self._host, self._port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, f"{self._folder}{path}", body, self._headers)
            response = connection.getresponse()
            value = response.read()
        except (OSError, http.client.HTTPException) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
            advice = "is `vectail run` or `vectail demo --serve` running, and is --url right?"
            raise NotAnswered(f"the worker at {self._url} is away ({reason}); {advice}") from error
        finally:
            connection.close()
        if response.status == _UNAUTHORIZED:
            raise NotAnswered(
                f"the worker at {self._url} rejects the token: set http.token, or VECTAIL_HTTP__TOKEN, where `vectail mcp` runs"
            )
        try:
            answer = json.loads(value)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise NotAnswered(f"{self._url} is not a vectail worker: it answered {response.status} {response.reason}"[:_SHOWN_CHARACTERS])
        return answer


def _default_url(settings: Settings) -> str:
    host = _ANY_ADDRESS.get(settings.http.host, settings.http.host)
    return f"http://[{host}]:{settings.http.port}" if ":" in host else f"http://{host}:{settings.http.port}"


def _now_ms() -> int:
    return round(time.time() * 1000)
