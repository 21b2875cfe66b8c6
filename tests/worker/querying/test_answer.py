"""What a query gets back, when its receipt settles, and how long a busy sink is retried."""

import json
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consumers.text.families import family_of
from sinks.block import BlockColumns, BlockId
from sinks.index_spaces import VectorSpace
from sinks.reading.reader import BlockReader
from sinks.row import TemplateRow, TemplateText
from sinks.sink import SinkBroken, SinkBusy, TemplateHit
from tests.fakes.sink import FakeSink
from tests.template_ids import id_of
from tests.worker.chain import QUERIES, Chain
from tests.world import blocks, line
from worker.asking.answers import ReachJson
from worker.asking.refusals import QueryReply
from worker.asking.requests import QueryRequest, Requester
from worker.querying.answer import LONGEST_S, PATIENCE_S, RETRY_S, Answer
from worker.querying.answer_documents import MOST_REPLY_BYTES, bounded_json
from worker.querying.ranking import Meaning
from worker.querying.ready_query import ReadyQuery
from worker.runtime.stage import Abandoned


def ask_embedded(chain: Chain, **request: object) -> None:
    chain.ask({"text": "disk full", **request})
    chain.embed()


def test_an_answer_holds_the_hits_and_where_the_time_went(chain: Chain) -> None:
    chain.index(json.dumps({"message": "disk full on 10.0.0.1", "level": "WARN", "service": "sshd"}), "network down")
    chain.ask({"text": "disk full on", "k": 1})
    chain.now_s += 1.5
    chain.embed()
    (reply,) = chain.answer()
    assert reply["complete"] is True
    assert reply["seconds"] == {"wait": 0.0, "embed": 0.0, "search": 1.5}, "the vector was cached, and the query waited to be answered"
    assert reply["mode"] == "hybrid"
    (hit,) = reply["hits"]
    assert hit == {
        "score": 1.0,
        "text": "disk full on 10.0.0.1",
        "template": chain.template("disk full on"),
        "family": family_of("disk full on"),
        "family_templates": 1,
        "family_lines": 1,
        "family_first": hit["time"],
        "family_last": hit["time"],
        "template_text": "disk full on",
        "id": "logs@e1/0/0/0/0",
        "topic": "logs",
        "partition": 0,
        "offset": 0,
        "sub": 0,
        "chunk": 0,
        "chunks": 1,
        "time": 999_000,
        "kafka_time": 999_000,
        "service": "sshd",
        "level": "WARN",
    }


@pytest.mark.parametrize("is_delivered", [True, False])
def test_a_query_settles_when_its_reply_is_delivered_or_given_up_and_not_before(chain: Chain, *, is_delivered: bool) -> None:
    held: list[Callable[[bool], None]] = []
    chain.replies_held = held
    ask_embedded(chain)
    chain.answer()
    assert chain.query_ledger.open_records == 1
    held[0](is_delivered)
    assert chain.query_ledger.committable() == {QUERIES: 1}


def test_while_the_sink_is_busy_the_search_is_tried_again(chain: Chain) -> None:
    chain.index("disk full")
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


def test_a_query_that_nobody_waits_for_is_not_searched_for(chain: Chain) -> None:
    chain.index("disk full")
    replies: list[QueryReply] = []

    def ask(text: str, is_gone: Callable[[], bool]) -> None:
        requester = Requester(lambda reply, *, deadline_s: replies.append(reply), chain.now_s, is_gone=is_gone)  # noqa: ARG005, PLW0108 - the deadline is given by name
        chain.prepare_queries.step([QueryRequest(json.dumps({"text": text}).encode(), requester)])
        chain.sink.calls.clear()
        chain.engine.calls.clear()
        chain.embed()
        chain.answer()

    ask("disk full", lambda: True)
    assert (chain.engine.calls, chain.sink.calls) == ([], [])
    ask("disk full now", lambda: bool(chain.engine.calls))
    assert chain.engine.calls
    assert chain.sink.calls == []
    ask("disk is full", lambda: "templates.nearest" in chain.sink.calls)
    assert chain.sink.calls == ["templates.nearest"], "it is read no further"
    assert [reply.code for reply in replies] == ["abandoned"] * 3
    ask("disk full", lambda: False)
    assert replies[-1].code == "answered"


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


def test_a_hard_stop_leaves_the_query_open_and_asks_the_sink_no_more(chain: Chain) -> None:
    for k in range(1, 6):
        ask_embedded(chain, k=k)
    chain.sink.busy_calls = 10**9
    chain.give_up_after = 2
    chain.sink.calls.clear()
    with pytest.raises(Abandoned):
        chain.answer()
    assert chain.pauses_s == [RETRY_S] * 2
    tried = len(chain.sink.calls)
    assert tried == 1 + 5 + 5, "all together once, then each of them twice; none after the second pause"
    assert (chain.replies, chain.query_ledger.open_records) == ([], 5)


def test_a_broken_sink_stops_the_service(chain: Chain) -> None:
    ask_embedded(chain)
    chain.sink.broken = "planted"
    with pytest.raises(SinkBroken):
        chain.answer()
    assert chain.query_ledger.open_records == 1


def test_queries_that_are_looked_up_together_get_what_each_gets_alone(chain: Chain) -> None:
    chain.index(*(f"disk {left} {right}" for left in "abcdef" for right in "uvwxyz"))
    requests: list[dict[str, object]] = [{"text": "disk a u"}, {"text": "disk f", "k": 3}, {"text": "disk", "mode": "dense", "k": 2}]
    alone = []
    for request in requests:
        chain.ask(request)
        chain.embed()
        alone.append(chain.answer()[-1]["hits"])
    for request in requests:
        chain.ask(request)
    chain.embed()
    chain.sink.calls.clear()
    assert [reply["hits"] for reply in chain.answer()[len(requests) :]] == alone
    assert chain.sink.calls.count("templates.nearest") == 1, "one read for all of them"


@pytest.mark.parametrize("request_", [{"text": "disk full"}, {"as": "templates"}, {"text": "disk full", "mode": "words"}], ids=str)
def test_a_window_without_lines_becomes_all_time_if_that_is_wanted(chain: Chain, request_: dict[str, object]) -> None:
    chain.index("disk full")
    empty = request_ | {"filters": {"until_ms": 5}}
    for query in (request_, empty | {"widen": True}, request_ | {"widen": True}, empty):
        chain.ask(query)
        chain.embed()
    wanted, *found, nothing = chain.answer()
    listing = "hits" if "hits" in wanted else "templates"
    assert [one[listing] for one in found] == [wanted[listing]] * 2
    assert [one.get("widened") for one in found] == [True, None]
    assert (nothing[listing], nothing.get("widened")) == ([], None)


def test_a_text_of_identifiers_is_widened_at_once(chain: Chain) -> None:
    chain.index("order ab-12345 sent", "order ab-12345 paid")
    inside = {"filters": {"since_ms": 0}, "widen": True, "k": 5}
    for request in ({"text": "ab-12345", **inside}, {"text": "ab-12345", "mode": "words", **inside}):
        chain.ask(request)
        chain.embed()
    assert [reply.get("widened") for reply in chain.answer()] == [True, None]


def test_of_several_counts_that_no_record_would_hold_each_is_cut() -> None:
    counts = [{"service": f"{n:0500}", "lines": 1} for n in range(1_500)]
    cut = json.loads(bounded_json({"groups": [{"counts": counts, "complete": True}, {"counts": counts[:9], "complete": True}] * 2}))
    assert [one["complete"] for one in cut["groups"]] == [False, True] * 2
    assert MOST_REPLY_BYTES / 4 - 2_000 < len(json.dumps(cut["groups"][0])) < MOST_REPLY_BYTES / 4
    assert cut["complete"] is False


def test_an_answer_that_no_record_would_hold_is_cut(chain: Chain) -> None:
    chain.sink.templates.upsert([TemplateRow(id_of("a"), np.eye(1, 384, dtype=np.float32)[0], TemplateText("a"))])
    chain.sink.write_blocks(blocks([line(n, template_text="a", text="=" * 40_000) for n in range(40)], 10))
    chain.ask({"text": "disk", "k": 40, "per_template": 100})
    chain.embed()
    (reply,) = chain.answer()
    assert [hit["offset"] for hit in reply["hits"]] == list(range(39, 17, -1))
    assert MOST_REPLY_BYTES - 50_000 < len(chain.replies[0].value) <= MOST_REPLY_BYTES
    assert reply["complete"] is False


def test_a_query_that_finds_the_index_busy_holds_nobody_else_up(chain: Chain) -> None:
    chain.index("disk full")
    for deadline_ms in (7_000, 1_500):  # a chain's records were sent a second ago
        chain.ask({"text": "disk full", "deadline_ms": deadline_ms})
    chain.ask({"text": "disk full", "k": 0})
    chain.sink.busy_calls = 10
    replies = chain.answer()
    assert [reply.get("error", {}).get("code", "hits") for reply in replies] == ["bad_query", "expired", "hits"]
    assert chain.pauses_s == [RETRY_S] * len(chain.pauses_s)


def test_while_one_is_tried_again_those_who_come_later_are_answered(chain: Chain) -> None:
    chain.index("disk full")
    ask_embedded(chain)
    chain.sink.busy_calls = 1
    chain.answer_step.turn(chain.answer_lane.take(10) or [])
    assert chain.replies == []
    chain.ask({"text": "disk full", "k": 2})
    chain.answer_step.turn(chain.answer_lane.take(10) or [])
    assert [len(reply["hits"]) for reply in chain.answer()] == [1, 1]


def test_an_index_that_works_long_in_vain_is_not_asked_for_ever(chain: Chain) -> None:
    chain.index("disk full")
    ask_embedded(chain, deadline_ms=60_000)

    def times_out(vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        del vectors, limit
        chain.now_s += 10.0
        raise SinkBusy("10 s were not enough")

    chain.sink.templates.nearest = times_out  # type: ignore[method-assign]
    (reply,) = chain.answer()
    assert reply["error"]["code"] == "unavailable"
    assert "10 s were not enough" in reply["error"]["reason"]
    assert chain.now_s < 125


def test_an_answer_from_an_index_that_is_behind_is_not_complete_but_for_exports_and_tails(chain: Chain) -> None:
    behind: ReachJson = {"indexed_until_ms": 5, "behind_records": 7, "behind": []}
    asked: list[tuple[float, Collection[str], Collection[str]]] = []

    def reach(asked_s: float, topics: Collection[str], not_topics: Collection[str]) -> ReachJson:
        asked.append((asked_s, topics, not_topics))
        return behind

    step = Answer(sink=chain.sink, reader=BlockReader(chain.sink, clock=chain.clock), surroundings=chain.surroundings, reach=reach)

    def ask_one(**query: object) -> dict[str, Any]:
        chain.ask(query)
        step.step(chain.answer_lane.take(10) or [])
        return dict(chain.answer()[-1])

    filters = {"topic": ["apps"], "not_topic": ["audit"]}
    for form in ("lines", "templates", "counts"):
        reply = ask_one(**{"as": form, "filters": {**filters, "family": ["0" * 16]}})
        assert (reply["complete"], reply["behind_records"], reply["indexed_until_ms"], reply["behind"]) == (False, 7, 5, [])
    assert asked == [(chain.now_s, ("apps",), ("audit",))] * 3
    ask_one(around={"topic": "other", "partition": 0, "offset": 0})
    assert asked.pop() == (chain.now_s, ("other",), ())
    ask_one(around={"topic": "other", "partition": 0, "offset": 0, "by": "trace"})
    assert asked.pop() == (chain.now_s, (), ()), "of all topics"
    for form in ("export", "tail"):
        assert ask_one(**{"as": form}).keys().isdisjoint(behind)
    behind.pop("behind")
    reply = ask_one(**{"as": "templates"})
    assert (reply["complete"], reply["behind_records"], "behind" in reply) == (True, 7, False)


def test_the_stage_ends_when_its_lane_is_closed_and_everybody_has_an_answer(chain: Chain) -> None:
    for _ in range(3):
        chain.ask({"as": "templates"})
    chain.answer_lane.close()
    chain.sink.busy_calls = 2
    chain.answer_step.body(chain.answer_lane)
    assert len(chain.replies) == 3
    assert chain.query_ledger.open_records == 0


def test_a_lane_that_is_abandoned_leaves_what_waits_open(chain: Chain) -> None:
    for k in range(1, 4):
        chain.ask({"as": "templates", "k": k})
    chain.answer_step.turn(chain.answer_lane.take(10) or [])
    chain.answer_lane.abandon()
    chain.answer_step.body(chain.answer_lane)
    assert (len(chain.replies), chain.query_ledger.open_records) == (1, 2)


def kind_of(reply: dict[str, object]) -> str:
    return "neighbours" if "mode" not in reply and "hits" in reply else next(iter(reply.keys() & {"templates", "counts", "hits"}))


def test_heavy_queries_wait_for_light_ones_and_the_shortest_comes_first(chain: Chain) -> None:
    chain.index("disk full", "network down")
    chain.ask({"as": "templates"})
    chain.ask({"as": "counts"})
    chain.ask({"text": "disk full", "k": 11, "deadline_ms": 50_000})
    chain.ask({"around": {"topic": "logs", "partition": 0, "offset": 0}})
    chain.ask({"text": "disk full", "k": 10})
    chain.embed()
    replies = chain.answer()
    assert [kind_of(reply) for reply in replies] == ["hits", "neighbours", "hits", "templates", "counts"]
    assert chain.reply_deadlines_s[0] is None, "the one that asks for few hits"


def test_a_heavy_query_does_not_wait_for_ever_behind_shorter_ones(chain: Chain) -> None:
    chain.ask({"as": "counts"})
    chain.answer_step.turn(())
    waiting = chain.answer_lane.take(10) or []
    chain.now_s += 20.0
    for _ in range(3):
        chain.ask({"around": {"topic": "logs", "partition": 0, "offset": 0}})
    chain.answer_step.turn([*waiting, *(chain.answer_lane.take(10) or [])])
    assert [kind_of(reply) for reply in chain.answer()] == ["counts"]


def test_no_query_reads_for_longer_than_its_share(chain: Chain) -> None:
    chain.index(*(f"disk {'abcdefgh'[n % 8]} {'ijklmnop'[n // 8]} full" for n in range(64)))

    class Slow(FakeSink):
        def read_columns(self, *asked: object, **how: object) -> dict[BlockId, BlockColumns]:
            chain.now_s += LONGEST_S / 2
            return super().read_columns(*asked, **how)  # type: ignore[arg-type]

    sink = Slow()
    sink.open()
    sink.templates, sink.blocks = chain.sink.templates, chain.sink.blocks
    step = Answer(sink=sink, reader=BlockReader(sink, cache_bytes=0, clock=chain.clock), surroundings=chain.surroundings)
    chain.ask({"text": "disk full", "filters": {"phrases": [["h"]]}, "deadline_ms": 60_000})
    chain.embed()
    started_s = chain.now_s
    step.step(chain.answer_lane.take(10) or [])
    (reply,) = chain.answer()
    assert chain.now_s - started_s <= 2 * LONGEST_S
    assert reply["complete"] is False
    assert reply["hits"]


def test_a_question_is_answered_from_the_view_whose_model_embedded_it(chain: Chain) -> None:
    chain.index("disk full", "network down")
    other = chain.sink.open_view(VectorSpace(384, "space-2"), create=True)
    rows = list(chain.sink.templates.values())
    other.upsert([row._replace(vector=swapped.vector) for row, swapped in zip(rows, reversed(rows), strict=True)])
    ask_embedded(chain, mode="dense", k=1)
    chain.sink.prefer("space-2")
    ask_embedded(chain, mode="dense", k=1)
    first, second = chain.answer_lane.take(10) or []
    assert isinstance(second, ReadyQuery)
    chain.answer_step.step([first, second._replace(meaning=Meaning(other, None))])
    of_first, of_second = (json.loads(reply.value)["hits"][0]["text"] for reply in chain.replies)
    assert (of_first, of_second) == ("disk full", "network down")
