"""What a client can occupy: few connections, and none for long unless a request on it is being answered."""

import pytest

from tests.worker.http.conftest import Serve
from tests.worker.http.serving import HEAD, QUERY, Serving, is_cut_off, receive, reply_to
from worker.http.server import ServerLimits

SHORT = ServerLimits(idle_s=0.5)
MORE_THAN_SOCKETS_TAKE = 20_000_000


def wait_idle(serving: Serving) -> None:
    """Wait longer than an idle connection lives."""
    for _ in range(2):
        assert is_cut_off(serving.dial())


def test_a_connection_that_says_nothing_is_cut_off(serve: Serve) -> None:
    assert is_cut_off(serve(limits=SHORT).dial())


def test_a_head_that_does_not_end_is_cut_off(serve: Serve) -> None:
    assert is_cut_off(serve(limits=SHORT).dial(HEAD))


def test_a_head_that_does_not_end_after_a_first_request_is_cut_off(serve: Serve) -> None:
    serving = serve(limits=SHORT)
    connection = serving.dial(QUERY)
    serving.answer()
    assert connection.recv(12) == b"HTTP/1.1 200"
    connection.sendall(HEAD)
    assert is_cut_off(connection)


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


def test_a_query_that_is_being_answered_may_take_longer(serve: Serve) -> None:
    serving = serve(limits=SHORT)
    connection = serving.dial(QUERY)
    request = serving.taken()
    wait_idle(serving)
    reply_to(request)
    assert connection.recv(12) == b"HTTP/1.1 200"
    connection.close()


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


def test_connections_beyond_the_limit_are_cut_off_until_one_of_the_others_leaves(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(max_connections=3))
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
    with serving.dial(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n") as connection:
        assert connection.recv(12) == b"HTTP/1.1 404"
    evil = HEAD.replace(b"localhost", b"evil.example")
    with serving.dial(evil + b"Transfer-Encoding: chunked\r\n\r\nno number\r\n") as connection:  # refused twice, answered once
        assert connection.recv(12) == b"HTTP/1.1 400"
    client = serving.send()
    serving.answer()
    assert receive(client).status == 200
    assert serving.said == []
