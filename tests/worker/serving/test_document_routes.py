"""Documents and actions: they may wait for other services, and hold up nothing but those who ask for the same."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from tests.worker.serving.conftest import Serve
from tests.worker.serving.serving import WAIT_S, receive
from worker.asking.documents import PageText
from worker.serving.document_routes import MOST_WAITING, OneAtATime
from worker.serving.responses import HttpError

LAG = "/api/lag"
REPLAY = "/api/dead-letters/replay"


def echo(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"given": dict(given), "text": "caf\u00e9 \udc00"}


class Hanging:
    """A document that answers when the test says so.

    Thread: any.
    """

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.running = 0
        self.most_running = 0

    def __call__(self, _given: Mapping[str, Any]) -> dict[str, Any]:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self.entered.release()
        assert self.may_answer.wait(WAIT_S)
        self.running -= 1
        return {"ok": True}


def test_a_document_gets_what_the_url_says_and_is_sent_as_json(serve: Serve) -> None:
    serving = serve(documents={LAG: echo})
    answer = serving.get(f"{LAG}?limit=7&group=a%20b&limit=8")
    assert (answer.status, answer.headers["Content-Type"], answer.headers["Cache-Control"]) == (200, "application/json", "no-store")
    assert json.loads(answer.value) == {"given": {"limit": "8", "group": "a b"}, "text": "caf\u00e9 ?"}
    assert serving.refused(b"{}", path=LAG).status == 405


def test_an_action_gets_the_posted_object_and_nothing_else(serve: Serve) -> None:
    serving = serve(actions={REPLAY: echo})
    assert json.loads(receive(serving.send(b'{"ids": ["0/1"]}', path=REPLAY)).value)["given"] == {"ids": ["0/1"]}
    for body in (b"", b"[]", b"null", b"{", b"\xff", b"[" * 60_000, b'{"a": ' + b"9" * 5_000 + b"}"):
        answer = serving.refused(body, path=REPLAY)
        assert (answer.status, answer.error["code"]) == (400, "bad_query")
    assert serving.refused(b"{}", path=REPLAY, Content_Type="text/plain").status == 415
    assert serving.refused(None, method="GET", path=REPLAY).status == 405


def test_an_error_of_a_document_is_the_answer_and_a_fault_is_said(serve: Serve) -> None:
    def refuses(_given: Mapping[str, Any]) -> dict[str, Any]:
        raise HttpError(409, "busy", "another replay is running")

    def fails(_given: Mapping[str, Any]) -> dict[str, Any]:
        raise KeyError("planted")

    serving = serve(documents={"/api/refuses": refuses, "/api/fails": fails, "/api/nan": lambda _given: {"a": float("nan")}})
    assert serving.get("/api/refuses").error == {"code": "busy", "field": "", "reason": "another replay is running"}
    for path in ("/api/fails", "/api/nan"):
        answer = serving.get(path)
        assert (answer.status, answer.error["code"]) == (500, "internal")
    assert [line.partition(" at ")[0].rpartition(" ")[2] for line in serving.said] == ["KeyError", "ValueError"]
    assert "planted" not in str(serving.said)


def test_a_document_that_hangs_holds_up_nothing_else(serve: Serve) -> None:
    hanging = Hanging()
    serving = serve(documents={LAG: hanging, "/api/status": echo}, pages={"/healthz": lambda _accept: PageText(b"{}", "application/json")})
    waiting = [serving.send(None, method="GET", path=LAG) for _ in range(MOST_WAITING)]
    assert hanging.entered.acquire(timeout=WAIT_S)
    refused = serving.refused(None, method="GET", path=LAG)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert [serving.get(path).status for path in ("/healthz", "/api/status", "/")] == [200, 200, 200]
    client = serving.send()
    serving.answer()
    assert receive(client).status == 200
    hanging.may_answer.set()
    assert {receive(client).status for client in waiting} == {200}
    assert hanging.most_running == 1


@pytest.mark.slow
def test_a_document_that_hangs_does_not_hold_up_the_end(serve: Serve) -> None:
    hanging = Hanging()
    serving = serve(documents={LAG: hanging})
    client = serving.send(None, method="GET", path=LAG)
    assert hanging.entered.acquire(timeout=WAIT_S)
    serving.close()
    client.close()
    hanging.may_answer.set()


def test_who_waits_too_long_is_told_so_and_the_next_one_gets_no_turn_before_the_call_has_ended() -> None:
    hanging = Hanging()

    async def ask_again_and_again() -> None:
        document = OneAtATime("lag", hanging, timeout_s=0.05)
        for _ in range(2):
            with pytest.raises(HttpError) as refused:
                await document.ask({})
            assert (refused.value.status, refused.value.headers) == (504, {"Retry-After": "5"})
        assert hanging.entered.acquire(timeout=WAIT_S)
        assert not hanging.entered.acquire(blocking=False)  # the second question never began
        hanging.may_answer.set()
        assert await _answered(document) == {"ok": True}

    asyncio.run(ask_again_and_again())


async def _answered(document: OneAtATime[Mapping[str, str]]) -> Mapping[str, Any]:
    """Ask until there is an answer."""
    async with asyncio.timeout(WAIT_S):
        while True:
            with contextlib.suppress(HttpError):
                return await document.ask({})


def test_around_asks_for_a_place(serve: Serve) -> None:
    serving = serve()
    for body in (b'{"text": "disk"}', b"[]", b"{"):
        answer = serving.refused(body, path="/api/around")
        assert (answer.status, answer.error["code"]) == (400, "bad_query")
