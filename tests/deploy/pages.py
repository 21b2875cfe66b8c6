"""Recorded metrics, served as an exporter does: the first recording for two scrapes, then the next."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parent
_LATER = "# ten seconds later\n"
_SCRAPES = 2


@contextmanager
def recorded_page(name: str) -> Iterator[int]:
    """Answer every path with what was recorded in a file beside this one; yield the port of 127.0.0.1."""
    moments = (FOLDER / name).read_text(encoding="utf-8").split(_LATER)
    left = [moment for moment in moments for _ in range(_SCRAPES)]

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = (left.pop(0) if len(left) > 1 else left[0]).encode()
            self.send_response(http.HTTPStatus.OK)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()
