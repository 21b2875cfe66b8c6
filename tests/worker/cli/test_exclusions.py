"""Options that exclude: each verb passes each of them on, and what is no id is refused by the option's own name."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import in_one_line
from worker.cli.counts import CountsQuestion
from worker.cli.exclusions import Exclusions, read_exclusions
from worker.cli.exits import CommandFailed
from worker.cli.question import SearchQuestion
from worker.cli.templates import TemplatesOptions
from worker.query import Query

TEMPLATE, FAMILY = "0123456789abcdef" * 2, "0123456789abcdef"
OPTIONS = {
    "not_service": ("--not-service", "web \udcff"),
    "not_level": ("--not-level", "INFO"),
    "not_topic": ("--not-topic", "audit"),
    "not_template": ("--not-template", TEMPLATE),
    "not_family": ("--not-family", FAMILY),
    "not_field": ("--not-field", "k8s.pod.name=a=b"),
}
FILTERS: dict[str, Any] = {
    "not_service": ["web \ufffd"],
    "not_level": ["INFO"],
    "not_topic": ["audit"],
    "not_template": [TEMPLATE],
    "not_family": [FAMILY],
    "not_fields": {"k8s.pod.name": ["a=b"]},
}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the verbs would send, instead of sending it."""
    requests: list[dict[str, Any]] = []

    def ask(_client: object, request: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        del timeout_s
        requests.append(request)
        return {"hits": [], "templates": [], "counts": [], "by": ["template"], "complete": True}

    for module in ("search", "counts", "templates"):
        monkeypatch.setattr(f"worker.cli.{module}.ask_worker", ask)
    return requests


@pytest.mark.parametrize(
    ("verb", "without"), [(("search", "disk"), ""), (("counts", "--since", "all"), ""), (("templates", "--since", "all"), "not_template")]
)
def test_every_verb_passes_them_on(run_here: RunHere, sent: list[dict[str, Any]], verb: tuple[str, ...], without: str) -> None:
    words = [word for name, option in OPTIONS.items() for word in option if name != without]
    ended = run_here(*verb, *words, "--json", "--bootstrap-servers", "127.0.0.1:1")
    assert (ended.exit_code, ended.err) == (0, "")
    (request,) = sent
    assert request["filters"] == {name: value for name, value in FILTERS.items() if name != without}
    assert Query.model_validate(request).filters.names_templates


def test_templates_take_the_filters_that_the_page_copies(run_here: RunHere, sent: list[dict[str, Any]]) -> None:
    filters = ("--until", "2999-01-01", "--service", "web", "--level", "WARN", "--topic", "logs", "--field", "pod=a", "--field", "pod=b")
    ended = run_here("templates", "--since", "all", *filters, "--json", "--bootstrap-servers", "127.0.0.1:1")
    assert ended.exit_code == 0
    wanted = {"until_ms": 32_472_144_000_000, "service": ["web"], "level": ["WARN"], "topic": ["logs"], "fields": {"pod": ["a", "b"]}}
    assert [request["filters"] for request in sent] == [wanted]


def test_a_window_of_templates_that_ends_before_it_begins_is_refused(run_here: RunHere, sent: list[dict[str, Any]]) -> None:
    ended = run_here("templates", "--since", "2999-01-01", "--until", "2024-01-01")
    assert ended.exit_code == 2
    assert "--since is not before --until" in in_one_line(ended)
    assert sent == []


@pytest.mark.parametrize("option", [("--not-family", FAMILY), ("--service", "a"), ("--not-field", "a=b")])
def test_suggestions_look_at_no_index_so_they_take_no_filter(run_here: RunHere, tmp_path: Path, option: tuple[str, str]) -> None:
    ended = run_here("templates", "--suggest", str(tmp_path / "x.log"), *option)
    assert ended.exit_code == 2
    assert "--suggest reads a file or a topic, not the index" in in_one_line(ended)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"templates": ["7"]}, "--not-template '7': give a template's id"),
        ({"families": [TEMPLATE]}, "--not-family '0123.*': give a family's id"),
        ({"fields": ["pod"]}, "--not-field 'pod': give a name and a value"),
    ],
)
def test_what_cannot_be_read_is_refused_by_the_option_s_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(CommandFailed, match=said) as failed:
        read_exclusions(**given)
    assert failed.value.exit_code == 2


def test_nothing_is_sent_of_what_was_not_given() -> None:
    assert read_exclusions() == Exclusions()
    assert "filters" not in SearchQuestion(text="disk").request()
    assert "filters" not in CountsQuestion().request()
    options = TemplatesOptions(like=None, since_ms=None, k=20, timeout_s=1.0)
    assert json.dumps(options.request()) == '{"as": "templates", "k": 20, "filters": {}}'
