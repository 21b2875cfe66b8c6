"""The options of `vectail search` become a query on the wire, or one line that says which of them contradict each other."""

from typing import Any

import pytest

from worker.cli.counts import CountsQuestion
from worker.cli.exclusions import Exclusions
from worker.cli.exits import CommandFailed
from worker.cli.filter_values import read_families, read_fields, read_templates
from worker.cli.question import RecordCoordinates, SearchQuestion, read_coordinates
from worker.query import MAX_AROUND, Query

PLACE = RecordCoordinates("logs", 0, 123)
TEMPLATE = "0123456789abcdef0123456789abcdef"
FAMILY = "0123456789abcdef"


@pytest.mark.parametrize(
    ("given", "request_"),
    [
        ({"text": "disk"}, {"text": "disk"}),
        ({"text": "disk", "k": 3, "mode": "words", "form": "lines"}, {"text": "disk", "k": 3, "mode": "words", "as": "lines"}),
        ({"text": "disk", "form": "templates"}, {"text": "disk", "as": "templates"}),
        ({"text": "disk", "per_template": 2}, {"text": "disk", "per_template": 2}),
        ({"templates": (TEMPLATE,)}, {"filters": {"template": [TEMPLATE]}}),
        ({"families": (FAMILY,), "per_family": 3}, {"per_family": 3, "filters": {"family": [FAMILY]}}),
        ({"text": "disk", "form": "templates", "expand": True}, {"text": "disk", "as": "templates", "expand": True}),
        ({"around": PLACE}, {"around": {"topic": "logs", "partition": 0, "offset": 123, "before": 5, "after": 5}}),
        ({"around": PLACE, "neighbours": 0}, {"around": {"topic": "logs", "partition": 0, "offset": 123, "before": 0, "after": 0}}),
        ({"around": PLACE, "neighbours": MAX_AROUND}, {"around": {**PLACE._asdict(), "before": MAX_AROUND, "after": MAX_AROUND}}),
    ],
)
def test_what_was_given_is_asked_and_nothing_else(given: dict[str, Any], request_: dict[str, Any]) -> None:
    asked = SearchQuestion(**given).checked().request()
    assert asked == request_
    Query.model_validate(asked)


@pytest.mark.parametrize(
    ("given", "filters"),
    [
        (
            {"since_ms": 0, "until_ms": 7, "services": ("a", ""), "levels": ("WARN",), "topics": ("logs",), "templates": (TEMPLATE,)},
            {"since_ms": 0, "until_ms": 7, "service": ["a", ""], "level": ["WARN"], "topic": ["logs"], "template": [TEMPLATE]},
        ),
        ({"families": (FAMILY,)}, {"family": [FAMILY]}),
        (
            {"fields": (("pod", "a=b"), ("pod", ""), ("n", "7")), "trace_id": "t"},
            {"fields": {"pod": ["a=b", ""], "n": ["7"]}, "trace_id": "t"},
        ),
        (
            {"excluded": Exclusions(("a", ""), ("INFO",), ("logs",))},
            {"not_service": ["a", ""], "not_level": ["INFO"], "not_topic": ["logs"]},
        ),
        (
            {"excluded": Exclusions(templates=(TEMPLATE,), families=(FAMILY,), fields=(("pod", "b"), ("pod", "c")))},
            {"not_template": [TEMPLATE], "not_family": [FAMILY], "not_fields": {"pod": ["b", "c"]}},
        ),
    ],
)
def test_searches_and_counts_are_filtered_in_the_same_way(given: dict[str, Any], filters: dict[str, Any]) -> None:
    for asked in (SearchQuestion(text="disk", **given).checked().request(), CountsQuestion(text="disk", **given).checked().request()):
        assert asked["filters"] == filters
        Query.model_validate(asked)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "say what to look for"),
        ({"text": "disk", "around": PLACE}, "leave TEXT out"),
        ({"around": PLACE, "k": 3}, "leave -k out"),
        ({"around": PLACE, "mode": "dense"}, "leave --mode out"),
        ({"around": PLACE, "form": "lines"}, "leave --as out"),
        ({"around": PLACE, "per_template": 2}, "leave --per-template out"),
        ({"around": PLACE, "since_ms": 0}, "leave --since out"),
        ({"around": PLACE, "until_ms": 0}, "leave --until out"),
        ({"around": PLACE, "services": ("a",)}, "leave --service out"),
        ({"around": PLACE, "levels": ("a",)}, "leave --level out"),
        ({"around": PLACE, "topics": ("a",)}, "leave --topic out"),
        ({"around": PLACE, "templates": (TEMPLATE,)}, "leave --template out"),
        ({"around": PLACE, "per_family": 2}, "leave --per-family out"),
        ({"around": PLACE, "families": (FAMILY,)}, "leave --family out"),
        ({"around": PLACE, "expand": True}, "leave --expand out"),
        ({"around": PLACE, "fields": (("a", "b"),)}, "leave --field out"),
        ({"around": PLACE, "trace_id": "t"}, "leave --trace-id out"),
        ({"around": PLACE, "excluded": Exclusions(services=("a",))}, "leave --not-service out"),
        ({"around": PLACE, "excluded": Exclusions(fields=(("a", "b"),))}, "leave --not-field out"),
        ({"excluded": Exclusions(families=(FAMILY,))}, "say what to look for"),
        ({"templates": (TEMPLATE,), "mode": "words"}, "--mode ranks by a text"),
        ({"text": "disk", "neighbours": 3}, "it needs --around"),
        ({"text": "disk", "form": "templates", "per_template": 2}, "--per-template limits lines"),
        ({"text": "disk", "form": "templates", "per_family": 2}, "--per-family limits lines"),
        ({"text": "disk", "expand": True}, "--expand lists templates one by one"),
        ({"text": "disk", "since_ms": 7, "until_ms": 7}, "--since is not before --until"),
    ],
)
def test_what_contradicts_is_refused_by_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(CommandFailed, match=said) as failed:
        SearchQuestion(**given).checked()
    assert failed.value.exit_code == 2


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({}, "`vectail templates --since all` lists all templates."),
        ({"levels": ("WARN",)}, "Try it without --level."),
        (
            {"services": ("a",), "topics": ("b",), "since_ms": 1},
            "Try it without --service or --topic, or over a longer time (--since, --until).",
        ),
        ({"mode": "words"}, "Try it by meaning (--mode dense)."),
        ({"families": (FAMILY,)}, "Try it without --family."),
        ({"services": ("a",), "excluded": Exclusions(levels=("INFO",))}, "Try it without --service or --not-level."),
    ],
)
def test_what_to_try_is_what_was_narrowed(given: dict[str, Any], advice: str) -> None:
    assert SearchQuestion(text="disk", **given).advice() == advice


@pytest.mark.parametrize("place", [PLACE, RecordCoordinates("a.b_c-d", 15, 10**17)])
def test_a_place_is_read_as_it_is_written(place: RecordCoordinates) -> None:
    assert read_coordinates(str(place)) == place


@pytest.mark.parametrize(
    "text", ["", "logs", "logs/0", "logs@3", "logs/0@", "logs/-1@3", "logs/0@3/4", "logs/0@1e3", "/0@3", "logs/0@" + "9" * 30]
)
def test_anything_else_is_no_place(text: str) -> None:
    with pytest.raises(CommandFailed, match=r"^--around .* logs/0@123$") as failed:
        read_coordinates(text)
    assert failed.value.exit_code == 2


def test_ids_of_templates_are_read_and_nothing_else_is() -> None:
    assert read_templates([TEMPLATE]) == (TEMPLATE,)
    for text in ("", "disk", TEMPLATE[:-1], TEMPLATE + "0", TEMPLATE.upper()):
        with pytest.raises(CommandFailed, match=r"^--template ") as failed:
            read_templates([TEMPLATE, text])
        assert failed.value.exit_code == 2


def test_ids_of_families_are_read_and_nothing_else_is() -> None:
    assert read_families([FAMILY]) == (FAMILY,)
    for text in ("", "disk", TEMPLATE, FAMILY.upper()):
        with pytest.raises(CommandFailed, match=r"^--family ") as failed:
            read_families([FAMILY, text])
        assert failed.value.exit_code == 2


def test_a_field_is_a_name_and_a_value() -> None:
    assert read_fields(["k8s.pod.name=web-1", "a=b=c", "x="]) == (("k8s.pod.name", "web-1"), ("a", "b=c"), ("x", ""))
    for wrong in ("pod", "=web-1", ""):
        with pytest.raises(CommandFailed, match=r"--field .*: give a name and a value"):
            read_fields([wrong])
