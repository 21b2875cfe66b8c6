"""Who asks for suggested masks waits a bounded time, however busy the worker is."""

import json

import pytest

from worker.asking.refusals import QueryReply, Refused
from worker.asking.requests import QueryRequest
from worker.service.suggestions_document import OfferedMasks
from worker.settings.settings import Settings, load_settings

SLOW_S = 4.0


class SlowLane:
    """Answers every question after `SLOW_S` on a clock of its own; remembers the deadlines."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.deadlines_s: list[float] = []

    def take_request(self, request: QueryRequest) -> bool:
        query = json.loads(request.value or b"")
        self.deadlines_s.append(query["deadline_ms"] / 1000)
        self.now_s += SLOW_S
        counts = [{"topic": "logs", "lines": 3}]
        answer = {"counts": counts} if query["as"] == "counts" else {"templates": [], "complete": True}
        request.requester.reply(QueryReply(json.dumps(answer).encode(), "answered"), deadline_s=None)
        return True


def two_questions() -> Settings:
    """Return settings for which the index is asked twice: some topic has masks of its own."""
    return load_settings(None, {"topic": [{"name": "logs", "mask": {"mode": "template"}}]})


def test_both_questions_share_one_deadline() -> None:
    lane = SlowLane()
    OfferedMasks(two_questions(), lane.take_request, clock=lambda: lane.now_s).document({})
    first_s, second_s = lane.deadlines_s
    assert second_s == first_s - SLOW_S


def test_who_waits_for_another_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.service.suggestions_document._ANSWER_S", 0.05)

    def ask_again(_request: QueryRequest) -> bool:
        with pytest.raises(Refused, match="others have been asking"):
            offered.document({})
        return False

    offered = OfferedMasks(two_questions(), ask_again)
    with pytest.raises(Refused, match="starting or stopping"):
        offered.document({})
