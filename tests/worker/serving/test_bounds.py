"""What a client can occupy: few connections, and none for long unless a request on it is being answered."""

import socket
import threading

import pytest

from tests.worker.serving.conftest import Serve
from tests.worker.serving.serving import HEAD, QUERY, WAIT_S, Serving, is_cut_off, receive, reply_to
from worker.asking.documents import PageText
from worker.serving.server import ServerLimits

SHORT = ServerLimits(first_byte_s=0.5, idle_s=0.5)
MORE_THAN_SOCKETS_TAKE = 20_000_000
HEALTHY = PageText(b"{}", "application/json")
UNSENT_BODY = HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
STARLETTE_THREADS = 40


def wait_idle(serving: Serving) -> None:
    """Wait longer than an idle connection lives."""
    for _ in range(2):
        assert is_cut_off(serving.dial())


def dial_unsent_body(serving: Serving) -> socket.socket:
    """Begin a search whose body the server waits for."""
    connection = serving.dial(UNSENT_BODY)
    assert connection.recv(64) == b"HTTP/1.1 100 Continue\r\n\r\n"
    return connection


def test_a_first_byte_must_come_sooner_than_the_end_of_a_head(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(first_byte_s=0.5))
    begun = serving.dial(QUERY[:1])
    assert is_cut_off(serving.dial())
    begun.sendall(QUERY[1:])
    serving.answer()
    assert begun.recv(12) == b"HTTP/1.1 200"
    begun.close()


def test_a_head_that_does_not_end_is_cut_off(serve: Serve) -> None:
    assert is_cut_off(serve(limits=SHORT).dial(HEAD))


def test_a_head_that_does_not_end_after_a_first_request_is_cut_off(serve: Serve) -> None:
    serving = serve(limits=SHORT)
    connection = serving.dial(QUERY)
    serving.answer()
    assert connection.recv(12) == b"HTTP/1.1 200"
    connection.sendall(HEAD)
    assert is_cut_off(connection)


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [b"", QUERY], ids=["alone", "with-a-query-behind-it"])
def test_an_answer_that_is_not_read_is_cut_off(serve: Serve, ahead: bytes) -> None:
    serving = serve(limits=SHORT)
    connection = serving.dial(QUERY + ahead)
    serving.answer(b'{"hits": "%b"}' % (b"x" * MORE_THAN_SOCKETS_TAKE))
    assert connection.recv(12) == b"HTTP/1.1 200"
    wait_idle(serving)
    received_bytes = 0
    try:
        while received := connection.recv(1 << 20):
            received_bytes += len(received)
    except ConnectionResetError:
        pass
    connection.close()
    assert received_bytes < MORE_THAN_SOCKETS_TAKE


def test_requests_that_are_sent_ahead_are_answered_in_turn(serve: Serve) -> None:
    serving = serve(limits=SHORT)
    connection = serving.dial(QUERY * 3)
    for _ in range(2):
        serving.answer()
    last = serving.taken()
    wait_idle(serving)
    reply_to(last, b'{"hits": "the last"}')
    received = b""
    while b"the last" not in received:
        received += connection.recv(65_536)
    assert received.count(b"HTTP/1.1 200") == 3
    connection.close()


def test_a_body_that_does_not_arrive_is_refused_and_cut_off(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(body_s=0.05))
    connection = serving.dial(HEAD + b"Content-Length: 2\r\n\r\n{")
    assert connection.recv(12) == b"HTTP/1.1 408"
    assert is_cut_off(connection)
    assert serving.requests.empty()


def test_a_head_of_any_length_is_not_kept(serve: Serve) -> None:
    serving = serve()
    with serving.dial(HEAD + b"X: " + b"x" * 20_000) as connection:
        assert connection.recv(12) == b"HTTP/1.1 400"


@pytest.mark.parametrize("more", [b"X: " + b"x" * 20_000, b"\r\n".join(b"x%d: y" % n for n in range(4_000))], ids=["one header", "many"])
@pytest.mark.parametrize("token", ["", "s3cr3t"], ids=["without a token", "with one"])
def test_a_head_that_comes_whole_is_no_longer_than_another(serve: Serve, more: bytes, token: str) -> None:
    serving = serve(token=token)
    with serving.dial(HEAD + more + b"\r\nContent-Length: 2\r\n\r\n{}") as connection:
        assert connection.recv(12) in (b"HTTP/1.1 431", b"HTTP/1.1 400")
    assert serving.requests.empty()


def test_at_the_limit_a_new_connection_replaces_the_one_that_has_been_idle_longest(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(max_connections=4, reserved_connections=1))
    answering = serving.dial(QUERY)
    request = serving.taken()
    kept = serving.dial(QUERY)
    serving.answer()
    assert kept.recv(12) == b"HTTP/1.1 200"
    idle = [kept, serving.dial(), serving.dial()]
    for _ in range(5):
        idle.append(serving.dial())
        assert is_cut_off(idle.pop(0))
    for connection in idle:
        connection.sendall(QUERY)
        serving.answer()
        assert connection.recv(12) == b"HTTP/1.1 200"
        connection.close()
    reply_to(request)
    assert answering.recv(12) == b"HTTP/1.1 200"
    answering.close()


def test_health_is_served_while_searches_and_silent_connections_fill_the_limit(serve: Serve) -> None:
    limits = ServerLimits(max_connections=6, reserved_connections=2, body_s=WAIT_S)
    serving = serve(limits=limits, pages={"/healthz": lambda _accept: HEALTHY})
    unsent = [dial_unsent_body(serving) for _ in range(4)]
    silent = [serving.dial() for _ in range(10)]
    for _ in range(3):
        assert receive(serving.send(method="GET", path="/healthz")).status == 200
    refused = serving.refused()
    assert (refused.status, refused.headers["Retry-After"], refused.error["code"]) == (429, "1", "too_many")
    for connection in unsent:
        connection.sendall(b"{}")
        serving.answer()
        assert connection.recv(12) == b"HTTP/1.1 200"
    for connection in (*unsent, *silent):
        connection.close()


def test_health_does_not_wait_for_scrapes(serve: Serve) -> None:
    rendering, may_render = threading.Event(), threading.Event()

    def metrics(_accept: str) -> PageText:
        rendering.set()
        assert may_render.wait(WAIT_S)
        return HEALTHY

    serving = serve(pages={"/healthz": lambda _accept: HEALTHY, "/metrics": metrics})
    scrapes = [serving.send(method="GET", path="/metrics") for _ in range(STARLETTE_THREADS + 1)]
    assert rendering.wait(WAIT_S)
    assert receive(serving.send(method="GET", path="/healthz")).status == 200
    may_render.set()
    assert {receive(scrape).status for scrape in scrapes} == {200}


def test_connections_beyond_the_limit_are_cut_off_while_all_others_are_being_answered(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(max_connections=3, reserved_connections=0))
    leaving = serving.dial(HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
    request = serving.taken()
    staying = [serving.dial(QUERY) for _ in range(2)]
    requests = [serving.taken() for _ in staying]
    for _ in range(5):
        assert is_cut_off(serving.dial())
    reply_to(request)
    assert is_cut_off(leaving)
    client = serving.send()
    serving.answer()
    assert receive(client).status == 200
    for request, connection in zip(requests, staying, strict=True):
        reply_to(request)
        assert connection.recv(12) == b"HTTP/1.1 200"
        connection.close()


def test_what_is_no_http_is_refused_and_disturbs_nobody(serve: Serve) -> None:
    serving = serve()
    for sent in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"tell me\r\n\r\n",
    ):
        with serving.dial(sent) as connection:
            assert connection.recv(12) == b"HTTP/1.1 400"
    with serving.dial(b"GET /away HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n") as connection:
        assert connection.recv(12) == b"HTTP/1.1 404"
    evil = HEAD.replace(b"localhost", b"evil.example")
    with serving.dial(evil + b"Transfer-Encoding: chunked\r\n\r\nno number\r\n") as connection:  # refused twice, answered once
        assert connection.recv(12) == b"HTTP/1.1 400"
    client = serving.send()
    serving.answer()
    assert receive(client).status == 200
    assert serving.said == []
