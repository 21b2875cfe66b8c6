"""Recorded metrics, served as an exporter does: the first recording for two scrapes, then the next."""

import http.server
import threading
from pathlib import Path
from typing import Self

FOLDER = Path(__file__).parent
_LATER = "# ten seconds later\n"
_SCRAPES = 2


class RecordedPage:
    """Answers every path with the same page.

    Thread: one of its own, and one a connection.
    """

    def __init__(self, name: str) -> None:
        """`name` is that of a file beside this one."""
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

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        return self._server.server_port

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
