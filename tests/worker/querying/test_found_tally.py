"""How well questions are answered is counted: of people's questions that look for something, and of no others."""

import json

import pytest

from tests.worker.chain import Chain
from worker.asking.lane_question import ask_lane
from worker.asking.refusals import QueryReply, Refused
from worker.asking.requests import QueryRequest, Requester
from worker.querying.found_tally import FoundTally


def asked(chain: Chain, **request: object) -> FoundTally:
    chain.ask(request)
    chain.embed()
    chain.answer()
    return chain.answer_step.found


def test_an_answer_by_meaning_tells_how_near_its_best_hit_is(chain: Chain) -> None:
    chain.index("disk full", "network down")
    found = asked(chain, text="disk full")
    assert found.results == {"found": 1}
    buckets = dict(found.best.seen().buckets)
    assert (buckets[0.95], buckets[1.0]) == (0, 1)
    assert found.best.seen().total == pytest.approx(1.0, abs=1e-3)


def test_a_listing_of_templates_counts_as_one_of_lines_does(chain: Chain) -> None:
    chain.index("disk full")
    assert asked(chain, **{"text": "disk full", "as": "templates"}).results == {"found": 1}
    assert chain.answer_step.found.best.seen().buckets[-1][1] == 1


def test_an_answer_without_a_hit_is_empty_and_has_no_best(chain: Chain) -> None:
    chain.index("disk full")
    found = asked(chain, text="disk full", filters={"service": ["nobody"]})
    assert found.results == {"empty": 1}
    assert found.best.seen().total == 0.0


def test_a_score_by_words_is_no_cosine(chain: Chain) -> None:
    chain.index("disk full")
    found = asked(chain, text="disk", mode="words")
    assert found.results == {"found": 1}
    assert found.best.seen().buckets[-1][1] == 0


@pytest.mark.parametrize(
    "request_",
    [{"as": "templates"}, {"as": "counts"}, {"around": {"topic": "logs", "partition": 0, "offset": 0}}, {"text": "disk", "k": 0}],
    ids=["a listing by frequency", "counts", "neighbours", "a bad query"],
)
def test_what_looks_for_nothing_does_not_count(chain: Chain, request_: dict[str, object]) -> None:
    chain.index("disk full")
    assert asked(chain, **request_).results == {}


def test_what_the_worker_asks_itself_does_not_count(chain: Chain) -> None:
    taken: list[QueryRequest] = []
    with pytest.raises(Refused):
        ask_lane(lambda request: bool(taken.append(request)), {"text": "disk full"}, limit_s=1.0)  # type: ignore[func-returns-value] # it refuses
    replies: list[QueryReply] = []
    requester = Requester(lambda reply, *, deadline_s: replies.append(reply), chain.now_s, is_own=taken[0].requester.is_own)  # noqa: ARG005, PLW0108 - the deadline is given by name
    chain.index("disk full")
    chain.prepare_queries.step([QueryRequest(json.dumps({"text": "disk full"}).encode(), requester)])
    chain.embed()
    chain.answer()
    assert [reply.code for reply in replies] == ["answered"]
    assert chain.answer_step.found.results == {}
