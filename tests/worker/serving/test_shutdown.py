"""How a server ends: no new query after the intake is stopped, no query left without a reply; a failed thread is a crash."""

import asyncio
import threading

import pytest

from tests.worker.serving.conftest import Serve
from tests.worker.serving.serving import QUERY, WAIT_S, is_cut_off, receive, reply_to
from worker.asking.requests import QueryRequest
from worker.runtime.lane import Lane
from worker.runtime.listening import listen
from worker.runtime.stage import Stage
from worker.serving.pending_queries import PendingQueries
from worker.serving.responses import HttpError
from worker.serving.server import HttpServer, ServerLimits
from worker.serving.worker_view import WorkerView
from worker.settings.service_tables import HttpTable

MOMENT_S = 0.05
"""Long enough for a thread that does not wait to go on."""


def test_after_the_intake_is_stopped_what_is_open_is_answered_and_nothing_new_is_taken(serve: Serve) -> None:
    serving = serve()
    client = serving.send(b"before")
    request = serving.taken()
    serving.server.stop_intake()
    answer = serving.refused(b"after")
    assert (answer.status, answer.headers["Retry-After"], answer.error["code"]) == (503, "5", "unavailable")
    reply_to(request)
    assert receive(client).status == 200


def test_the_intake_is_not_stopped_before_a_query_that_is_being_put_into_the_lane_is_in_it() -> None:
    lane: Lane[QueryRequest] = Lane("prepare-queries")
    errors: list[Exception] = []
    inside, may_go_on = threading.Event(), threading.Event()

    def take_request(request: QueryRequest) -> bool:
        inside.set()
        assert may_go_on.wait(WAIT_S)
        lane.put([request])  # raises once the lane is closed
        return True

    queries = PendingQueries(take_request, max_open=1, timeout_s=1e-3)

    def stop_and_close() -> None:
        queries.stop_intake()
        lane.close()

    asker = Stage("asker", lambda: asyncio.run(_refused(queries, 504)), lambda _name, error: errors.append(error))
    stopper = Stage("stopper", stop_and_close, lambda _name, error: errors.append(error))
    asker.start()
    assert inside.wait(WAIT_S)
    stopper.start()
    stopper.join(MOMENT_S)
    may_go_on.set()
    for stage in (asker, stopper):
        stage.join(WAIT_S)
        assert not stage.is_alive()
    assert (errors, len(lane)) == ([], 1)
    asyncio.run(_refused(queries, 503))
    assert len(lane) == 1


async def _refused(queries: PendingQueries, status: int) -> None:
    with pytest.raises(HttpError) as refused:
        await queries.reply_to(b"{}")
    assert refused.value.status == status


def test_closing_answers_what_nobody_has_answered(serve: Serve) -> None:
    serving = serve()
    clients = [serving.send() for _ in range(3)]
    for _ in clients:
        serving.taken()
    serving.server.close(WAIT_S)
    for client in clients:
        answer = receive(client)
        assert (answer.status, answer.error["code"]) == (503, "unavailable")
    assert not serving.server.is_alive


def test_a_reply_given_before_closing_still_arrives(serve: Serve) -> None:
    serving = serve()
    clients = [serving.send() for _ in range(20)]
    for _ in clients:
        serving.answer()
    serving.server.close(WAIT_S)
    assert [receive(client).status for client in clients] == [200] * 20


def test_a_reply_after_the_end_is_forgotten(serve: Serve) -> None:
    serving = serve()
    serving.send().close()
    request = serving.taken()
    serving.server.close(WAIT_S)
    reply_to(request)


@pytest.mark.slow
def test_closing_cuts_off_connections_that_say_nothing_or_read_nothing(serve: Serve) -> None:
    serving = serve()
    silent = serving.dial()
    halfway = serving.dial(b"POST /api/search HT")
    deaf = serving.dial(QUERY)
    serving.answer(b'{"hits": "%b"}' % (b"x" * 20_000_000))  # more than the sockets take
    serving.server.close(WAIT_S)
    assert not serving.server.is_alive
    for connection in (silent, halfway, deaf):
        assert is_cut_off(connection)


def test_after_closing_nobody_listens(serve: Serve) -> None:
    serving = serve()
    serving.server.close(WAIT_S)
    serving.server.close(WAIT_S)
    with pytest.raises(ConnectionRefusedError):
        serving.dial()


def test_a_server_that_was_never_started_gives_its_port_back() -> None:
    table = HttpTable(port=0)
    server = HttpServer(listen(table), table, WorkerView(take_request=lambda _request: True), say=_silent, on_crash=_crashed)
    server.close(WAIT_S)
    listen(HttpTable(port=server.listening.port)).socket.close()


def test_a_server_that_is_closed_at_once_ends() -> None:
    table = HttpTable(port=0)
    server = HttpServer(listen(table), table, WorkerView(take_request=lambda _request: True), say=_silent, on_crash=_crashed)
    server.start()
    server.close(WAIT_S)
    assert not server.is_alive


def test_a_request_that_fails_as_nobody_expected_is_answered_and_said_and_stops_nothing(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(open_queries=1))
    serving.fault = KeyError("planted")
    for _ in range(2):
        answer = receive(serving.send())
        assert (answer.status, answer.error["code"]) == (500, "internal")
        assert b"planted" not in answer.value
    serving.fault = None
    client = serving.send()
    serving.answer()
    assert receive(client).status == 200
    assert [line.partition(" at ")[0] for line in serving.said] == ["http: a request failed and was answered 500: KeyError"] * 2
    assert " at serving.py:" in serving.said[0]


def test_a_thread_that_cannot_serve_is_a_crash() -> None:
    crashes: list[tuple[str, Exception]] = []
    table = HttpTable(port=0)
    listening = listen(table)
    server = HttpServer(
        listening,
        table,
        WorkerView(take_request=lambda _request: True),
        say=_silent,
        on_crash=lambda name, error: crashes.append((name, error)),
    )
    listening.socket.close()
    server.start()
    server.close(WAIT_S)
    assert [(name, type(error)) for name, error in crashes] == [("http", OSError)]


def _silent(line: str) -> None:
    raise AssertionError(line)


def _crashed(name: str, error: Exception) -> None:
    raise AssertionError(name) from error
