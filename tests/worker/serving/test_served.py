"""A whole service that answers over HTTP: the same replies as over Kafka, and 503 before it is open and while it drains."""

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.worker.running import WAIT_S, World, lines_of, wait_until
from tests.worker.serving.schemas import check
from worker.runtime.listening import Listening, listen
from worker.service.shutdown import Ending
from worker.settings.service_tables import HttpTable


def ask(listening: Listening, request: dict[str, object], *, path: str = "/api/search") -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(listening.host, listening.port, timeout=WAIT_S)
    try:
        connection.request("POST", path, json.dumps(request), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def get(listening: Listening, path: str, *, statuses: tuple[int, ...] = (200,)) -> bytes:
    connection = http.client.HTTPConnection(listening.host, listening.port, timeout=WAIT_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.status in statuses
        return response.read()
    finally:
        connection.close()


@pytest.fixture
def listening(world: World) -> Iterator[Listening]:
    world.http = listen(HttpTable(port=0))
    yield world.http
    world.http.socket.close()


def test_over_http_the_answer_is_that_of_kafka(world: World, listening: Listening) -> None:
    running = world.start().opened()
    world.send(lines_of(70))
    wait_until(lambda: len(world.stored()) == 70, "all lines")
    request: dict[str, object] = {"text": "printer failed", "k": 3}
    status, answer = ask(listening, request)
    (expected,) = world.ask(request)
    assert (status, answer["hits"], answer["mode"]) == (200, expected["hits"], "hybrid")
    assert len(answer["hits"]) == 3
    status, refused = ask(listening, {"text": "printer", "k": 0})
    assert (status, refused["error"]["field"]) == (400, "k")
    status, counted = ask(listening, {"by": ["topic"]}, path="/api/counts")
    assert (status, counted["counts"][0]["lines"], counted["complete"]) == (200, 70, True)
    assert running.service.pipeline.querying.answer.tally.outcomes.total() == 4
    assert running.stop() == Ending.DRAINED


QUERIES: list[tuple[str, str, dict[str, object]]] = [
    ("search", "Hits", {"text": "printer failed", "k": 3}),
    ("search", "Hits", {"text": "printer failed", "mode": "words", "filters": {"level": ["", "ERROR"]}}),
    ("templates", "Templates", {}),
    ("templates", "Templates", {"text": "printer failed", "expand": True}),
    ("counts", "Counts", {"by": ["time", "level"], "buckets": 10}),
    ("counts", "SeveralCounts", {"by": [["family", "field:pod"], ["time", "level"], ["service"]], "facets": True}),
    ("search", "Hits", {"text": "printer failed", "widen": True, "filters": {"until_ms": -5}}),
    ("compare", "Changes", {"filters": {"since_ms": 0, "until_ms": 1 << 50}, "compare": {"since_ms": -10, "until_ms": 0}}),
    ("search", "Exported", {"as": "export", "k": 3}),
    ("search", "Tailed", {"as": "tail"}),
]


def test_what_a_worker_answers_is_what_its_openapi_document_says(world: World, listening: Listening) -> None:
    running = world.start().opened()
    world.send(lines_of(70))
    wait_until(lambda: len(world.stored()) == 70, "all lines")
    for name, schema, request in QUERIES:
        status, answer = ask(listening, request, path=f"/api/{name}")
        assert status == 200, answer
        check(schema, answer)
        check("Searched", answer)
    _, found = ask(listening, {"text": "printer failed", "k": 1})
    place = {name: found["hits"][0][name] for name in ("topic", "partition", "offset")}
    check("Hits", ask(listening, {"around": place}, path="/api/around")[1])
    documents = {"status": "Status", "lag": "Lag", "dead-letters": "DeadLetters", "doctor?group=settings": "Doctor"}
    for path, schema in (documents | {"suggestions": "Suggestions"}).items():
        answer = json.loads(get(listening, f"/api/{path}"))
        check(schema, answer)
    for page in ("/healthz", "/readyz"):
        check("Verdict", json.loads(get(listening, page, statuses=(200, 503))))
    assert running.stop() == Ending.DRAINED


def test_every_line_is_exported_once_and_followed_while_it_comes(world: World, listening: Listening) -> None:
    running = world.start().opened()
    world.send(lines_of(70))
    wait_until(lambda: len(world.stored()) == 70, "all lines")
    *lines, last = get(listening, "/api/export?query=%7B%22k%22%3A%207%7D").splitlines()
    assert json.loads(last)["export"]["state"] == "complete"
    exported = [json.loads(line) for line in lines]
    assert len({line["id"] for line in exported}) == len(exported) == 70
    connection = http.client.HTTPConnection(listening.host, listening.port, timeout=WAIT_S)
    connection.request("GET", "/api/tail")
    response = connection.getresponse()
    followed: set[str] = set()
    world.send(lines_of(5))
    while len(followed - {line["id"] for line in exported}) < 5:
        name, _, data = response.readline().decode().partition(": ")
        if name == "data":
            event = json.loads(data)
            check("TailEvent", event)
            followed.update(line["id"] for line in event["lines"])
    assert running.stop() == Ending.DRAINED  # which ends the stream
    assert b"the worker stops" in response.read()
    connection.close()


def test_before_the_index_is_open_nobody_is_asked(world: World, listening: Listening) -> None:
    world.fake_sink.busy_calls = 10**9
    running = world.start()
    status, refused = ask(listening, {"text": "printer"})
    assert (status, refused["error"]["code"]) == (503, "unavailable")
    world.fake_sink.busy_calls = 0
    running.opened()
    assert ask(listening, {"text": "printer"})[0] == 200
    assert running.stop() == Ending.DRAINED


def test_a_query_that_is_open_when_the_drain_begins_is_answered(world: World, listening: Listening) -> None:
    running = world.start().opened()
    world.send(lines_of(7))
    wait_until(lambda: len(world.stored()) == 7, "all lines")
    sink = world.fake_sink
    sink.entered.clear()
    sink.gate.clear()
    answers: list[tuple[int, dict[str, Any]]] = []
    asking = threading.Thread(target=lambda: answers.append(ask(listening, {"text": "printer failed", "k": 1})))
    asking.start()
    assert sink.entered.wait(WAIT_S)
    running.service.stop()
    wait_until(lambda: ask_refused(listening), "the end of the intake")
    sink.gate.set()
    asking.join(WAIT_S)
    assert [(status, len(answer["hits"])) for status, answer in answers] == [(200, 1)]
    assert running.wait() == Ending.DRAINED


def ask_refused(listening: Listening) -> bool:
    return ask(listening, {"text": "printer"})[0] == 503
