"""The prepare step for queries: what is refused at once, and where the rest goes."""

import json

import numpy as np
import pytest

from tests.worker.asking.test_question import BAD
from tests.worker.chain import QUERIES, REPLIES, Chain
from tests.worker.conftest import NewChain
from worker.asking.refusals import QueryReply
from worker.asking.requests import CORRELATION_HEADER, REPLY_TOPIC_HEADER, QueryRequest, Requester
from worker.querying.ready_query import FailedQuery, KafkaRequest, ReadyQuery


def test_a_query_is_masked_like_a_line_and_goes_to_the_engine_as_token_ids(chain: Chain) -> None:
    chain.ask({"text": "disk full on 10.0.0.1"})
    (query,) = chain.waiting_texts()
    assert query.ids.tolist() == chain.words.encode(["disk full on"]).text(0).tolist()
    assert (query.key, query.urgency) == (chain.key("disk full on"), "query")
    chain.embed()
    chain.answer()
    assert [(reply.topic, reply.correlation_id) for reply in chain.replies] == [(REPLIES, b"c1")]


def test_an_identifier_that_redaction_hides_is_looked_for_as_it_is_stored(new_chain: NewChain) -> None:
    chain = new_chain(redact=["email"])
    chain.ask({"text": "login of ada.b1@example.com failed"})
    (stored,) = chain.redactor.redact(["ada.b1@example.com"])
    chain.embed()
    (query,) = chain.answer_lane.take(10) or []
    assert isinstance(query, ReadyQuery)
    assert query.query.filters.phrases == [[stored]]


@pytest.mark.parametrize(("value", "field"), BAD.values(), ids=BAD)
def test_a_bad_query_is_answered_with_an_error_that_names_the_field(chain: Chain, value: bytes, field: str) -> None:
    chain.ask(value)
    (reply,) = chain.answer()
    assert (reply["error"]["code"], reply["error"]["field"]) == ("bad_query", field)
    assert chain.replies[0].correlation_id == b"c1"
    assert len(chain.replies[0].value) < 1000
    assert chain.query_ledger.committable() == {QUERIES: 1}
    assert len(chain.embedder) == 0


@pytest.mark.parametrize("reply_topic", [None, "", "somebody.elses", REPLIES + "2", "\udcff"])
def test_a_query_for_another_reply_topic_is_counted_and_settled_but_not_answered(chain: Chain, reply_topic: str | None) -> None:
    headers: tuple[tuple[str, bytes | None], ...] = ((CORRELATION_HEADER, b"c1"),)
    if reply_topic is not None:
        headers += ((REPLY_TOPIC_HEADER, reply_topic.encode("utf-8", "surrogateescape")),)
    chain.prepare_queries.step([KafkaRequest(chain.admit_query(b'{"text": "a"}', headers), chain.now_s)])
    assert chain.kafka_queries.unanswerable == 1
    assert chain.query_ledger.tally["dropped:unanswerable"] == 1
    assert chain.query_ledger.committable() == {QUERIES: 1}
    assert (len(chain.embedder), len(chain.answer_lane), chain.answer()) == (0, 0, [])
    assert ["no reply topic that is on the list" in line for line in chain.said] == [True]


def test_a_query_without_a_correlation_id_is_answered_without_one(chain: Chain) -> None:
    chain.prepare_queries.step([KafkaRequest(chain.admit_query(b"{}", ((REPLY_TOPIC_HEADER, REPLIES.encode()),)), chain.now_s)])
    chain.answer()
    assert chain.replies[0].correlation_id == b""


def test_a_query_that_comes_past_its_deadline_is_answered_expired_and_not_computed(chain: Chain) -> None:
    chain.ask({"text": "disk full", "deadline_ms": 1000})  # a chain's records were sent a second ago
    assert len(chain.embedder) == 0
    assert chain.answer()[0]["error"] == {
        "code": "expired",
        "field": "deadline_ms",
        "reason": "the deadline had passed when the query arrived",
    }
    assert chain.query_ledger.open_records == 0
    chain.ask({"text": "disk full", "deadline_ms": 1001})
    assert len(chain.embedder) == 1


def test_a_query_equal_to_a_line_in_flight_does_not_wait_for_it(chain: Chain) -> None:
    chain.feed("disk full")
    flight = chain.embedder.batcher.next_batch()
    chain.ask({"text": "disk full"})
    chain.embed()
    assert "hits" in chain.answer()[0]
    assert chain.committable() is None
    chain.embedder.batcher.add(flight.others, "bulk")
    chain.run()
    assert chain.stored() == [(0, "disk full")]


def test_a_query_never_begins_a_flight_and_never_becomes_a_template(chain: Chain) -> None:
    chain.ask({"text": "disk full"})
    chain.embed()
    chain.answer()
    chain.store()
    assert chain.sink.templates == {}
    assert chain.flights.total().chunks == 0
    chain.feed("disk full")
    assert len(chain.store_lane) == 1, "the line takes the query's vector from the cache, and writes its template"
    chain.store()
    assert list(chain.sink.templates) == [chain.template("disk full")]


LONG = " ".join(f"disk {first}{second}ly" for first in "abcdefghijklmnopqrstuvwxyz" for second in "aeiouy")
"""Longer than the model reads; masks take repetitions out, so it has none."""


def test_a_query_longer_than_the_model_reads_is_cut_and_closed(chain: Chain) -> None:
    chain.ask({"text": LONG})
    (query,) = chain.waiting_texts()
    assert chain.mask(LONG) == LONG
    whole = chain.words.encode([LONG]).text(0)
    assert len(query.ids) == 256
    assert query.ids[:-1].tolist() == whole[:255].tolist()
    assert query.ids[-1] == whole[-1]


def test_the_vector_of_a_query_that_was_cut_is_not_kept_under_the_digest_of_the_whole(chain: Chain) -> None:
    for text in (LONG, "disk full"):
        chain.ask({"text": text})
    chain.embed()
    assert len(chain.answer()) == 2
    whole, short = (chain.key(chain.mask(text)) for text in (LONG, "disk full"))
    assert list(chain.levels.get_many([whole, short])) == [short]


def test_queries_of_a_dead_generation_are_dropped(chain: Chain) -> None:
    claim = chain.admit_query(b'{"text": "a"}', ((REPLY_TOPIC_HEADER, REPLIES.encode()),))
    chain.query_ledger.revoke([QUERIES])
    chain.prepare_queries.step([KafkaRequest(claim, chain.now_s)])
    assert (chain.kafka_queries.unanswerable, len(chain.embedder), len(chain.answer_lane)) == (0, 0, 0)
    assert chain.query_ledger.open_bytes == 0


def test_the_wait_counts_from_when_the_request_was_polled(chain: Chain) -> None:
    chain.cache.put_many({chain.key("disk full"): np.eye(384, dtype=np.float32)[5]})
    chain.prepare_queries.step([KafkaRequest(chain.query("disk full"), chain.now_s - 0.25)])
    assert chain.answer()[0]["seconds"] == {"wait": 0.25, "embed": 0.0, "search": 0.0}


def test_a_deadline_that_passed_while_the_query_waited_to_be_prepared_counts(chain: Chain) -> None:
    chain.prepare_queries.step([KafkaRequest(chain.query("disk full", deadline_ms=1_200), chain.now_s - 0.3)])
    assert chain.answer()[0]["error"]["code"] == "expired"


def test_a_query_that_did_not_come_over_kafka_takes_the_same_way(chain: Chain) -> None:
    chain.index("disk full")
    got: list[QueryReply] = []

    def reply(reply: QueryReply, *, deadline_s: float | None) -> None:
        got.append(reply)
        assert deadline_s == chain.now_s + 0.5

    chain.prepare_queries.step([QueryRequest(b'{"text": "disk full", "deadline_ms": 500}', Requester(reply, chain.now_s))])
    chain.embed()
    chain.answer()
    assert [hit["text"] for hit in json.loads(got[0].value)["hits"]] == ["disk full"]
    assert got[0].code == "answered"
    assert chain.replies == []


@pytest.mark.parametrize("ranks_words", [True, False])
def test_a_search_by_words_needs_no_vector(chain: Chain, *, ranks_words: bool) -> None:
    chain.sink.templates.ranks_words = ranks_words
    chain.index("disk full", "network down")
    chain.ask({"text": "network", "mode": "words"})
    assert len(chain.embedder) == 0
    reply = chain.answer()[0]
    assert ([hit["text"] for hit in reply["hits"]], reply["mode"]) == (["network down"], "words")


def test_a_text_of_identifiers_alone_is_looked_for_by_words_unless_asked_otherwise(chain: Chain) -> None:
    chain.index("disk full on 10.0.0.1", "disk full on 10.0.0.2", "disk full on 10.0.0.1", "network down")
    chain.ask({"text": "10.0.0.1"})
    assert len(chain.embedder) == 0
    reply = chain.answer()[-1]
    assert {hit["offset"] for hit in reply["hits"]} == {0, 2}, "all lines that have it"
    assert reply["mode"] == "words"
    chain.ask({"text": "10.0.0.1", "mode": "dense"})
    assert len(chain.embedder) == 1
    chain.ask({"text": "10.0.0.1", "per_template": 1})
    assert len(chain.answer()[-1]["hits"]) == 1


def test_what_a_request_asks_for_may_follow_from_where_it_was_sent(chain: Chain) -> None:
    got: list[QueryReply] = []

    def reply(reply: QueryReply, *, deadline_s: float | None) -> None:
        del deadline_s
        got.append(reply)

    requester = Requester(reply, chain.now_s)
    for value in (b'{"as": "lines", "text": "a"}', b"{}", b'{"as": "counts"}'):
        chain.prepare_queries.step([QueryRequest(value, requester, form="counts")])
    chain.answer()
    refused, *counted = (json.loads(reply.value) for reply in got)
    assert refused["error"]["field"] == "as"
    assert [reply["counts"] for reply in counted] == [[], []]


def test_the_log_of_misdirected_queries_does_not_grow_with_them(chain: Chain) -> None:
    for _ in range(1000):
        chain.ask({"text": "a"}, reply_topic="somebody.elses")
    assert chain.kafka_queries.unanswerable == 1000
    assert len(chain.said) == 10
    assert chain.said[-1].endswith("(512 so far)")


def test_the_queries_of_a_list_each_go_their_own_way(chain: Chain) -> None:
    vector = np.eye(384, dtype=np.float32)[5]
    chain.cache.put_many({chain.key("disk full"): vector})
    claims = [chain.query(text) for text in ("disk full 7", "network down", "login failed")]
    bad = chain.query("login", k=0)
    chain.prepare_queries.step([KafkaRequest(one, chain.now_s) for one in (claims[0], bad, *claims[1:])])
    assert [query.key for query in chain.waiting_texts()] == [chain.key(text) for text in ("network down", "login failed")]
    failed, cached = chain.answer_lane.take(10) or []
    assert isinstance(failed, FailedQuery)
    assert isinstance(cached, ReadyQuery)
    assert cached.vector is not None
    assert np.array_equal(cached.vector, vector), "past the engine"
