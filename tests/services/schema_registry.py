"""A Schema Registry on loopback that answers what a test tells it to, and can be away, slow or hostile."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from consumers.schema import FetchedSchema


class SchemaRegistryStub:
    """Has the schemas that were added; every other one is unknown to it.

    Thread: any.
    """

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, bytes]] = {"/schemas/types": (200, b'["AVRO","PROTOBUF","JSON"]')}
        """By path without query, unless a path with its query is there too: status and content."""
        self.fault: tuple[int, bytes] | None = None
        """What every question is answered with instead."""
        self.ready = threading.Event()
        """Cleared: answers wait."""
        self.ready.set()
        self.asked = threading.Semaphore(0)
        """Released for each question, before it is answered."""
        self.questions: list[str] = []
        self.authorizations: list[str | None] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def add_schema(self, number: int, schema: FetchedSchema) -> None:
        """Add a schema without references under its number."""
        self.add_answer(f"/schemas/ids/{number}", {"schema": schema.text, "schemaType": schema.type})

    def add_answer(self, path: str, answer: Mapping[str, Any], status: int = 200) -> None:
        self.answers[path] = (status, json.dumps(answer).encode())

    def answer(self, path: str) -> tuple[int, bytes]:
        if self.fault is not None:
            return self.fault
        unknown = (404, b'{"error_code":40403,"message":"Schema not found"}')
        return self.answers.get(path) or self.answers.get(urlsplit(path).path, unknown)

    def close(self) -> None:
        self.ready.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _handler(stub: SchemaRegistryStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            stub.questions.append(self.path)
            stub.authorizations.append(self.headers.get("Authorization"))
            stub.asked.release()
            stub.ready.wait()
            status, content = stub.answer(self.path)
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", content.decode())
                content = b""
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
