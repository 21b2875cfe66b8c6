"""Which questions share a search, and that each keeps what is its own."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.worker.chain import Chain
from worker.asking.question import Query
from worker.asking.refusals import QueryReply
from worker.asking.requests import Requester
from worker.querying.open_searches import OpenSearches
from worker.querying.ranking import Meaning
from worker.querying.ready_query import ReadyQuery

NOW_MS = 1_000_000
ASKED: dict[str, Any] = {"text": "disk full", "filters": {"since_ms": NOW_MS, "service": ["web"]}}


def no_reply(reply: QueryReply, *, deadline_s: float | None) -> None:
    """Take a reply and do nothing with it."""


def ready(**changes: object) -> ReadyQuery:
    return ReadyQuery(Requester(no_reply, 0.0), Query.model_validate(ASKED | changes), np.zeros(3, np.float32), 0.0, 0.0)


def shares(one: ReadyQuery, other: ReadyQuery) -> bool:
    searches = OpenSearches()
    assert searches.add_question(one) is not None
    return searches.add_question(other) is None


def test_equal_questions_share_a_search_whenever_each_must_be_answered() -> None:
    assert shares(ready(), ready(deadline_ms=50))
    assert shares(ready(deadline_ms=9_000), ready(deadline_ms=50))


@pytest.mark.parametrize(
    "other",
    [
        ready(text="Disk full"),
        ready(k=3),
        ready(mode="dense"),
        ready(**{"as": "templates"}),
        ready(per_template=5),
        ready(widen=True),
        ready(filters={"since_ms": NOW_MS + 1, "service": ["web"]}),
        ready(filters={"since_ms": NOW_MS}),
        ready(filters={"since_ms": NOW_MS, "not_service": ["web"]}),
        ready()._replace(vector=None),
        ready()._replace(is_exact=True),
    ],
)
def test_questions_that_differ_in_anything_else_do_not(other: ReadyQuery) -> None:
    assert not shares(ready(), other)


def test_the_vectors_of_two_models_are_two_questions(chain: Chain) -> None:
    before, after = Meaning(chain.sink.templates, None), Meaning(chain.sink.templates, None)
    assert not shares(ready()._replace(meaning=before), ready()._replace(meaning=after))
    assert shares(ready()._replace(meaning=before), ready()._replace(meaning=before))


def test_a_search_that_has_begun_is_not_joined_until_it_begins_anew() -> None:
    searches = OpenSearches()
    first = searches.add_question(ready())
    assert first is not None
    searches.begin(first)
    assert searches.add_question(ready()) is not None
    searches = OpenSearches()
    searches.wait_again(first)
    assert searches.add_question(ready()) is None
    assert len(first.asked) == 2
    assert searches.shared == 1


def test_what_was_read_before_a_question_came_is_not_its_answer() -> None:
    searches = OpenSearches()
    first = searches.add_question(ready())
    assert first is not None
    first.near = []
    searches.add_question(ready())
    assert first.near is None


def test_ten_equal_questions_read_the_index_as_one_does_and_each_has_its_own_reply(chain: Chain) -> None:
    chain.index("disk full", "network down")
    calls: list[int] = []
    for asked in (1, 1, 10):
        for number in range(asked):
            chain.ask({"text": "disk full", "deadline_ms": 5_000 + number})
        chain.embed()
        chain.sink.calls.clear()
        chain.answer()
        calls.append(len(chain.sink.calls))
    assert calls[1] == calls[2] > 0
    assert chain.answer_step.searches.shared == 9
    replies = chain.answer()
    assert [reply["hits"][0]["text"] for reply in replies] == ["disk full"] * 12
    assert len(set(chain.reply_deadlines_s)) == 10
    assert chain.query_ledger.open_records == 0


def test_one_that_hangs_up_does_not_end_the_search_of_the_others(chain: Chain) -> None:
    chain.index("disk full")
    replies: list[QueryReply] = []
    looks = itertools.count()

    def ask(is_gone: Callable[[], bool]) -> ReadyQuery:
        requester = Requester(lambda reply, *, deadline_s: replies.append(reply), chain.now_s, is_gone=is_gone)  # noqa: ARG005, PLW0108 - the deadline is given by name
        return ReadyQuery(requester, Query(text="disk full", mode="words"), None, 0.0, 0.0)

    chain.answer_step.step([ask(lambda: next(looks) > 0), ask(lambda: False)])
    assert sorted(reply.code for reply in replies) == ["abandoned", "answered"]
    assert chain.answer_step.tally.outcomes == {"abandoned": 1, "answered": 1}
