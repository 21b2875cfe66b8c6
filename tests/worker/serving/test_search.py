"""`POST /api/search` and `/api/counts`: what is answered, with which status, and what is refused before it is read."""

import time

import pytest

from tests.worker.running import wait_until
from tests.worker.serving.conftest import Serve
from tests.worker.serving.serving import HITS, PATH, receive, reply_to
from worker.asking.refusals import ErrorCode, error_reply
from worker.serving.server import ServerLimits


def test_a_query_reaches_the_lane_as_it_came_and_its_reply_is_the_answer(serve: Serve) -> None:
    serving = serve()
    before_s = time.monotonic()
    client = serving.send(b'{"text": "disk full"}', Content_Type="Application/JSON; charset=utf-8")
    request = serving.answer()
    answer = receive(client)
    assert (request.value, request.sent_ms, request.requester.deadline_s) == (b'{"text": "disk full"}', 0, None)
    assert before_s <= request.requester.taken_s <= time.monotonic()
    assert (answer.status, answer.value, answer.headers["Content-Type"]) == (200, HITS, "application/json")
    assert (answer.headers["Cache-Control"], answer.headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
    assert answer.headers["Server"] is None


def test_a_path_says_what_its_answers_hold(serve: Serve) -> None:
    serving = serve()
    forms = {"search": None, "templates": "templates", "counts": "counts", "around": "lines", "compare": "compare"}
    for name, form in forms.items():
        client = serving.send(b'{"around": {}}', path=f"/api/{name}")
        assert serving.answer().form == form
        assert receive(client).status == 200


@pytest.mark.parametrize(
    ("code", "status", "again_s"),
    [("bad_query", 400, None), ("expired", 504, None), ("unavailable", 503, "5")],
)
def test_an_error_of_the_pipeline_has_its_status_and_stays_as_it_is(
    serve: Serve, code: ErrorCode, status: int, again_s: str | None
) -> None:
    serving = serve()
    reply = error_reply(code, "why", field="k")
    client = serving.send()
    serving.answer(*reply)
    answer = receive(client)
    assert (answer.status, answer.value, answer.headers["Retry-After"]) == (status, reply.value, again_s)
    assert answer.error == {"code": code, "field": "k", "reason": "why"}


def test_one_connection_serves_many_queries_and_refusals_in_between(serve: Serve) -> None:
    serving = serve()
    client = serving.client()
    seen = []
    for number in range(3):
        client.request("POST", PATH, str(number), {"Content-Type": "application/json"})
        assert serving.answer(b'{"hits": [%d]}' % number).value == b"%d" % number
        seen.append(receive(client, keep=True).value)
        client.request("POST", PATH, "x", {"Content-Type": "text/plain"})
        assert receive(client, keep=True).status == 415
    client.close()
    assert seen == [b'{"hits": [0]}', b'{"hits": [1]}', b'{"hits": [2]}']


def test_of_two_hundred_at_once_four_are_open_and_the_others_are_told_to_come_again(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(open_queries=4))
    clients = {b"%d" % number: serving.send(b"%d" % number) for number in range(200)}
    opened = {request.value: request for request in (serving.taken() for _ in range(4))}
    refused = [receive(client) for value, client in clients.items() if value not in opened]
    assert len(refused) == 196
    assert {(answer.status, answer.headers["Retry-After"], answer.error["code"]) for answer in refused} == {(429, "1", "too_many")}
    for value, request in opened.items():
        reply_to(request, b'{"hits": [%b]}' % (value or b""))
    answers = {value: receive(clients[value]) for value in opened if value is not None}
    assert {value: (answer.status, answer.value) for value, answer in answers.items()} == {
        value: (200, b'{"hits": [%b]}' % value) for value in answers
    }
    assert serving.requests.empty()
    again = [serving.send() for _ in range(4)]  # every place is free again
    for _ in again:
        serving.answer()
    assert [receive(client).status for client in again] == [200] * 4


def test_a_query_that_nobody_answers_is_given_up_and_its_place_is_free_again(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(open_queries=1, query_s=0.05))
    answer = receive(serving.send(b"1"))
    assert (answer.status, answer.error["code"]) == (504, "expired")
    late = serving.taken()
    assert late.requester.is_gone()
    client = serving.send(b"2")
    assert serving.taken().value == b"2"
    reply_to(late, b"too late")
    assert receive(client).status == 504
    assert serving.said == []


def test_a_query_without_a_reply_at_its_deadline_is_given_up_then_and_counts_as_open_until_a_step_replies(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(open_queries=1))
    answer = receive(serving.send(b'{"text": "disk full", "deadline_ms": 1}'))
    assert (answer.status, answer.error["code"], answer.error["field"]) == (504, "expired", "deadline_ms")
    late = serving.taken()
    assert not late.requester.is_gone(), "the step that finds it late says so"
    assert serving.refused().status == 429, "it is still in the lane"
    reply_to(late, b"too late")
    client = serving.send(b"2")
    assert (serving.answer().value, receive(client).status) == (b"2", 200)


def test_a_worker_that_takes_no_queries_yet_says_when_to_ask_again(serve: Serve) -> None:
    serving = serve(takes=False, limits=ServerLimits(open_queries=1))
    for _ in range(3):  # what is not taken holds no place
        answer = serving.refused()
        assert (answer.status, answer.headers["Retry-After"], answer.error["code"]) == (503, "5", "unavailable")


def test_a_client_that_hangs_up_disturbs_nobody(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(open_queries=1))
    client = serving.send(b"gone")
    request = serving.taken()
    assert not request.requester.is_gone()
    client.close()
    wait_until(request.requester.is_gone, "the worker to notice it")
    assert serving.refused().status == 429, "its query is still in the lane"
    reply_to(request)
    client = serving.send(b"here")
    assert not (here := serving.answer()).requester.is_gone()
    assert (here.value, receive(client).status) == (b"here", 200)


def test_a_client_that_hangs_up_within_its_body_is_forgotten(serve: Serve) -> None:
    serving = serve()
    head = b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n"
    serving.dial(head + b"{").close()
    client = serving.send(b"whole")
    assert serving.answer().value == b"whole"
    assert receive(client).status == 200
    assert serving.said == []
