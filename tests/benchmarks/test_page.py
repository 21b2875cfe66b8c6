"""`python -m benchmarks.page` runs to its end on few lines, and its figures are those of what was seen."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.page import Plan, Wrong, _parts, main, measure, summed
from benchmarks.page_browser import NoBrowser
from benchmarks.page_clients import READY, Sent, Tally, read_stream, run_page
from benchmarks.page_index import fill_for_page, rare
from consumers.text.mask import Masker
from sinks.reading.counting import CountQuery
from sinks.reading.reader import BlockReader
from tests.services.missing import skip_or_fail

WAIT_S = 30.0
NOW_MS = 1_760_000_000_000


class Asked(ThreadingHTTPServer):
    """Notes what it is asked; a stream of `/stream` goes on until the server is closed."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.requests: list[tuple[str, str, str]] = []
        self.answers = threading.Event()
        self.answers.set()
        self.ended = threading.Event()


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Asked

    def do_GET(self) -> None:
        self._answer("")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, body: str) -> None:
        self.server.requests.append((self.command, self.path, body))
        self.server.answers.wait(WAIT_S)
        self.send_response(503 if "refused" in self.path else 200)
        if self.path == "/stream":
            self.end_headers()
            while not self.server.ended.wait(0.01):
                self.wfile.write(b": more\n\n")
            self.close_connection = True
            return
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def asked() -> Iterator[Asked]:
    server = Asked()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


def wait_until(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < until_s
        threading.Event().wait(0.01)


@pytest.mark.long
@pytest.mark.process
def test_the_index_ends_now_and_rare_templates_are_as_many_as_asked_for(tmp_path: Path) -> None:
    masked = Masker().mask(list(rare(500)))
    assert len(set(masked)) == 500
    filled = fill_for_page(tmp_path / "index", 2_000, 300, space="test", now_ms=NOW_MS)
    reader = BlockReader(filled.sink)
    (all_lines,) = reader.count(CountQuery()).rows
    filled.sink.close()
    assert all_lines.lines == 2_000
    assert NOW_MS - 20_000 < all_lines.last_ms <= NOW_MS
    assert len(filled.templates) >= 300


def test_a_page_asks_again_in_each_period_and_refusals_are_counted(asked: Asked) -> None:
    ended, tally = threading.Event(), Tally()
    requests = [Sent(0.0, "POST", "/api/search", '{"text": "x"}'), Sent(0.01, "GET", "/api/refused?x=1")]
    arguments = (f"http://127.0.0.1:{asked.server_port}", requests, 0.05, time.monotonic(), ended, tally)
    client = threading.Thread(target=run_page, args=arguments)
    client.start()
    wait_until(lambda: len(asked.requests) >= 6)
    ended.set()
    client.join(WAIT_S)
    assert asked.requests[:2] == [("POST", "/api/search", '{"text": "x"}'), ("GET", "/api/refused?x=1", "")]
    assert asked.requests[2:4] == asked.requests[:2]
    facts = tally.facts()
    assert facts["answered"] + facts["refused"] == len(asked.requests)
    assert abs(facts["answered"] - facts["refused"]) <= 1


def test_what_a_page_asks_at_first_is_told_from_what_it_asks_while_it_is_open() -> None:
    stream, first, later = Sent(0.2, "GET", "/api/tail?x"), Sent(0.5, "POST", "/api/search", "{}"), Sent(3.5, "GET", "/api/lag")
    assert _parts([stream, first, later], 3.0) == ([stream, first], [stream._replace(at_s=0.0), later._replace(at_s=0.5)])
    assert _parts([first], 3.0) == ([first], [])


def test_a_page_that_asks_nothing_waits_for_the_end(asked: Asked) -> None:
    ended, tally = threading.Event(), Tally()
    requests: list[Sent] = []
    arguments = (f"http://127.0.0.1:{asked.server_port}", requests, 0.05, time.monotonic(), ended, tally)
    client = threading.Thread(target=run_page, args=arguments)
    client.start()
    assert client.is_alive()
    ended.set()
    client.join(WAIT_S)
    assert not client.is_alive()
    assert asked.requests == []


def test_a_stream_is_read_until_the_end(asked: Asked) -> None:
    ended, tally = threading.Event(), Tally()
    url = f"http://127.0.0.1:{asked.server_port}"
    reader = threading.Thread(target=read_stream, args=(url, Sent(0.0, "GET", "/stream"), ended, tally))
    reader.start()
    wait_until(lambda: tally.facts()["answered"] == 1)
    assert reader.is_alive()
    ended.set()
    reader.join(WAIT_S)
    assert not reader.is_alive()


@pytest.mark.long
@pytest.mark.process
def test_what_is_asked_when_the_end_comes_is_waited_for(asked: Asked) -> None:
    asked.answers.clear()
    plan = {
        "url": f"http://127.0.0.1:{asked.server_port}",
        "pages": [[Sent(0.0, "GET", "/api/lag")]],
        "period_s": 60.0,
        "stream": "/stream",
    }
    command = [sys.executable, "-m", "benchmarks.page_clients", json.dumps(plan)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline().strip() == READY
        wait_until(lambda: len(asked.requests) == 1)
        process.stdin.close()
        threading.Timer(0.3, asked.answers.set).start()
        assert json.loads(process.stdout.read())["answered"] == 1


def test_figures_of_clients_that_were_mostly_refused_are_worth_nothing() -> None:
    fine = {"answered": 90, "refused": 10, "p95_s": 0.2}
    assert summed([fine, fine | {"p95_s": 0.5}]) == {"answered": 180, "refused": 20, "p95_s": 0.5}
    assert summed([{"answered": 0, "refused": 0, "p95_s": 0.0}])["answered"] == 0
    with pytest.raises(Wrong, match="of what the pages asked, 0 were answered and 7 refused"):
        summed([{"answered": 0, "refused": 7, "p95_s": 0.0}])


@pytest.mark.long
@pytest.mark.process
def test_it_measures_a_small_index_in_a_browser() -> None:
    said: list[str] = []
    try:
        figures = measure(Plan(lines=4_000, templates=400, visits=1, turns=1, interval_s=6.0), said.append)
    except NoBrowser as missing:
        skip_or_fail(str(missing))
    assert len(said) == 5
    for name in ("first_paint_s", "first_result_s", "templates_p95_s"):
        assert figures[name] > 0
    assert figures["first_paint_s"] <= figures["first_families_s"]
    for who in ("pages", "askers"):
        assert -20 < figures[f"ten_{who}_loss"] < 1
        assert figures[f"{who}_refused"] <= figures[f"{who}_answered"]
    assert figures["askers_answered"] > 0
    assert (figures["lines"], figures["templates"]) == (4_000, 400)
    assert json.loads(json.dumps(figures)) == figures


def test_an_unknown_option_is_refused_before_anything_is_filled(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments=["--slow"])
    assert "--slow" in capsys.readouterr().err
