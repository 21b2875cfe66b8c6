"""What a query gets back, when its receipt settles, and how long a busy sink is waited for."""

import json
from collections.abc import Callable

import pytest

from producers.replies import Reply
from sinks.sink import SinkBroken
from tests.worker.chain import QUERIES, REPLIES, Chain
from worker.answer import PATIENCE_S, RETRY_S, Answer
from worker.stage import Abandoned


def ask_embedded(chain: Chain, **request: object) -> None:
    chain.ask({"text": "disk full", **request})
    chain.embed()


def test_an_answer_holds_the_hits_and_where_the_time_went(chain: Chain) -> None:
    chain.feed(json.dumps({"message": "disk full on 10.0.0.1", "level": "WARN", "service": "sshd"}), "network down")
    chain.run()
    chain.ask({"text": "disk full on", "k": 1})
    chain.now_s += 1.5
    chain.embed()
    (reply,) = chain.answer()
    assert reply["complete"] is True
    assert reply["seconds"] == {"wait": 0.0, "embed": 0.0, "search": 0.0}, "the vector was cached"
    (hit,) = reply["hits"]
    assert hit == {
        "score": 1.0,
        "text": "disk full on 10.0.0.1",
        "template": chain.digest("disk full on"),
        "topic": "logs",
        "partition": 0,
        "offset": 0,
        "sub": 0,
        "chunk": 0,
        "time": 999_000,
        "service": "sshd",
        "level": "WARN",
    }


def test_an_answer_goes_where_its_asker_said_and_settles_the_query(chain: Chain) -> None:
    ask_embedded(chain)
    chain.answer()
    assert [(reply.topic, reply.correlation_id) for reply in chain.replies] == [(REPLIES, b"c1")]
    assert chain.query_ledger.committable() == {QUERIES: 1}


def test_a_reply_that_nobody_took_in_time_settles_too(chain: Chain) -> None:
    chain.replies_delivered = False
    ask_embedded(chain)
    chain.answer()
    assert chain.query_ledger.committable() == {QUERIES: 1}


def test_a_query_settles_when_its_reply_is_delivered_and_not_before(chain: Chain) -> None:
    open_replies: list[Callable[[bool], None]] = []

    def hold(_reply: Reply, _deadline_s: float | None, settled: Callable[[bool], None]) -> None:
        open_replies.append(settled)

    ask_embedded(chain)
    answerable = chain.answer_lane.take(10)
    assert answerable is not None
    Answer(sink=chain.sink, send=hold, clock=chain.clock, pause=chain.pause).step(answerable)
    assert chain.query_ledger.open_records == 1
    open_replies[0](True)  # noqa: FBT003 - as SendReply
    assert chain.query_ledger.open_records == 0


def test_texts_of_every_script_arrive_as_they_were(chain: Chain) -> None:
    chain.feed('Überlauf \x01 日志 💥 "quoted"')
    chain.run()
    chain.ask({"text": "anything", "k": 1})
    chain.embed()
    assert chain.answer()[0]["hits"][0]["text"] == 'Überlauf \x01 日志 💥 "quoted"'


def test_while_the_sink_is_busy_the_search_is_tried_again(chain: Chain) -> None:
    chain.feed("disk full")
    chain.run()
    ask_embedded(chain)
    chain.sink.busy_calls = 3
    (reply,) = chain.answer()
    assert len(reply["hits"]) == 1
    assert chain.pauses_s == [RETRY_S] * 3
    assert reply["seconds"]["search"] == pytest.approx(3 * RETRY_S)


def test_a_query_past_its_deadline_is_answered_expired_without_a_search(chain: Chain) -> None:
    ask_embedded(chain, deadline_ms=2000)
    chain.now_s += 1.0
    chain.sink.calls.clear()
    assert chain.answer()[0]["error"] == {"code": "expired", "field": "deadline_ms", "reason": "the deadline has passed"}
    assert chain.sink.calls == []
    assert chain.reply_deadlines_s == [101.0]


def test_a_sink_that_stays_busy_until_the_deadline_is_named(chain: Chain) -> None:
    ask_embedded(chain, deadline_ms=2000)
    chain.sink.busy_calls = 10**9
    (reply,) = chain.answer()
    assert reply["error"]["code"] == "expired"
    assert "the index does not answer" in reply["error"]["reason"]
    assert chain.now_s < 102


def test_a_query_without_a_deadline_is_given_up_30_seconds_after_it_was_taken(chain: Chain) -> None:
    chain.sink.busy_calls = 10**9
    for _ in range(20):
        ask_embedded(chain)
    replies = chain.answer()
    assert [reply["error"]["code"] for reply in replies] == ["unavailable"] * 20
    assert {reply["error"]["field"] for reply in replies} == {""}
    assert chain.now_s <= 100 + PATIENCE_S + RETRY_S, "all of them together"
    assert chain.query_ledger.committable() == {QUERIES: 20}


def test_a_search_that_the_deadline_cuts_short_gives_what_it_has(chain: Chain) -> None:
    chain.feed("disk full", "network down", "login failed")
    chain.run()
    ask_embedded(chain, deadline_ms=2000)
    reads = iter(range(2))

    def clock() -> float:
        return 100.0 if next(reads, None) is not None else 102.0

    answerable = chain.answer_lane.take(10)
    assert answerable is not None
    Answer(sink=chain.sink, send=chain.answer_step.send, clock=clock, pause=chain.pause).step(answerable)
    (reply,) = chain.answer()
    assert (reply["complete"], reply["hits"]) == (False, [])


def test_a_hard_stop_leaves_the_query_open_and_asks_the_sink_no_more(chain: Chain) -> None:
    for _ in range(5):
        ask_embedded(chain)
    chain.sink.busy_calls = 10**9
    chain.give_up_after = 2
    chain.sink.calls.clear()
    with pytest.raises(Abandoned):
        chain.answer()
    assert chain.sink.calls == ["nearest_templates"] * 2
    assert (chain.replies, chain.query_ledger.open_records) == ([], 5)


def test_a_broken_sink_stops_the_service(chain: Chain) -> None:
    ask_embedded(chain)
    chain.sink.broken = "planted"
    with pytest.raises(SinkBroken):
        chain.answer()
    assert chain.query_ledger.open_records == 1


def test_an_error_names_code_field_and_reason(chain: Chain) -> None:
    chain.ask({"text": "a", "k": 0})
    assert chain.answer() == [{"error": {"code": "bad_query", "field": "k", "reason": "Input should be greater than or equal to 1"}}]
