"""The grammar of a question's text: what is an operator, what stays text, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rows import rows
from worker.asking.filters import FILTERS, Filters
from worker.asking.operators import is_pasted, with_operators
from worker.asking.question import Query
from worker.asking.refusals import BadQuery
from worker.querying.forms import parse_query


def said(text: str, **filters: Any) -> tuple[str | None, dict[str, Any]]:  # noqa: ANN401 - any filter
    query = with_operators(Query(text=text, filters=Filters.model_validate(filters)))
    return query.text, query.filters.model_dump(exclude_unset=True)


@pytest.mark.parametrize(("text", "words", "filters"), rows("questions/operators"))
def test_operators_become_filters_and_the_other_words_the_text(text: str, words: str | None, filters: dict[str, Any]) -> None:
    assert said(text) == (words, filters)


@pytest.mark.parametrize("text", rows("questions/no_operators"))
def test_a_pasted_line_and_what_only_looks_like_an_operator_stay_text(text: str) -> None:
    assert said(text) == (text, {})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *rows("questions/refused_operators"),
        (f'"{"x" * 257}" disk', "phrases"),
        (" ".join(f'"w{n}"' for n in range(17)), "phrases"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(BadQuery) as refused:
        said(text)
    assert refused.value.field == "text"
    assert reason in refused.value.reason
    assert "\n" not in refused.value.reason


def test_operators_stand_beside_filters_and_a_filter_is_not_given_twice() -> None:
    filters = {"service": ["web"], "not_level": ["INFO"], "fields": {"a": "1"}, "phrases": [["x"]]}
    words, both = said('"disk full" -level:DEBUG field:b=2', **filters)
    assert words == "disk full"
    assert both == {
        "service": ["web"],
        "not_level": ["INFO", "DEBUG"],
        "fields": {"a": ["1"], "b": ["2"]},
        "phrases": [["x"], ["disk full"]],
    }
    for text in ("disk service:db", "disk field:a=2"):
        with pytest.raises(BadQuery, match="given twice"):
            said(text, **filters)


@example('"-x" "OR" "level:ERROR"')
@example('-"-x" "a:b" OR c')
@given(
    st.lists(
        st.sampled_from(['"', "-", "OR", " ", "level:", "a", "x y", "field:a=", "ERROR", "=", "b1", ":", ".", "é", "trace_id:", "\n"])
    ).map("".join)
)
def test_words_that_are_left_have_no_operators(text: str) -> None:
    if not text:
        return
    try:
        words, _ = said(text)
    except BadQuery:
        return
    if words is None:
        return
    again, filters = said(words)
    assert (again, filters) == (words, {})
    assert is_pasted(text) <= (words == text)


@pytest.mark.parametrize("form", ["lines", "templates", "counts", "export", "tail"])
def test_every_form_follows_the_same_grammar(form: str) -> None:
    query = parse_query(json.dumps({"as": form, "text": 'full "disk" -canary level:ERROR'}).encode())
    assert query.text == "full disk"
    assert query.filters == Filters(level=["ERROR"], phrases=[["disk"]], not_phrases=["canary"])


def test_a_search_for_nothing_but_filters_is_refused_and_counts_take_it() -> None:
    with pytest.raises(BadQuery, match="say what to look for"):
        parse_query(b'{"text": "-canary level:ERROR"}')
    assert parse_query(b'{"as": "counts", "text": "-canary"}').filters.not_phrases == ["canary"]
    assert "text" not in parse_query(b'{"as": "counts", "text": "-canary"}').model_fields_set


@pytest.mark.parametrize(("text", "mode", "phrases"), rows("questions/identifiers"))
def test_the_identifiers_of_a_question_must_match_and_those_of_a_pasted_line_need_not(
    text: str, mode: str | None, phrases: list[list[str]]
) -> None:
    assert parse_query(json.dumps({"text": text, "mode": mode}).encode()).filters.phrases == phrases


def test_where_all_of_a_text_is_text_nothing_of_it_is_an_operator() -> None:
    query = parse_query(b'{"text": "lost ab-123 \\"x\\" -canary", "operators": false}')
    assert (query.text, query.filters) == ('lost ab-123 "x" -canary', Filters())


@pytest.mark.parametrize(("text", "left"), [("disk", {}), ('lost ab-123 "no space" -canary', {"phrases": [["no space"], ["ab-123"]]})])
@pytest.mark.parametrize("form", ["lines", "templates", "counts"])
def test_a_text_that_is_not_ranked_only_filters(text: str, left: dict[str, Any], form: str) -> None:
    wanted = {"text": text, "mode": "hybrid", "rank": False, "filters": {"family": ["0" * 16]}}
    query = parse_query(json.dumps(wanted).encode(), form)
    said = query.filters.model_dump(exclude_defaults=True)
    assert said == {"family": ["0" * 16]} | ({"not_phrases": ["canary"]} if left else {}) | left
    assert query.model_fields_set == {"form", "filters"}


def test_every_filter_has_an_operator_by_the_name_of_its_option() -> None:
    values = {"template": "0" * 32, "family": "0" * 16, "fields": "a=b"}
    for name in FILTERS:
        plain = name.removeprefix("not_")
        _, filters = said(f"disk {'-' * (plain != name)}{plain.removesuffix('s')}:{values.get(plain, 'x')}")
        assert list(filters) == [name]
