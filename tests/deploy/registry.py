"""A container registry on loopback: manifests by tag and by digest, handed out for a token only; and the ways in which one may be wrong."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "made-up"  # noqa: S105 - of this registry


class StubRegistry:
    """Has every image, unless it is told otherwise; a manifest is made from its name.

    Thread: set between runs.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.absent: set[str] = set()
        """Images, `name:tag`, that are not there."""
        self.digests: dict[str, str] = {}
        """What the header says for an image in place of its digest."""
        self.moved_to = ""
        """Where manifests are; empty: here."""
        self.wants_account = False
        self.asked: list[tuple[str, str, str]] = []
        """Method, path and token of each request for a manifest."""

    def manifest(self, image: str) -> bytes:
        return json.dumps({"schemaVersion": 2, "of": image}).encode()

    def digest(self, image: str) -> str:
        return "sha256:" + hashlib.sha256(self.manifest(image)).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    registry: StubRegistry
    tags: dict[str, str]

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        own, asked = self.registry, urlsplit(self.path)
        if asked.path == "/token":
            wanted = parse_qs(asked.query)
            assert wanted["service"] == ["stub"]
            assert wanted["scope"][0].startswith("repository:")
            return self._send(200, json.dumps({"token": TOKEN}).encode())
        name, _, reference = asked.path.removeprefix("/v2/").partition("/manifests/")
        given = self.headers.get("Authorization", "")
        own.asked.append((self.command, self.path, given))
        if own.wants_account:
            return self._send(401, headers={"WWW-Authenticate": 'Basic realm="stub"'})
        if given != f"Bearer {TOKEN}" and not self.server.open_to_all:  # type: ignore[attr-defined]
            challenge = f'Bearer realm="{own.address}/token",service="stub",scope="repository:{name}:pull"'
            return self._send(401, headers={"WWW-Authenticate": challenge})
        if own.moved_to:
            return self._send(307, headers={"Location": own.moved_to + self.path})
        image = self.tags.get(reference) or f"{name}:{reference}"
        if image in own.absent or "application/vnd.oci.image.index.v1+json" not in self.headers.get("Accept", ""):
            return self._send(404)
        digest = own.digests.get(image, own.digest(image))
        self.tags[digest] = image
        return self._send(200, own.manifest(image) if with_body else b"", {"Docker-Content-Digest": digest})

    def _send(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, text in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        return


@contextmanager
def run_registry(*, open_to_all: bool = False) -> Iterator[StubRegistry]:
    """Run a registry; one that is open to all asks for no token."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        own = StubRegistry(f"http://127.0.0.1:{server.server_address[1]}")
        server.RequestHandlerClass = type("Handler", (_Handler,), {"registry": own, "tags": {}})
        server.open_to_all = open_to_all  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield own
        finally:
            server.shutdown()
            thread.join()
