"""`search`, `templates` and `counts`: their options become a query on the wire, or one line that names the option at fault."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.template_ids import id_of
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import in_one_line
from worker.asking.filters import FILTERS
from worker.asking.question import MAX_AROUND, Query
from worker.cli.question_options import advice_of

TEMPLATE, FAMILY = "0123456789abcdef" * 2, "0123456789abcdef"
OPTIONS: dict[str, tuple[tuple[str, ...], Any]] = {
    "service": (("--service", "a", "--service", ""), ["a", ""]),
    "level": (("--level", "WARN"), ["WARN"]),
    "topic": (("--topic", "logs"), ["logs"]),
    "template": (("--template", TEMPLATE), [TEMPLATE]),
    "family": (("--family", FAMILY), [FAMILY]),
    "fields": (("--field", "pod=a=b", "--field", "pod=", "--field", "n=7"), {"pod": ["a=b", ""], "n": ["7"]}),
    "trace_id": (("--trace-id", "t"), "t"),
    "not_service": (("--not-service", "web \udcff"), ["web \ufffd"]),
    "not_level": (("--not-level", "INFO"), ["INFO"]),
    "not_topic": (("--not-topic", "audit"), ["audit"]),
    "not_template": (("--not-template", TEMPLATE), [TEMPLATE]),
    "not_family": (("--not-family", FAMILY), [FAMILY]),
    "not_fields": (("--not-field", "k8s.pod.name=a"), {"k8s.pod.name": ["a"]}),
}
PLACE = {"topic": "logs", "partition": 0, "offset": 123}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the verbs would send, instead of sending it."""
    requests: list[dict[str, Any]] = []

    def ask_once(_kafka: object, request: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        del timeout_s
        requests.append(request)
        return {"text": None, "hits": [], "templates": [], "counts": [], "by": ["template"], "complete": True, "seconds": 0.1}

    monkeypatch.setattr("worker.cli.search_verb.ask_once", ask_once)
    monkeypatch.setattr("worker.cli.dlq.letter_of_record", lambda *_: None)
    return requests


@pytest.mark.parametrize(
    "verb", [("search", "disk"), ("counts", "--since", "all"), ("templates", "--since", "all")], ids=lambda one: one[0]
)
def test_every_verb_passes_every_filter_on(run_here: RunHere, sent: list[dict[str, Any]], verb: tuple[str, ...]) -> None:
    words = [word for given, _ in OPTIONS.values() for word in given]
    ended = run_here(*verb, *words, "--until", "2999-01-01", "--json")
    assert (ended.exit_code, ended.err) == (0, "")
    (request,) = sent
    assert request["filters"] == {"until_ms": 32_472_144_000_000, **{name: value for name, (_, value) in OPTIONS.items()}}
    assert set(OPTIONS) == set(FILTERS)
    assert Query.model_validate(request).filters.names_templates


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        (("search", "disk", "full"), {"text": "disk full"}),
        (("search", "disk", "-k", "3", "--mode", "words", "--as", "lines"), {"text": "disk", "k": 3, "mode": "words", "as": "lines"}),
        (("search", "disk", "--as", "templates", "--expand"), {"text": "disk", "as": "templates", "expand": True}),
        (("search", "--family", FAMILY, "--per-family", "3"), {"per_family": 3, "filters": {"family": [FAMILY]}}),
        (("search", "disk", "--per-template", "2"), {"text": "disk", "per_template": 2}),
        (("search", "--around", "logs/0@123"), {"around": {**PLACE, "before": 5, "after": 5}}),
        (("search", "--around", "logs/0@123", "-C", "0"), {"around": {**PLACE, "before": 0, "after": 0}}),
        (("search", "--around", "logs/0@123", "-C", str(MAX_AROUND)), {"around": {**PLACE, "before": MAX_AROUND, "after": MAX_AROUND}}),
        (
            ("search", "--around", "logs/0@123", "--by", "trace", "-C", "2"),
            {"around": {**PLACE, "before": 2, "after": 2, "by": "trace"}},
        ),
        (("templates", "--since", "all"), {"as": "templates", "k": 20}),
        (("templates",), {"as": "templates", "k": 20}),
        (("counts",), {"as": "counts"}),
        (("search", "disk"), {"text": "disk"}),
        (("templates", "--since", "all", "--like", "disk"), {"as": "templates", "k": 20, "text": "disk", "mode": "dense"}),
        (("counts", "--since", "all"), {"as": "counts"}),
        (("counts", "--since", "all", "--trace-id", ""), {"as": "counts", "filters": {"trace_id": ""}}),
        (
            ("counts", "disk", "--since", "all", "--mode", "words", "--top", "3"),
            {"as": "counts", "text": "disk", "mode": "words", "top": 3},
        ),
        (
            ("counts", "--since", "1970-01-01", "--by", "time", "--by", "field:pod", "--buckets", "12"),
            {"as": "counts", "by": ["time", "field:pod"], "buckets": 12, "filters": {"since_ms": 0}},
        ),
    ],
)
def test_what_was_given_is_asked_and_nothing_else(
    run_here: RunHere, sent: list[dict[str, Any]], words: tuple[str, ...], request_: dict[str, Any]
) -> None:
    assert run_here(*words).exit_code == 0
    assert sent == [request_]


def test_a_pasted_line_is_masked_and_its_template_asked_for_and_then_the_nearest(run_here: RunHere, sent: list[dict[str, Any]]) -> None:
    ended = run_here("templates", "--of", "disk 7 is -full", "--service", "db")
    assert ended.exit_code == 0
    assert "No line of this kind is in the index; without what varies it is: disk is -full" in ended.out
    known, nearest = sent
    assert known == {"as": "templates", "expand": True, "k": 1, "filters": {"service": ["db"], "template": [id_of("disk is -full")]}}
    assert (nearest["text"], nearest["operators"], nearest["filters"]) == ("disk 7 is -full", False, {"service": ["db"]})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("search",), "TEXT: say what to look for"),
        (("search", " "), "a query needs a text"),
        (("search", "disk", "--around", "logs/0@123"), "TEXT: cannot be combined with around"),
        (("search", "--around", "logs/0@123", "-k", "3"), "-k: cannot be combined with around"),
        (("search", "--around", "logs/0@123", "--as", "templates"), "--as: cannot be combined with around"),
        (("search", "--around", "logs/0@123", "--not-field", "a=b"), "--not-field: cannot be combined with around"),
        (("search", "--around", "logs/0@123", "--since", "1h"), "--since: cannot be combined with around"),
        (("search", "--around", "logs@123"), "--around 'logs@123' is not the place of a line"),
        (("search", "disk", "-C", "3"), "it needs --around"),
        (("search", "disk", "--by", "host"), "--by .* it needs --around"),
        (("templates", "--of", "disk 7", "--like", "disk"), "--of finds the template of a line: leave out --like"),
        (("templates", "--of", "disk 7", "--template", TEMPLATE), "--of finds the template of a line"),
        (("search", "--family", FAMILY, "--mode", "words"), "--mode: needs a text"),
        (("search", "disk", "--as", "templates", "--per-template", "2"), "--per-template: is for lines only"),
        (("search", "disk", "--expand"), "--expand: is for templates and compare only"),
        (
            ("search", "disk", "--template", TEMPLATE[1:]),
            "--template '1234.*': give the id of a template as `--json` shows it, 32 hexadecimal",
        ),
        (
            ("search", "disk", "--not-family", TEMPLATE),
            "--not-family '0123.*': give the id of a family as `--json` shows it, 16 hexadecimal",
        ),
        (("search", "disk", "--not-family", FAMILY.upper()), "--not-family '0123.*': give the id of a family"),
        (("search", "disk", "--field", "=a"), "--field '=a': give a name and a value"),
        (("search", "disk", "--not-field", "pod"), "--not-field 'pod': give a name and a value"),
        (("templates", "--since", "2999-01-01", "--until", "2024-01-01"), "--since is not before --until"),
        (("templates", "--since", "soon"), "--since 'soon' is not a time: give a span such as 90s, .*, or all"),
        (("templates", "--until", "all"), "--until 'all' is not a time: give a span such as 90s, .*2026-01-31T12:00"),
        (("counts", "--by", "time", "--by", "level", "--by", "topic"), "--by: List should have at most 2"),
        (("counts", "--by", "pod"), "--by: give time, template, family, service, level, topic, field or field:NAME"),
        (("counts", "--by", "level", "--by", "level"), "--by: names the same twice"),
        (("counts", "--by", "field", "--by", "level"), "--by: field stands alone"),
        (("counts", "--by", "level", "--buckets", "3"), "--buckets: needs time among by"),
    ],
)
def test_what_contradicts_or_cannot_be_read_is_refused_by_the_option_s_name(
    run_here: RunHere, sent: list[dict[str, Any]], words: tuple[str, ...], said: str
) -> None:
    ended = run_here(*words)
    assert ended.exit_code == 2
    assert re.search(said, in_one_line(ended)) is not None
    assert sent == []


@pytest.mark.parametrize("option", [("--not-family", FAMILY), ("--service", "a"), ("--like", "disk"), ("--expand",)])
def test_suggestions_look_at_no_index_so_they_take_no_filter(run_here: RunHere, tmp_path: Path, option: tuple[str, ...]) -> None:
    ended = run_here("templates", "--suggest", str(tmp_path / "x.log"), *option)
    assert ended.exit_code == 2
    assert "--suggest reads a file or a topic, not the index" in in_one_line(ended)


@pytest.mark.parametrize(
    ("request_", "advice"),
    [
        ({}, "`vectail templates` lists all templates."),
        ({"filters": {"level": ["WARN"]}}, "Try it without --level."),
        (
            {"filters": {"service": ["a"], "fields": {"a": ["b"]}, "since_ms": 1}},
            "Try it without --service or --field, or over a longer time (--since, --until).",
        ),
        ({"mode": "words"}, "Try it by meaning (--mode dense)."),
        ({"filters": {"not_level": ["INFO"]}}, "Try it without --not-level."),
    ],
)
def test_what_to_try_is_what_was_narrowed(request_: dict[str, Any], advice: str) -> None:
    assert advice_of(request_) == advice
