"""Live tails: what is new comes once, an outage is said once, and a tail ends with its client or with the worker."""

import itertools
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.worker.running import wait_until
from tests.worker.serving.conftest import Serve
from tests.worker.serving.export_lane import lines_at
from tests.worker.serving.reader import Reader
from tests.worker.serving.serving import is_cut_off
from worker.asking.refusals import QueryReply, error_reply
from worker.asking.requests import QueryRequest
from worker.serving.server import ServerLimits
from worker.serving.streams import StreamRules

FAST = ServerLimits(streams=StreamRules(poll_s=0.001))
LINES = lines_at(1, 2, 3)
MORE_THAN_SOCKETS_TAKE = 20_000_000


def path_of(**query: Any) -> str:  # noqa: ANN401 - a query's
    return "/api/tail?" + urlencode({"query": json.dumps(query)})


def found(cursor: str, *lines: dict[str, Any], dropped: int = 0, complete: bool = True) -> QueryReply:
    """Return the reply that holds these lines."""
    answer = {"lines": lines, "cursor": cursor, "dropped": dropped, "dropped_by_level": {}, "complete": complete, "seconds": {}}
    return QueryReply(json.dumps(answer).encode(), "answered")


class Script:
    """Answers a tail's questions one after the other; those after the last with nothing new.

    Thread: the server's.
    """

    def __init__(self, *replies: QueryReply, last: str = "c-last") -> None:
        self._replies: Iterator[QueryReply] = iter(replies)
        self._last = last
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: QueryRequest) -> QueryReply:
        """Reply to a request."""
        assert request.form == "tail"
        self.asked.append(json.loads(request.value or b""))
        return next(self._replies, found(self._last))


def test_what_is_new_comes_once_with_a_cursor_and_a_count_of_what_was_left_out(serve: Serve) -> None:
    serving = serve(limits=FAST)
    serving.replies = script = Script(found("c1", LINES[0]), found("c1"), found("c2", LINES[1], LINES[2], dropped=7))
    with Reader(serving, path_of(text="disk", mode="words")) as reader:
        assert (reader.response.status, reader.response.headers["Content-Type"]) == (200, "text/event-stream")
        retry, first, second = itertools.islice(reader.events(), 3)
        wait_until(lambda: len(script.asked) > 4, "further questions")
    assert retry == {"retry": "2000"}
    assert (first["id"], first["event"], json.loads(first["data"])) == (
        "c1",
        "lines",
        {"lines": [LINES[0]], "dropped": 0, "dropped_by_level": {}, "complete": True},
    )
    assert (second["id"], json.loads(second["data"])) == (
        "c2",
        {"lines": [LINES[1], LINES[2]], "dropped": 7, "dropped_by_level": {}, "complete": True},
    )
    asked = {"text": "disk", "mode": "words"}
    assert script.asked[:4] == [asked, asked | {"after": "c1"}, asked | {"after": "c1"}, asked | {"after": "c2"}]


def test_a_browser_that_reconnects_goes_on_where_it_was(serve: Serve) -> None:
    serving = serve(limits=FAST)
    serving.replies = script = Script()
    with Reader(serving, path_of(after="old"), Last_Event_ID="seen") as reader:
        assert next(reader.events()) == {"retry": "2000"}
    assert script.asked[0]["after"] == "seen"


def test_an_outage_is_said_once_and_so_is_its_end_and_no_line_is_lost(serve: Serve) -> None:
    serving = serve(limits=FAST)
    away = error_reply("unavailable", "Milvus is away")
    serving.replies = script = Script(found("c1"), away, away, away, found("c1"), found("c2", LINES[0]))
    with Reader(serving, path_of()) as reader:
        _, begun, problem, back, lines = itertools.islice(reader.events(), 5)
    assert (begun["event"], problem["event"], back["event"], lines["event"]) == ("lines", "problem", "lines", "lines")
    assert json.loads(problem["data"])["error"] == {"code": "unavailable", "field": "", "reason": "Milvus is away"}
    assert (json.loads(back["data"])["lines"], json.loads(lines["data"])["lines"]) == ([], [LINES[0]])
    assert {asked.get("after") for asked in script.asked[1:6]} == {"c1"}


def test_that_lines_may_be_missing_is_said_once(serve: Serve) -> None:
    serving = serve(limits=FAST)
    unsure = found("c2", complete=False)
    serving.replies = Script(found("c1"), unsure, unsure, found("c3"), found("c4", LINES[0]))
    with Reader(serving, path_of()) as reader:
        _, *events = itertools.islice(reader.events(), 5)
    shown = [json.loads(event["data"]) for event in events]
    assert [(len(one["lines"]), one["complete"]) for one in shown] == [(0, True), (0, False), (0, True), (1, True)]


def test_while_nothing_is_new_a_comment_keeps_the_connection_open_and_the_cursor_fresh(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(streams=StreamRules(poll_s=0.001, heartbeat_s=0.01)))
    serving.replies = Script(found("c1"), last="c9")
    with Reader(serving, path_of()) as reader:
        assert [event.get("id") for event in itertools.islice(reader.events(), 3)] == [None, "c1", "c9"]


def test_text_of_a_log_cannot_end_an_event(serve: Serve) -> None:
    serving = serve(limits=FAST)
    evil = LINES[0] | {"text": "a\n\nevent: problem\ndata: {}\r\n\r\u2028\udc00"}
    serving.replies = Script(found("c1\nevent: problem", evil))
    with Reader(serving, path_of()) as reader:
        _, event = itertools.islice(reader.events(), 2)
    assert (event["event"], event.get("id")) == ("lines", None)
    assert json.loads(event["data"])["lines"][0]["text"] == "a\n\nevent: problem\ndata: {}\r\n\r\u2028?"


def test_a_tail_that_is_refused_is_an_error_like_any_other(serve: Serve) -> None:
    serving = serve()
    serving.replies = lambda _request: error_reply("bad_query", "is no cursor", field="after")
    answer = serving.get(path_of(after="x"))
    assert (answer.status, answer.error["field"]) == (400, "after")
    stopped = serve(takes=False).get(path_of())
    assert (stopped.status, stopped.headers["Retry-After"]) == (503, "5")


@pytest.mark.slow
def test_a_tail_that_was_read_late_and_is_quiet_then_stays_open(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(first_byte_s=0.4, idle_s=0.4, streams=StreamRules(poll_s=0.001)))
    serving.replies = Script(found("c1", LINES[0] | {"text": "x" * MORE_THAN_SOCKETS_TAKE}))
    with Reader(serving, path_of()) as reader:
        events = reader.events()
        assert len([*itertools.islice(events, 2)]) == 2
        for _ in range(4):
            assert is_cut_off(serving.dial())  # takes as long as an idle connection lives
        serving.replies = Script(found("c2", LINES[1]))
        assert json.loads(next(events)["data"])["lines"] == [LINES[1]]


def test_a_tail_ends_when_the_worker_drains_and_says_so(serve: Serve) -> None:
    serving = serve()
    serving.replies = Script(found("c1", LINES[0]))
    with Reader(serving, path_of()) as reader:
        events = reader.events()
        assert [event.get("event") for event in itertools.islice(events, 2)] == [None, "lines"]
        serving.server.stop_intake()
        (last,) = events
    assert (last["event"], json.loads(last["data"])["error"]["reason"]) == ("problem", "the worker stops")


def test_a_tail_whose_client_has_gone_asks_no_more_and_its_place_is_free(serve: Serve) -> None:
    serving = serve(limits=ServerLimits(streams=StreamRules(max_tails=1, poll_s=0.001)))
    serving.replies = script = Script()
    with Reader(serving, path_of(text="gone")) as reader:
        assert next(reader.events())
        refused = serving.refused(None, method="GET", path=path_of())
        assert (refused.status, refused.headers["Retry-After"]) == (429, "5")

    def is_open() -> bool:
        with Reader(serving, path_of(text="again")) as again:
            return again.response.status == 200

    wait_until(is_open, "the place of the first")
    first = [query for query in script.asked if query["text"] == "gone"]
    wait_until(is_open, "the place of the second")
    assert [query for query in script.asked if query["text"] == "gone"] == first
