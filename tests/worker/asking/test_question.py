"""What a request may say, and until when its sender waits."""

import json
import math

import pytest

from sinks.reading.line_filter import LineFilter
from tests.rows import rows
from worker.asking.filters import Filters
from worker.asking.question import MAX_K, MAX_TEXT_CHARACTERS, Query
from worker.asking.refusals import BadQuery
from worker.asking.requests import Requester, header_of, is_late, monotonic_deadline_s, patience_s
from worker.querying.forms import parse_query
from worker.querying.scope import line_filter

BAD: dict[str, tuple[bytes, str]] = {name: (query.encode(), field) for name, query, field in rows("questions/bad")} | {
    "not UTF-8": (b'{"text": "\xff"}', "query"),
    "deeper than any query": (b"[" * 100_000, "query"),
    "a text of a megabyte": (b'{"text": "' + b"x" * 1_000_000 + b'"}', "text"),
    "k of a hundred digits": (b'{"text": "a", "k": 1' + b"0" * 100 + b"}", "k"),
    "too many services": (json.dumps({"text": "a", "filters": {"service": ["s"] * 101}}).encode(), "filters.service"),
    "a time of a hundred digits": (b'{"text": "a", "filters": {"since_ms": 1' + b"0" * 100 + b"}}", "filters.since_ms"),
    "an id of a template with more behind it": (json.dumps({"filters": {"template": ["0" * 32 + "\n"]}}).encode(), "filters.template.0"),
    "a field's value of a megabyte": (
        json.dumps({"text": "a", "filters": {"fields": {"f": "x" * 1_000_000}}}).encode(),
        "filters.fields.f.0",
    ),
    "a field's value of five thousand digits": (b'{"text": "a", "filters": {"fields": {"f": ' + b"7" * 5_000 + b"}}}", "query"),
    "too many fields": (json.dumps({"text": "a", "filters": {"fields": {f"f{n}": ["a"] for n in range(17)}}}).encode(), "filters.fields"),
    "a tail from a cursor of a megabyte": (json.dumps({"as": "tail", "after": "0" * 1_000_000}).encode(), "after"),
    "counts by a field with a name of a megabyte": (json.dumps({"as": "counts", "by": ["field:" + "x" * 1_000_000]}).encode(), "by.0"),
    "too many counts": (json.dumps({"as": "counts", "by": [["level"]] * 33}).encode(), "by"),
}


@pytest.mark.parametrize(("value", "field"), BAD.values(), ids=BAD)
def test_a_bad_query_is_refused_and_the_field_is_named(value: bytes, field: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse_query(value)
    assert refused.value.field == field
    assert 0 < len(refused.value.reason) < 200


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ({"txt": "a"}, "'text'"),
        ({"form": "lines"}, None),
        ({"filters": {"servce": ["a"]}}, "'service'"),
        ({"around": {"topic": "a", "partition": 0, "ofset": 0}}, "'offset'"),
        ({"as": "compare", "compare": {"since_ms": 1, "until": 2}}, "'until_ms'"),
        ({"zebra": 1}, None),
    ],
)
def test_a_name_that_no_part_has_is_refused_with_the_one_that_was_probably_meant(query: dict[str, object], meant: str | None) -> None:
    with pytest.raises(BadQuery) as refused:
        parse_query(json.dumps(query).encode())
    named = "" if meant is None else f"; did you mean {meant}?"
    assert refused.value.reason == f"there is no such part of a query{named}"


def test_an_unknown_field_with_a_name_of_a_megabyte_is_named_in_short() -> None:
    with pytest.raises(BadQuery) as refused:
        parse_query(json.dumps({"text": "a", "x" * 1_000_000: 1}).encode())
    assert refused.value.field == "x" * 100


@pytest.mark.parametrize("k", [1, MAX_K])
def test_bounds_belong_to_what_is_allowed(k: int) -> None:
    text = "é" * MAX_TEXT_CHARACTERS
    query = parse_query(json.dumps({"text": text, "k": k}).encode())
    assert (query.text, query.k) == (text, k)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ('"web-1"', ["web-1"]),
        ('["web-1", "web-2"]', ["web-1", "web-2"]),
        ("503", ["503"]),
        ("[200, 503]", ["200", "503"]),
        ("true", ["true"]),
        ("1.5", ["1.5"]),
        ("-7", ["-7"]),
        ("123456789012345678901234567890", ["123456789012345678901234567890"]),
    ],
)
def test_a_field_has_one_value_or_several_and_numbers_count_as_their_text(given: str, values: list[str]) -> None:
    query = parse_query(b'{"text": "a", "filters": {"fields": {"f": %s}}}' % given.encode())
    assert line_filter(query.filters).fields == tuple(("f", value) for value in values)


def test_what_is_excluded_by_template_is_looked_up_first_and_is_nothing_to_look_for() -> None:
    assert not parse_query(b'{"text": "a", "filters": {"not_service": ["a"]}}').filters.names_templates
    for name, one in (("not_template", "0123456789abcdef" * 2), ("not_family", "0123456789abcdef")):
        query = parse_query(json.dumps({"text": "a", "filters": {name: [one]}}).encode())
        assert query.filters.names_templates
        assert line_filter(query.filters) == LineFilter(), "the reader gets them apart"
        with pytest.raises(BadQuery, match="say what to look for"):
            parse_query(json.dumps({"filters": {name: [one]}}).encode())


@pytest.mark.parametrize("name", ["service", "level", "topic", "template", "family", "fields"])
def test_what_excludes_has_the_bounds_of_what_asks(name: str) -> None:
    one, other = (Filters.model_fields[field] for field in (name, f"not_{name}"))
    assert (one.annotation, one.metadata) == (other.annotation, other.metadata)


def test_names_of_fields_are_counted_by_themselves() -> None:
    assert parse_query(b'{"as": "counts", "by": ["field"], "top": 1000}').by == ["field"]
    for other in ("time", "level", "field:pod"):
        with pytest.raises(BadQuery, match="field stands alone"):
            parse_query(json.dumps({"as": "counts", "by": ["field", other]}).encode())


def test_counts_may_be_by_any_field() -> None:
    for name in ("k8s.pod.name", 'a"b', "nul\0", "time", "field:x", "x" * 256):
        value = json.dumps({"as": "counts", "by": [f"field:{name}", "time"]}).encode()
        assert parse_query(value).by == [f"field:{name}", "time"]


def test_a_text_may_be_missing_where_templates_are_named_or_counted() -> None:
    for value in (
        b'{"filters": {"template": ["0123456789abcdef0123456789abcdef"]}}',
        b'{"filters": {"family": ["0123456789abcdef"]}}',
        b'{"as": "templates", "expand": true}',
        b'{"as": "templates"}',
        b'{"as": "counts"}',
        b'{"as": "export"}',
        b'{"as": "export", "after": "logs@0a1b2c3d/7/-1/2147483647/2147483647", "filters": {"since_ms": 1}}',
        b'{"as": "tail", "after": "0123abcd.17"}',
        b'{"as": "compare", "filters": {"since_ms": 1, "until_ms": 2}, "compare": {"since_ms": 0, "until_ms": 1}}',
    ):
        assert parse_query(value).text is None


@pytest.mark.parametrize(
    ("deadline_ms", "sent_ms", "expected_s"),
    [
        (None, 1_000, None),
        (500, 9_800, 50.3),  # sent 200 ms ago
        (500, 9_000, 49.5),  # sent a second ago: over
        (500, 10_900, 50.5),  # a sender whose clock is ahead gains nothing
        (500, 0, 50.5),  # the broker gave no time
        (500, -1, 50.5),
    ],
)
def test_a_deadline_counts_from_when_the_request_was_sent(deadline_ms: int | None, sent_ms: int, expected_s: float | None) -> None:
    query = Query(text="a", deadline_ms=deadline_ms)
    assert monotonic_deadline_s(query, sent_ms=sent_ms, now_s=50.0, wall_ms=10_000.0) == pytest.approx(expected_s)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b'{"text": "disk", "deadline_ms": 1500}', 1.5),
        (b'{"around": {"topic": "logs"}, "deadline_ms": 60000, "unknown": [1]}', 60.0),
        (b'{"text": "disk"}', math.inf),
        (b'{"deadline_ms": null}', math.inf),
        (b'{"deadline_ms": 0}', math.inf),
        (b'{"deadline_ms": 60001}', math.inf),
        (b'{"deadline_ms": "20"}', math.inf),
        (b'{"deadline_ms": 20', math.inf),
        (b"[" * 100_000, math.inf),
        (b"\xff", math.inf),
        (b"", math.inf),
    ],
)
def test_a_sender_waits_as_long_as_its_request_says_however_wrong_the_rest_is(value: bytes, seconds: float) -> None:
    assert patience_s(value) == seconds


def test_the_moment_of_the_deadline_is_late() -> None:
    requester = Requester(lambda _reply, *, deadline_s: None, 1.0, 5.0)  # noqa: ARG005 - as SendReply
    assert [is_late(requester, now_s) for now_s in (4.9, 5.0, 5.1)] == [False, True, True]
    assert not is_late(requester._replace(deadline_s=None), 1e9)


def test_of_two_headers_of_one_name_the_last_counts() -> None:
    headers = (("a", b"1"), ("b", b"2"), ("a", b"3"))
    assert header_of(headers, "a") == b"3"
    assert header_of(headers, "c") is None
    assert header_of((("a", b"1"), ("a", None)), "a") is None
