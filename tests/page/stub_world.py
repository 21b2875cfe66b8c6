"""The real HTTP server and the real page over a query lane and documents that answer as the test says.

The worker's own answer step answers at once, from lines in memory (`stub_index`); a test may hold its answers, make them fail, change a
document, or write more lines. Nothing here reads a clock but the start, so what a page shows is known beforehand.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from sinks.line import Line
from tests.page import stub_documents
from tests.page.stub_index import StubIndex
from tests.page.stub_lines import KINDS, Kind, line_of, shop_lines
from worker.asking.answers import TopicReachJson
from worker.asking.question import Query
from worker.asking.refusals import BadQuery, ErrorCode, Refused, error_reply
from worker.asking.requests import QueryRequest
from worker.querying.forms import parse_query
from worker.runtime.listening import listen
from worker.serving.server import HttpServer
from worker.serving.worker_view import WorkerView
from worker.settings.service_tables import HttpTable
from worker.settings.settings import Settings

CLOSE_S = 20.0
HELD_S = 20.0
DOCUMENTS = {
    "/api/status": stub_documents.status,
    "/api/lag": stub_documents.lag,
    "/api/dead-letters": stub_documents.letters,
    "/api/doctor": stub_documents.doctor,
    "/api/suggestions": stub_documents.suggestions,
    "/api/workers": stub_documents.workers,
    "/api/reindex": stub_documents.reindex,
}
REPLAY = "/api/dead-letters/replay"


class StubWorld:
    """A worker to the page, a puppet to the test.

    Thread: the test's; queries are answered on the server's, documents on its pool's.
    """

    def __init__(self, *, token: str = "", port: int = 0, lines: Sequence[Line] | None = None) -> None:
        self.now_ms = int(time.time() * 1000)
        self.lines: list[Line] = []
        """All that are stored, oldest first."""
        self._index = StubIndex()
        self.store(shop_lines(self.now_ms) if lines is None else lines)
        self.documents: dict[str, Any] = {path: make(self.now_ms) for path, make in DOCUMENTS.items()}
        self.asked: list[Query] = []
        """All queries that reached the lane and were valid."""
        self.refused: list[BadQuery] = []
        """Those that were not: the page asked for something that the worker refuses."""
        self.replayed: list[list[str]] = []
        """The ids of each request to replay."""
        self.said: list[str] = []
        self.crashes: list[Exception] = []
        self._lock = threading.Lock()
        self._failure: tuple[ErrorCode, str, str] | None = None
        self._away: set[str] = set()
        self._is_held: Callable[[Query], bool] = lambda _query: False
        self._held: list[QueryRequest] = []
        self._has_held = threading.Event()
        self._random = Random(5)
        table = HttpTable.model_validate({"port": port, "token": token})
        self._server = HttpServer(
            listen(table),
            table,
            WorkerView(
                take_request=self._take,
                documents={path: self._document(path) for path in DOCUMENTS},
                actions={REPLAY: self._replay},
                settings=Settings(),
            ),
            say=self.said.append,
            on_crash=lambda _stage, error: self.crashes.append(error),
        )
        self._server.start()

    @property
    def url(self) -> str:
        """Where the page is, without a slash at the end."""
        return self._server.listening.url

    def asked_for(self, form: str) -> list[Query]:
        """Return the queries of that form so far."""
        return [query for query in self.asked if query.form == form]

    @contextmanager
    def failing(self, code: ErrorCode, reason: str, field: str = "") -> Iterator[None]:
        """Answer each query with that error."""
        self._failure = (code, reason, field)
        yield
        self._failure = None

    @contextmanager
    def behind(self, *topics: TopicReachJson, until_ms: int | None = None) -> Iterator[None]:
        """Answer while records of these topics wait; without one, while nobody knows."""
        reach = self._index.reach
        self._index.reach = {
            "indexed_until_ms": until_ms,
            "behind_records": sum(one["behind_records"] for one in topics) if topics else None,
            "behind": [*topics],
        }
        yield
        self._index.reach = reach

    @contextmanager
    def away(self, path: str) -> Iterator[None]:
        """Refuse a document: whatever it is asked of does not answer."""
        self._away.add(path)
        yield
        self._away.discard(path)

    @contextmanager
    def holding(self, which: Callable[[Query], bool]) -> Iterator[None]:
        """Answer such queries only at the end; `wait_held` waits until there is one."""
        self._has_held.clear()
        self._is_held = which
        yield
        with self._lock:
            self._is_held = lambda _query: False
            held, self._held = self._held, []
        for request in held:
            self._answer(request)

    def wait_held(self) -> None:
        """Wait until a query is held."""
        assert self._has_held.wait(HELD_S), "no such query came"

    def write(self, count: int, kind: Kind = KINDS[0], *, text: str = "") -> list[Line]:
        """Add lines that are newer than all others; returns them."""
        fresh: list[Line] = []
        for _ in range(count):
            at = len(self.lines) + len(fresh)
            line = line_of(kind, at, max(self.lines[-1].time + 1 + len(fresh), int(time.time() * 1000)), self._random)
            fresh.append(line._replace(text=text or line.text))
        self.store(fresh)
        return fresh

    def store(self, lines: Sequence[Line]) -> None:
        """Add lines as they are."""
        self._index.store(lines)
        self.lines += lines

    def close(self) -> None:
        """End; nothing unexpected may have happened on the server's side."""
        self._server.stop_intake()
        self._server.close(CLOSE_S)
        assert not self._server.is_alive
        assert self.crashes == []
        assert self.said == []

    def _take(self, request: QueryRequest) -> bool:
        try:
            query = parse_query(request.value, request.form)
        except BadQuery as error:
            self.refused.append(error)
            request.requester.reply(error_reply("bad_query", error.reason, field=error.field), deadline_s=None)
            return True
        self.asked.append(query)
        with self._lock:
            if self._is_held(query):
                self._held.append(request)
                self._has_held.set()
                return True
        self._answer(request)
        return True

    def _answer(self, request: QueryRequest) -> None:
        if self._failure is not None:
            code, reason, field = self._failure
            request.requester.reply(error_reply(code, reason, field=field), deadline_s=None)
        else:
            self._index.reply(parse_query(request.value, request.form), request.requester)

    def _document(self, path: str) -> Callable[[Mapping[str, str]], Mapping[str, Any]]:
        def document(parameters: Mapping[str, str]) -> Mapping[str, Any]:
            if path in self._away:
                raise Refused("unavailable", "the stub says so")
            found: Mapping[str, Any] = self.documents[path]
            if record := parameters.get("record"):
                of = [one for one in found["letters"] if f"{one['topic']}/{one['partition']}@{one['offset']}" == record]
                return {**found, "letters": of}
            return found

        return document

    def _replay(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        ids = list(asked["ids"])
        self.replayed.append(ids)
        for letter in self.documents["/api/dead-letters"]["letters"]:
            letter["replayed"] = letter["replayed"] or letter["id"] in ids
        return {"replayed": len(ids), "partly": 0, "left": 0, "lines": len(ids), "unresolved": []}
