"""A whole service that answers over HTTP: the same replies as over Kafka, and 503 before it is open and while it drains."""

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.worker.running import WAIT_S, World, lines_of, wait_until
from worker.http.listening import Listening, listen
from worker.runtime.process import DRAINED
from worker.settings.service_tables import HttpTable


def ask(listening: Listening, request: dict[str, object], *, path: str = "/api/search") -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(listening.host, listening.port, timeout=WAIT_S)
    try:
        connection.request("POST", path, json.dumps(request), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
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
    assert running.service.pipeline.query_tally.received == 4
    assert running.stop() == DRAINED


def test_before_the_index_is_open_nobody_is_asked(world: World, listening: Listening) -> None:
    world.fake_sink.busy_calls = 10**9
    running = world.start()
    status, refused = ask(listening, {"text": "printer"})
    assert (status, refused["error"]["code"]) == (503, "unavailable")
    world.fake_sink.busy_calls = 0
    running.opened()
    assert ask(listening, {"text": "printer"})[0] == 200
    assert running.stop() == DRAINED


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
    assert running.wait() == DRAINED


def ask_refused(listening: Listening) -> bool:
    return ask(listening, {"text": "printer"})[0] == 503
