"""A question to the query lane of the same process: answered, refused, not answered."""

import json

import pytest

from worker.asking.lane_question import ask_lane
from worker.asking.refusals import QueryReply, Refused, error_reply
from worker.asking.requests import QueryRequest


def test_the_answer_comes_back_and_the_query_has_a_deadline() -> None:
    asked: list[QueryRequest] = []

    def take(request: QueryRequest) -> bool:
        asked.append(request)
        request.requester.reply(QueryReply(b'{"hits": []}', "answered"), deadline_s=None)
        return True

    assert ask_lane(take, {"text": "x"}, limit_s=2.0) == {"hits": []}
    assert json.loads(asked[0].value or b"") == {"text": "x", "deadline_ms": 2_000}


def test_who_gets_no_answer_is_told_why() -> None:
    def refuse(request: QueryRequest) -> bool:
        request.requester.reply(error_reply("bad_query", "Field required", field="k"), deadline_s=None)
        return True

    for take, limit_s, code, words in (
        (refuse, 1.0, "bad_query", "k: Field required"),
        (lambda _request: False, 1.0, "unavailable", "starting or stopping"),
        (lambda _request: True, -0.95, "expired", "no answer within"),
    ):
        with pytest.raises(Refused, match=words) as refused:
            ask_lane(take, {}, limit_s=limit_s)
        assert refused.value.code == code
