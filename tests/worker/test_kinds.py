"""Kinds of lines: what a query with `as: templates` gets back."""

import json
from typing import Any

import pytest

from tests.worker.chain import Chain
from worker.kinds import MOST_NEAR, Enough, find_kinds
from worker.query import Query

LISTING = Query.model_validate({"as": "templates"})


def line(text: str, **fields: str) -> str:
    return json.dumps({"message": text, **fields})


def kinds(chain: Chain, **request: object) -> dict[str, Any]:
    chain.ask({"as": "templates", **request})
    chain.embed()
    return chain.answer()[-1]


@pytest.fixture
def filled(chain: Chain) -> Chain:
    chain.feed(
        *(line(f"disk full on 10.0.0.{n}", service="web") for n in range(3)), line("network down"), line("network down"), line("login")
    )
    chain.run()
    return chain


def test_without_a_text_the_most_frequent_come_first(filled: Chain) -> None:
    reply = kinds(filled)
    assert reply["complete"] is True
    assert [(kind["lines"], kind["text"], kind["example"]) for kind in reply["templates"]] == [
        (3, "disk full on", "disk full on 10.0.0.2"),
        (2, "network down", "network down"),
        (1, "login", "login"),
    ]
    first = reply["templates"][0]
    assert first["template"] == filled.digest("disk full on")
    assert (first["first"], first["last"]) == (999_000, 999_000)
    assert "score" not in first
    assert filled.engine.calls[-1:] == filled.engine.calls[:1], "no text, nothing to embed"


def test_with_a_text_the_nearest_come_first_with_their_score(filled: Chain) -> None:
    reply = kinds(filled, text="login")
    assert reply["templates"][0]["text"] == "login"
    assert reply["templates"][0]["score"] == 1.0
    scores = [kind["score"] for kind in reply["templates"]]
    assert scores == sorted(scores, reverse=True)
    assert {kind["text"]: kind["lines"] for kind in reply["templates"]} == {"disk full on": 3, "network down": 2, "login": 1}


def test_only_lines_under_the_filters_count(filled: Chain) -> None:
    reply = kinds(filled, filters={"service": ["web"]})
    assert [kind["text"] for kind in reply["templates"]] == ["disk full on"]
    assert kinds(filled, filters={"since_ms": 999_001})["templates"] == []
    assert kinds(filled, text="login", filters={"service": ["web"]})["templates"][0]["lines"] == 3


def test_k_bounds_the_list(filled: Chain) -> None:
    reply = kinds(filled, k=1)
    assert [kind["lines"] for kind in reply["templates"]] == [3]
    assert reply["complete"] is True


def test_a_list_of_near_templates_that_was_cut_says_so(chain: Chain) -> None:
    words = ("disk", "network", "login", "memory", "battery", "printer", "camera", "router", "server", "window")
    chain.feed(*(line(f"{left} {right}", service="web" if left == "disk" else "") for left in words for right in words[:8]))
    chain.run()
    assert len(chain.sink.templates) > MOST_NEAR
    reply = kinds(chain, text="disk network", k=40, filters={"service": ["web"]})
    assert reply["complete"] is False
    assert kinds(chain, k=40, filters={"service": ["web"]})["complete"] is True


def test_a_deadline_that_passes_meanwhile_is_said(filled: Chain) -> None:
    filled.ask({"as": "templates", "deadline_ms": 1})
    filled.now_s += 0.5
    assert filled.answer()[-1]["error"]["code"] == "expired"


def test_a_count_is_cut_short_in_time_for_its_answer_to_arrive(filled: Chain) -> None:
    filled.ask({"as": "templates", "deadline_ms": 2_000})
    filled.now_s += 0.95  # it was sent a second ago: nobody waits any more after one more
    reply = filled.answer()[-1]
    assert (reply["templates"], reply["complete"]) == ([], False)


def test_counting_has_a_bound_of_its_own_and_what_was_counted_has_examples(filled: Chain) -> None:
    reads = iter(range(1))
    sink = filled.sink
    enough = Enough(counted=lambda: next(reads, None) is None, all=lambda: False)
    first = find_kinds(sink, LISTING, None, enough)
    assert all(kind.example is not None for kind in first.kinds)
    assert len(first.kinds) == 3
    assert find_kinds(sink, LISTING, None, enough) == ([], False)


def test_a_listing_lets_those_go_first_who_ask_for_lines(filled: Chain) -> None:
    filled.ask({"as": "templates"})
    filled.ask({"text": "login"})
    filled.ask({"as": "templates", "k": 0})
    filled.embed()
    first, second, third = filled.answer()
    assert ("hits" in first, "error" in second, "templates" in third) == (True, True, True)


@pytest.mark.parametrize(
    ("request_value", "field"),
    [
        ({}, "text"),
        ({"as": "lines"}, "text"),
        ({"as": "kinds"}, "as"),
        ({"as": "templates", "text": ""}, "text"),
        ({"form": "lines"}, "form"),
    ],
)
def test_what_is_wrong_is_named(chain: Chain, request_value: dict[str, object], field: str) -> None:
    chain.ask(request_value)
    (reply,) = chain.answer()
    assert (reply["error"]["code"], reply["error"]["field"]) == ("bad_query", field)
