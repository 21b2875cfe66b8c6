"""What a query filters out is in no answer of any form; what is left is what brute force leaves."""

import json
import random
from collections import Counter
from typing import Any

import pytest

from consumers.text.families import family_of
from sinks.line import Line
from sinks.row import TemplateId
from tests.template_ids import id_of
from tests.worker.querying.families_world import same_family
from tests.world import index_of, line, open_sink, template, unit, write
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.asking.refusals import QueryReply
from worker.asking.requests import Requester
from worker.querying.answer import Answer
from worker.querying.dense import MOST_TEMPLATES, nearest_but
from worker.querying.forms import parse_query
from worker.querying.query_words import words_of
from worker.querying.ranking import Index
from worker.querying.ready_query import ReadyQuery
from worker.querying.scope import MOST_EXCLUDED, scope_of
from worker.querying.search import PreparedQuery, search
from worker.querying.template_index import Members
from worker.runtime.surroundings import Surroundings

TEXTS = ("disk full", "network down", "login failed", "login failed!", "Login failed.", "payment declined")
"""Three of them are one family."""
LOGIN = family_of("login failed")
HOUR_MS = 3_600_000


def some_lines(count: int = 150) -> list[Line]:
    draw = random.Random(3)
    return sorted(
        (
            line(
                n,
                text=f"{text} {n:06d}-x1",
                template_text=text,
                topic=draw.choice(("logs", "audit")),
                service=draw.choice(("web", "db", "")),
                level=draw.choice(("ERROR", "INFO")),
                time=draw.randrange(HOUR_MS),
                fields=draw.choice((None, '{"pod":"web-1","code":503}', '{"pod":"web-2"}')),
            )
            for n, text in enumerate(draw.choices(TEXTS, k=count))
        ),
        key=lambda one: one.topic,
    )


LINES = some_lines()
FILTERS: dict[str, dict[str, Any]] = {
    "a time": {"since_ms": 600_000, "until_ms": 2_400_000},
    "services and a level": {"service": ["web", ""], "level": ["ERROR"]},
    "a template and one of another family": {"template": [id_of("login failed"), id_of("network down")]},
    "families": {"family": [LOGIN, family_of("disk full")]},
    "fields of two names": {"fields": {"pod": "web-1", "code": 503}, "topic": ["logs"]},
    "a service": {"not_service": ["web"]},
    "no service": {"not_service": [""]},
    "services but one": {"service": ["web", "db"], "not_service": ["db", "nowhere"]},
    "a level": {"not_level": ["INFO"]},
    "a topic": {"not_topic": ["audit"]},
    "a template": {"not_template": [id_of("login failed!")]},
    "a family": {"not_family": [LOGIN]},
    "a family's other templates": {"family": [LOGIN], "not_template": [id_of("login failed!")]},
    "a family and a template": {"not_family": [LOGIN], "not_template": [id_of("disk full")], "not_level": ["INFO"]},
    "a value of a field": {"not_fields": {"pod": "web-1"}},
    "a number of a field, and a time": {"not_fields": {"code": 503}, "since_ms": 600_000},
    "of a field both": {"fields": {"pod": ["web-1", "web-2"]}, "not_fields": {"pod": "web-2"}},
}
NOTHING: dict[str, dict[str, Any]] = {
    "service": {"service": ["web"], "not_service": ["web"]},
    "level": {"level": ["INFO", "ERROR"], "not_level": ["ERROR", "INFO"]},
    "topic": {"topic": ["logs"], "not_topic": ["logs"]},
    "template": {"template": [id_of("disk full")], "not_template": [id_of("disk full")]},
    "family": {"family": [LOGIN], "not_family": [LOGIN]},
    "a template and its family": {"template": [id_of("login failed")], "not_family": [LOGIN]},
    "field": {"fields": {"pod": "web-1"}, "not_fields": {"pod": "web-1"}},
}
"""What is wanted and excluded."""


def passes(one: Line, **filters: Any) -> bool:  # noqa: ANN401 - any filter
    only = Filters.model_validate(filters)
    fields = {name: str(value) for name, value in json.loads(one.fields or "{}").items()}
    labels = {"service": one.service, "level": one.level, "topic": one.topic, "template": one.template}
    labels["family"] = family_of(one.template_text)
    return (
        (only.since_ms is None or one.time >= only.since_ms)
        and (only.until_ms is None or one.time < only.until_ms)
        and all(not (values := getattr(only, name)) or value in values for name, value in labels.items())
        and all(fields.get(name) in values for name, values in only.fields.items())
        and all(value not in getattr(only, f"not_{name}") for name, value in labels.items())
        and all(fields.get(name) not in values for name, values in only.not_fields.items())
    )


def new_index(*, ranks_words: bool = False) -> Index:
    rows = [template(text, unit(1.0, place / 10)) for place, text in enumerate(TEXTS)]
    return index_of(open_sink(rows, ranks_words=ranks_words), LINES)


class Asked:
    """Asks the answer step, which keeps what it has learnt."""

    def __init__(self, index: Index) -> None:
        self.now_s = 0.0
        self._answer = Answer(
            sink=index.sink, reader=index.reader, surroundings=Surroundings(clock=lambda: self.now_s, wall_ms=lambda: 0.0)
        )

    def __call__(self, **body: Any) -> dict[str, Any]:  # noqa: ANN401 - any part of a query
        return self.together(body)[0]

    def together(self, *bodies: dict[str, Any]) -> list[dict[str, Any]]:
        """Ask several in one turn."""
        replies: dict[int, QueryReply] = {}
        ready = []
        for place, body in enumerate(bodies):
            query = parse_query(json.dumps(body).encode())
            requester = Requester(lambda reply, deadline_s, place=place: replies.update({place: reply}), 0.0)  # noqa: ARG005 - as SendReply calls it
            is_exact = words_of(query.text or "").is_exact
            vector = None if query.text is None or query.mode == "words" or is_exact else unit(1.0)
            ready.append(ReadyQuery(requester, query, vector, 0.0, 0.0, is_exact))
        self._answer.step(ready)
        assert {reply.code for reply in replies.values()} == {"answered"}
        return [json.loads(replies[place].value) for place in range(len(bodies))]


@pytest.fixture(scope="module", params=[False, True], ids=["own words", "words of the sink"])
def asked(request: pytest.FixtureRequest) -> Asked:
    return Asked(new_index(ranks_words=request.param))


@pytest.mark.slow
@pytest.mark.parametrize("filters", FILTERS.values(), ids=list(FILTERS))
def test_no_answer_of_any_form_has_what_is_excluded(asked: Asked, filters: dict[str, Any]) -> None:
    wanted = [one for one in LINES if passes(one, **filters)]
    assert 0 < len(wanted) < len(LINES)
    ids, families = {one.id for one in wanted}, Counter(family_of(one.template_text) for one in wanted)
    for mode in ("dense", "words", "hybrid"):
        found = asked(text="login disk network payment", mode=mode, k=10, filters=filters)
        assert {hit["id"] for hit in found["hits"]} <= ids
        assert {hit["family"] for hit in found["hits"]} == set(families)
        assert all(hit["family_lines"] == families[hit["family"]] for hit in found["hits"])
        assert found["complete"]
    exact = next(one for one in LINES if one not in wanted)
    assert exact.text is not None
    assert asked(text=exact.text.split()[-1], filters=filters)["hits"] == []
    listed = asked(**{"as": "templates"}, k=100, filters=filters)
    assert {one["family"]: one["lines"] for one in listed["templates"]} == families
    listed = asked(**{"as": "templates"}, k=100, expand=True, filters=filters)
    assert {one["template"]: one["lines"] for one in listed["templates"]} == Counter(one.template for one in wanted)
    exported = asked(**{"as": "export"}, k=1_000, filters=filters)
    assert [one["id"] for one in exported["lines"]] == [
        one.id for one in sorted(wanted, key=lambda one: (one.time, one.topic, one.partition, one.offset))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("filters", FILTERS.values(), ids=list(FILTERS))
def test_counts_and_comparisons_leave_out_what_is_excluded(asked: Asked, filters: dict[str, Any]) -> None:
    wanted = [one for one in LINES if passes(one, **filters)]
    keys = {
        "service": lambda one: one.service,
        "level": lambda one: one.level,
        "topic": lambda one: one.topic,
        "template": lambda one: one.template,
        "family": lambda one: family_of(one.template_text),
        "field:pod": lambda one: json.loads(one.fields or "{}").get("pod", ""),
    }
    for name, key in keys.items():
        found = asked(**{"as": "counts"}, by=[name], filters=filters)
        assert {one[name]: one["lines"] for one in found["counts"]} == Counter(map(key, wanted)), name
    names = Counter(name for one in wanted for name in json.loads(one.fields or "{}"))
    assert {one["field"]: one["lines"] for one in asked(**{"as": "counts"}, by=["field"], filters=filters)["counts"]} == names
    over_time = asked(**{"as": "counts"}, by=["time", "family"], filters=filters)
    assert sum(one["lines"] for one in over_time["counts"]) == len(wanted)
    halves = {"since_ms": HOUR_MS // 2, "until_ms": HOUR_MS}, {"since_ms": 0, "until_ms": HOUR_MS // 2}
    now, before = ([one for one in LINES if passes(one, **{**filters, **half})] for half in halves)
    found = asked(**{"as": "compare"}, compare=halves[1], filters={**filters, **halves[0]})
    assert found["totals"] == {"lines": len(now), "before": len(before)}


@pytest.mark.parametrize("filters", NOTHING.values(), ids=list(NOTHING))
def test_what_is_wanted_and_excluded_is_nothing(asked: Asked, filters: dict[str, Any]) -> None:
    for mode in ("dense", "words", "hybrid"):
        found = asked(text="login disk", mode=mode, filters=filters)
        assert (found["hits"], found["complete"]) == ([], True)
    assert asked(**{"as": "templates"}, filters=filters)["templates"] == []
    for by in (["service"], ["template"], ["family"], ["time"], ["field"], ["field:pod"]):
        found = asked(**{"as": "counts"}, by=by, filters=filters)
        assert (found["counts"], found["complete"]) == ([], True)
    exported = asked(**{"as": "export"}, filters=filters)
    assert (exported["lines"], exported["next"]) == ([], None)
    assert asked(**{"as": "tail"}, filters=filters)["lines"] == []


@pytest.mark.slow
@pytest.mark.parametrize("filters", FILTERS.values(), ids=list(FILTERS))
def test_a_tail_brings_new_lines_but_for_those_that_are_excluded(filters: dict[str, Any]) -> None:
    index = new_index()
    tail = Asked(index)
    first = tail(**{"as": "tail"}, k=20, filters=filters)
    newest = sorted((one for one in LINES if passes(one, **filters)), key=lambda one: one.time)[-20:]
    assert {one["id"] for one in first["lines"]} == {one.id for one in newest}
    fresh = [one._replace(offset=one.offset + 1_000, time=one.time + HOUR_MS) for one in LINES[40:110]]
    write(index.sink, *fresh)  # type: ignore[arg-type] # a fake
    tail.now_s += 1.0  # the sink is not asked more often
    second = tail(**{"as": "tail"}, k=1_000, after=first["cursor"], filters=filters)
    assert sorted(one["id"] for one in second["lines"]) == sorted(one.id for one in fresh if passes(one, **filters))


def crowd(count: int, *, ranks_words: bool = False) -> tuple[Index, str]:
    """Return an index of a family of so many templates nearest to the query, and of 20 other families; and the first one's id."""
    near = [template(text, unit(1.0, n / 10_000)) for n, text in enumerate(same_family("disk full", count))]
    far = [template(f"network {chr(97 + n)} full", unit(0.1, 1.0, n / 10)) for n in range(20)]
    rows = [*near, *far]
    lines = [line(n, template_text=row.text) for n, row in enumerate(rows)]
    return index_of(open_sink(rows, ranks_words=ranks_words), lines), family_of("disk full")


@pytest.mark.slow
@pytest.mark.parametrize("near", [3, MOST_TEMPLATES, 3 * MOST_TEMPLATES, 2_000])
@pytest.mark.parametrize("mode", ["dense", "hybrid", "words"])
def test_ten_hits_stay_ten_families_however_many_nearer_templates_are_excluded(near: int, mode: str) -> None:
    index, family = crowd(near)
    found = Asked(index)(text="disk full", mode=mode, k=10, filters={"not_family": [family]})
    families = {hit["family"] for hit in found["hits"]}
    assert len(families) == len(found["hits"]) == 10
    assert family not in families
    assert found["complete"]


def test_a_tail_of_what_resembles_a_text_follows_the_nearest_templates_that_are_not_excluded() -> None:
    index, family = crowd(2 * MOST_TEMPLATES)
    found = Asked(index)(**{"as": "tail"}, text="disk full", mode="dense", k=20, filters={"not_family": [family]})
    assert len(found["lines"]) == 20
    assert family not in {family_of(one["template_text"]) for one in found["lines"]}


def test_queries_that_are_asked_together_do_not_share_what_one_of_them_excludes() -> None:
    index, family = crowd(30)
    bodies = [{"text": "disk full", "mode": "dense", "k": 3, "filters": filters} for filters in ({}, {"not_family": [family]}, {})]
    first, without, last = Asked(index).together(*bodies)
    assert first["hits"][0]["family"] == last["hits"][0]["family"] == family
    assert len(without["hits"]) == 3
    assert family not in {hit["family"] for hit in without["hits"]}


@pytest.mark.parametrize("limit", [1, 5, 24, 30])
def test_the_nearest_templates_but_some_are_those_of_brute_force(limit: int) -> None:
    index, _ = crowd(4)
    every = [hit.template for hit in index.sink.templates.nearest(unit(1.0)[None], 24)[0]]
    for unwanted in (set(), set(every[:1]), set(every[:20]), set(every[3:9]), set(every), {TemplateId("0" * 32)}):
        found = nearest_but(index.vectors, unit(1.0), limit, unwanted)
        assert [hit.template for hit in found] == [one for one in every if one not in unwanted][:limit]


def test_a_family_that_is_not_known_whole_makes_an_answer_incomplete() -> None:
    index, family = crowd(5)
    whole = scope_of(index, Filters(not_family=[family]), lambda: False)
    assert (len(whole.only.not_templates), whole.templates, whole.complete) == (5, None, True)
    index.templates.members = lambda _families, _passed: whole_members(complete=False)  # type: ignore[method-assign, assignment]
    found = search(index, PreparedQuery(Query(text="disk", filters=Filters(not_family=[family])), unit(1.0)), deadline_passed=lambda: False)
    assert not found.complete


def test_more_excluded_templates_than_can_be_passed_over_make_an_answer_incomplete() -> None:
    index, family = crowd(3)
    index.templates.members = lambda _families, _passed: whole_members(MOST_EXCLUDED + 1)  # type: ignore[method-assign, assignment]
    scope = scope_of(index, Filters(not_family=[family]), lambda: False)
    assert (len(scope.only.not_templates), scope.complete) == (MOST_EXCLUDED + 1, False)


def whole_members(count: int = 0, *, complete: bool = True) -> Members:
    return Members([TemplateId(f"{n:032x}") for n in range(count)], complete)


def test_an_export_goes_on_without_what_it_excludes() -> None:
    index = new_index()
    ask = Asked(index)
    filters = {"not_family": [LOGIN], "not_service": ["web"]}
    wanted = sorted((one for one in LINES if passes(one, **filters)), key=lambda one: (one.time, one.topic, one.partition, one.offset))
    body: dict[str, Any] | None = {"as": "export", "k": 7, "filters": filters}
    found = []
    while body is not None:
        answer = ask(**body)
        found += [one["id"] for one in answer["lines"]]
        body = answer["next"]
    assert found == [one.id for one in wanted]
    with_text = ask(**{"as": "export"}, k=1, text="disk network", filters=filters)
    assert with_text["next"]["filters"].keys() == {"template", "not_service", "since_ms", "until_ms"}
    assert LOGIN not in {family_of(text) for text in TEXTS if id_of(text) in with_text["next"]["filters"]["template"]}
