"""Clients that ask what open pages ask, in a process of their own.

Each page is a list of requests with the seconds at which a real page sent them; its client sends them at these seconds, again in every
period. A stream is opened once and read. Nothing is parsed: a browser's work is not the worker's. What is asked when the end comes is
waited for and counted: the slowest answers are the ones that an end would cut off.
"""

import http.client
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.rivals.own_process import Opened

STREAM = "text/event-stream"
TIMEOUT_S = 70.0
_CHUNK_BYTES = 65_536


class Sent(NamedTuple):
    """A request of a page."""

    at_s: float
    """After the page's first one."""
    method: str
    path: str
    """With its parameters."""
    body: str = ""


class Tally:
    """What became of the requests. Thread: any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.answered = 0
        self.refused = 0
        self.seconds: list[float] = []

    def note(self, status: int, seconds: float) -> None:
        """Count one answer."""
        with self._lock:
            self.answered += status < 400  # noqa: PLR2004 - errors begin there
            self.refused += status >= 400  # noqa: PLR2004 - as above
            self.seconds.append(seconds)

    def facts(self) -> dict[str, Any]:
        """Return what is printed at the end."""
        with self._lock:
            ordered = sorted(self.seconds) or [0.0]
            return {"answered": self.answered, "refused": self.refused, "p95_s": round(ordered[int(0.95 * (len(ordered) - 1))], 4)}


def run_page(url: str, requests: Sequence[Sent], period_s: float, start_s: float, ended: threading.Event, tally: Tally) -> None:
    """Be one page until `ended`; the first period begins at `start_s` on the monotonic clock."""
    if not requests:  # a page that is looked at may ask nothing
        ended.wait()
        return
    client = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_S)
    period = 0
    while not ended.is_set():
        for request in requests:
            if ended.wait(max(start_s + period * period_s + request.at_s - time.monotonic(), 0.0)):
                break
            began_s = time.monotonic()
            headers = {"Content-Type": "application/json"} if request.body else {}
            client.request(request.method, request.path, request.body or None, headers)
            response = client.getresponse()
            response.read()
            tally.note(response.status, time.monotonic() - began_s)
        period += 1
    client.close()


def read_stream(url: str, request: Sent, ended: threading.Event, tally: Tally) -> None:
    """Read a stream until `ended`, or until the worker ends it."""
    client = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_S)
    began_s = time.monotonic()
    client.request(request.method, request.path, headers={"Accept": STREAM})
    response = client.getresponse()
    tally.note(response.status, time.monotonic() - began_s)
    while not ended.is_set() and response.read1(_CHUNK_BYTES):
        pass
    client.close()


def open_pages(url: str, pages: Sequence[Sequence[Sent]], period_s: float, stream: str) -> Opened:
    """Be these pages until asked what became of their requests; those at `stream` are streams."""
    ended, tally, askers, readers = threading.Event(), Tally(), list[threading.Thread](), list[threading.Thread]()
    start_s = time.monotonic()
    for number, page in enumerate(pages):
        asked = [request for request in page if not request.path.startswith(stream)]
        begins_s = start_s + period_s * number / len(pages)  # so that they do not all ask at once
        askers.append(threading.Thread(target=run_page, args=(url, asked, period_s, begins_s, ended, tally), daemon=True))
        for request in [one for one in page if one.path.startswith(stream)][:1]:
            readers.append(threading.Thread(target=read_stream, args=(url, request, ended, tally), daemon=True))
    for thread in (*askers, *readers):
        thread.start()

    def end(_asked: object) -> dict[str, Any]:
        ended.set()
        for thread in askers:
            thread.join()  # as long as an answer takes, `TIMEOUT_S` at most
        return tally.facts()

    return Opened({}, end)
