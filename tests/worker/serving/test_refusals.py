"""Requests that are refused at once: each gets its status and an error object, and none reaches the query lane."""

from collections.abc import Iterator

import pytest

from tests.worker.serving.conftest import Serve
from tests.worker.serving.serving import PATH, Serving, is_cut_off, receive
from worker.asking.refusals import BadQuery
from worker.querying.forms import parse_query
from worker.serving.request_checks import MAX_HEAD_BYTES, check_head, check_host, check_type
from worker.serving.responses import HttpError, json_object
from worker.serving.server import ServerLimits

MOST_BYTES = 1024


@pytest.fixture(scope="module")
def small() -> Iterator[Serving]:
    serving = Serving(limits=ServerLimits(body_bytes=MOST_BYTES))
    yield serving
    serving.close()
    assert serving.crashes == []


def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_not(small: Serving) -> None:
    client = small.send(b" " * MOST_BYTES)
    small.answer()
    assert receive(client).status == 200
    answer = small.refused(b" " * (MOST_BYTES + 1))
    assert (answer.status, answer.error["code"]) == (413, "too_large")


def test_a_body_that_says_that_it_is_too_long_is_refused_before_it_is_sent(small: Serving) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {1 << 40}\r\n\r\n"
    with small.dial(head.encode()) as connection:
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_a_body_of_pieces_without_end_is_refused_at_the_limit_and_then_cut_off(small: Serving) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection = small.dial(head.encode())
    piece = b"400\r\n" + b" " * 0x400 + b"\r\n"
    connection.sendall(piece * 2)
    assert connection.recv(12) == b"HTTP/1.1 413"
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        connection.sendall(piece * (50 * 1024))  # fifty times what is read and discarded
    assert is_cut_off(connection)


def test_a_long_body_in_pieces_reads_why_it_was_refused(small: Serving) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(500):
            yield b" " * 1024

    answer = small.refused(pieces())
    assert (answer.status, answer.error["code"]) == (413, "too_large")


def test_a_head_at_the_limit_is_taken_and_one_byte_more_is_not() -> None:
    headers = [(b"x", b"y" * (MAX_HEAD_BYTES - len(b"/api" + b"a=b" + b"x" + b": \r\n")))]
    check_head(b"/api", b"a=b", headers)
    with pytest.raises(HttpError) as refused:
        check_head(b"/api", b"a=bc", headers)
    assert refused.value.status == 431


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-le", "latin-1"])
def test_an_export_reads_a_query_no_more_leniently_than_a_search(encoding: str) -> None:
    body = '{"text": "über"}'.encode(encoding)
    with pytest.raises(HttpError, match="is not JSON"):
        json_object(body)
    with pytest.raises(BadQuery):
        parse_query(body)
    assert json_object('{"text": "über"}'.encode()) == {"text": "über"}


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp", "text/json"])
def test_only_json_is_taken_so_that_no_web_page_can_send_a_form(small: Serving, content_type: str) -> None:
    answer = small.refused(Content_Type=content_type)
    assert (answer.status, answer.error["field"]) == (415, "Content-Type")


def test_a_body_without_a_type_is_not_taken() -> None:
    with pytest.raises(HttpError):
        check_type(None)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(small: Serving, method: str) -> None:
    answer = small.refused(None, method=method)
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")
    assert method == "HEAD" or answer.error["code"] == "wrong_method"
    assert answer.headers["Access-Control-Allow-Origin"] is None


@pytest.mark.parametrize("path", ["/page", "/page/", "/api/search/", "/api", "/API/SEARCH", "//api/search", "/api/search%00", "/%ff"])
def test_other_paths_are_not_there(small: Serving, path: str) -> None:
    answer = small.refused(path=path)
    assert (answer.status, answer.error["code"], answer.headers["Location"]) == (404, "not_found", None)


def test_with_a_token_only_its_bearer_is_answered(serve: Serve) -> None:
    serving = serve(token="s3cr3t-Tok_en")  # noqa: S106 - the test's own
    for given in ["", "Bearer", "Bearer ", "Bearer s3cr3t", "Bearer s3cr3t-Tok_en2", "Basic s3cr3t-Tok_en", "s3cr3t-Tok_en", "Bearer \xe9"]:
        answer = serving.refused(Authorization=given, Host="search.example.org")
        assert (answer.status, answer.headers["WWW-Authenticate"], answer.error["code"]) == (401, "Bearer", "unauthorized")
        assert b"s3cr3t" not in answer.value
    assert serving.refused().status == 401
    for scheme in ("Bearer", "bearer"):
        client = serving.send(Authorization=f"{scheme} s3cr3t-Tok_en", Host="search.example.org")
        serving.answer()
        assert receive(client).status == 200


def test_a_name_that_was_made_to_point_at_this_machine_is_not_answered(small: Serving) -> None:
    for path in (PATH, "/", "/metrics"):
        answer = small.refused(path=path, Host="evil.example:8790")
        assert (answer.status, answer.error["code"]) == (421, "wrong_host")
    client = small.send(Host="localhost:1234")
    small.answer()
    assert receive(client).status == 200


@pytest.mark.parametrize("host", [None, "localhost", "LOCALHOST:8790", "127.0.0.1", "127.0.0.1:8790", "[::1]", "[::1]:8790", "10.0.0.7:80"])
def test_localhost_and_addresses_are_names_of_ours(host: str | None) -> None:
    check_host(host)


@pytest.mark.parametrize("host", ["", ":8790", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "*"])
def test_every_other_name_is_somebody_elses(host: str) -> None:
    with pytest.raises(HttpError):
        check_host(host)


def test_on_an_address_that_others_reach_any_name_is_answered_and_a_missing_token_is_said(serve: Serve) -> None:
    serving = serve(host="0.0.0.0", allow_without_token=True)  # noqa: S104 - the subject of the test; the client connects to 127.0.0.1
    client = serving.send(Host="logs.example.org")
    serving.answer()
    assert receive(client).status == 200
    assert [line.partition(":")[0] for line in serving.said] == ["http listens on 0.0.0.0 without a token"]
