"""Listings of templates one by one: what a query with `as: templates` and `expand` gets back."""

import json
from typing import Any

import pytest

from consumers.text.families import family_of
from tests.worker.chain import Chain
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.querying.dense import MOST_TEMPLATES
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.querying.template_index import TemplateIndex
from worker.querying.template_listing import TemplateListing, find_templates

LISTING = {"as": "templates", "expand": True}


def find(chain: Chain, sought: PreparedQuery, *, reads: int = 100_000) -> TemplateListing:
    """List templates until the deadline, which passes after `reads` readings of the clock."""
    left = iter(range(reads))
    index = Index(chain.sink, chain.reader, TemplateIndex(lambda: chain.sink.templates, chain.clock))
    return find_templates(index, sought, lambda: next(left, None) is None)


def line(text: str, **fields: str) -> str:
    return json.dumps({"message": text, **fields})


def listing(chain: Chain, **request: object) -> dict[str, Any]:
    chain.ask({**LISTING, **request})
    chain.embed()
    return chain.answer()[-1]


@pytest.fixture
def filled(chain: Chain) -> Chain:
    chain.index(
        *(line(f"disk full on 10.0.0.{n}", service="web") for n in range(3)), line("network down"), line("network down"), line("login")
    )
    return chain


def test_without_a_text_the_most_frequent_come_first(filled: Chain) -> None:
    reply = listing(filled)
    assert reply["complete"] is True
    assert [(template["lines"], template["text"], template["example"]) for template in reply["templates"]] == [
        (3, "disk full on", "disk full on 10.0.0.2"),
        (2, "network down", "network down"),
        (1, "login", "login"),
    ]
    first = reply["templates"][0]
    assert first["template"] == filled.template("disk full on")
    assert first["family"] == family_of("disk full on")
    assert (first["first"], first["last"]) == (999_000, 999_000)
    assert "score" not in first
    assert filled.engine.calls[-1:] == filled.engine.calls[:1], "no text, nothing to embed"


def test_templates_under_a_filter_are_found_however_far_they_are_from_the_text(chain: Chain) -> None:
    words = ("disk", "network", "voltage", "memory", "battery", "printer", "camera", "router", "engine", "valve")
    states = ("full", "down", "slow", "lost", "open", "shut", "warm", "cold")
    chain.index(*(line(f"{left} {right}", service="web" if left == "disk" else "") for left in words for right in states))
    assert len(chain.sink.templates) > MOST_TEMPLATES
    for request in ({"text": "valve open"}, {}):
        reply = listing(chain, k=40, filters={"service": ["web"]}, **request)
        assert {template["text"] for template in reply["templates"]} == {f"disk {right}" for right in states}
        assert reply["complete"] is True


def test_the_best_template_stays_even_if_the_count_did_not_reach_it(filled: Chain) -> None:
    query = Query.model_validate({**LISTING, "text": "disk full on", "mode": "dense"})
    vector = filled.engine.embed([filled.words.encode(["disk full on"]).text(0)])[0]
    sought = PreparedQuery(query, vector)
    whole = find(filled, sought)
    assert (whole.templates[0].counted.lines, whole.complete) == (3, True)
    cut_short = [find(filled, sought, reads=reads) for reads in range(40)]
    assert {found.complete for found in cut_short} == {True, False}
    narrow = PreparedQuery(query.model_copy(update={"filters": Filters(service=["web"])}), vector)
    cut_short += [find(filled, narrow, reads=reads) for reads in range(40)]
    assert any(template.counted.lines == 1 for found in cut_short[40:] for template in found.templates), "it was cut while it counted"
    for found in cut_short[:40]:
        texts = [template.text for template in found.templates]
        assert texts in ([], [template.text for template in whole.templates])
    assert all(template.counted.lines >= 1 for found in cut_short for template in found.templates)


def test_a_count_is_cut_short_in_time_for_its_answer_to_arrive(filled: Chain) -> None:
    filled.ask({"as": "templates", "deadline_ms": 2_000})
    filled.now_s += 0.95  # it was sent a second ago, so its deadline is a second from now
    reply = filled.answer()[-1]
    assert (reply["templates"], reply["complete"]) == ([], False)


def test_between_two_listings_those_are_answered_who_have_come_meanwhile(filled: Chain) -> None:
    for k in (10, 11, 12):  # equal ones would share one search
        filled.ask({"as": "templates", "k": k})
    filled.answer_step.turn(filled.answer_lane.take(10) or [])
    filled.ask({"text": "login"})
    filled.embed()
    filled.answer_step.turn(filled.answer_lane.take(10) or [])
    filled.answer_step.turn(())
    assert ["hits" if "hits" in reply else "templates" for reply in filled.answer()] == ["templates", "hits", "templates", "templates"]
