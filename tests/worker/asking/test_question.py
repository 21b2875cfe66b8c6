"""What a request may say, and until when its sender waits."""

import json
import math

import pytest

from sinks.reading.line_filter import LineFilter
from worker.asking.filters import Filters
from worker.asking.question import MAX_K, MAX_TEXT_CHARACTERS, Query
from worker.asking.refusals import BadQuery
from worker.asking.requests import Requester, header_of, is_late, monotonic_deadline_s, patience_s
from worker.querying.forms import parse_query
from worker.querying.scope import line_filter

BAD: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"disk full", "query"),
    "nothing": (b"", "query"),
    "not UTF-8": (b'{"text": "\xff"}', "query"),
    "half a character": (b'{"text": "\\ud800"}', "query"),
    "deeper than any query": (b"[" * 100_000, "query"),
    "no text": (b'{"k": 3}', "text"),
    "an empty text": (b'{"text": ""}', "text"),
    "a text that is a number": (b'{"text": 7}', "text"),
    "a text of a megabyte": (b'{"text": "' + b"x" * 1_000_000 + b'"}', "text"),
    "k 0": (b'{"text": "a", "k": 0}', "k"),
    "k of a hundred digits": (b'{"text": "a", "k": 1' + b"0" * 100 + b"}", "k"),
    "k true": (b'{"text": "a", "k": true}', "k"),
    "unknown field": (b'{"text": "a", "expr": "1 == 1"}', "expr"),
    "unknown filter": (b'{"text": "a", "filters": {"host": ["a"]}}', "filters.host"),
    "an expression for a filter": (b'{"text": "a", "filters": "time > 0"}', "filters"),
    "a filter that is no list": (b'{"text": "a", "filters": {"service": "sshd"}}', "filters.service"),
    "too many services": (json.dumps({"text": "a", "filters": {"service": ["s"] * 101}}).encode(), "filters.service"),
    "a time of a hundred digits": (b'{"text": "a", "filters": {"since_ms": 1' + b"0" * 100 + b"}}", "filters.since_ms"),
    "a time outside 64 bits": (b'{"text": "a", "filters": {"until_ms": -9223372036854775809}}', "filters.until_ms"),
    "an unknown mode": (b'{"text": "a", "mode": "sparse"}', "mode"),
    "no lines of a template": (b'{"text": "a", "per_template": 0}', "per_template"),
    "a line's neighbours and a text": (b'{"text": "a", "around": {"topic": "logs", "partition": 0, "offset": 1}}', "text"),
    "a line's neighbours and a filter": (
        b'{"text": "a", "rank": false, "around": {"topic": "logs", "partition": 0, "offset": 1}}',
        "rank",
    ),
    "no lines of a family": (b'{"text": "a", "per_family": 0}', "per_family"),
    "a family that is no id": (b'{"text": "a", "filters": {"family": ["disk"]}}', "filters.family.0"),
    "a template as a family": (b'{"text": "a", "filters": {"family": ["0123456789abcdef0123456789abcdef"]}}', "filters.family.0"),
    "lines one by one": (b'{"text": "a", "expand": true}', "expand"),
    "counts one by one": (b'{"as": "counts", "expand": false}', "expand"),
    "a line's neighbours as templates": (b'{"as": "templates", "around": {"topic": "logs", "partition": 0, "offset": 1}}', "as"),
    "a line's neighbours by words": (b'{"mode": "words", "around": {"topic": "logs", "partition": 0, "offset": 1}}', "mode"),
    "neighbours of no line": (b'{"around": {"topic": "logs", "partition": 0}}', "around.offset"),
    "a million neighbours": (b'{"around": {"topic": "logs", "partition": 0, "offset": 1, "before": 1000000}}', "around.before"),
    "a deadline in the past": (b'{"text": "a", "deadline_ms": 0}', "deadline_ms"),
    "a deadline of more than a minute": (b'{"text": "a", "deadline_ms": 60001}', "deadline_ms"),
    "half an id of a template": (b'{"filters": {"template": ["0123456789abcdef"]}}', "filters.template.0"),
    "an id of a template with more behind it": (json.dumps({"filters": {"template": ["0" * 32 + "\n"]}}).encode(), "filters.template.0"),
    "a field without values": (b'{"text": "a", "filters": {"fields": {"host": []}}}', "filters.fields.host"),
    "a field with an object": (b'{"text": "a", "filters": {"fields": {"code": [{"is": 7}]}}}', "filters.fields.code.0"),
    "a field's value of a megabyte": (
        json.dumps({"text": "a", "filters": {"fields": {"f": "x" * 1_000_000}}}).encode(),
        "filters.fields.f.0",
    ),
    "a field's value of five thousand digits": (b'{"text": "a", "filters": {"fields": {"f": ' + b"7" * 5_000 + b"}}}", "query"),
    "a trace twice": (b'{"text": "a", "filters": {"fields": {"trace_id": "t"}, "trace_id": "t"}}', "filters.trace_id"),
    "too many fields": (json.dumps({"text": "a", "filters": {"fields": {f"f{n}": ["a"] for n in range(17)}}}).encode(), "filters.fields"),
    "no rank without a text": (b'{"as": "counts", "rank": false}', "rank"),
    "lines of any family that are not ranked": (b'{"text": "disk -canary", "rank": false}', "text"),
    "a mode without a text": (b'{"as": "templates", "mode": "words"}', "mode"),
    "a comparison with nothing": (b'{"as": "compare", "filters": {"since_ms": 1, "until_ms": 2}}', "compare"),
    "a comparison of half a window": (
        b'{"as": "compare", "filters": {"since_ms": 1}, "compare": {"since_ms": 1, "until_ms": 2}}',
        "filters.until_ms",
    ),
    "a comparison with half a window": (b'{"as": "compare", "compare": {"since_ms": 1}}', "compare.until_ms"),
    "a comparison with an empty window": (
        b'{"as": "compare", "filters": {"since_ms": 1, "until_ms": 2}, "compare": {"since_ms": 2, "until_ms": 2}}',
        "compare.until_ms",
    ),
    "counts compared": (b'{"as": "counts", "compare": {"since_ms": 1, "until_ms": 2}}', "compare"),
    "an export one by one": (b'{"as": "export", "expand": true}', "expand"),
    "an export from a place in no millisecond": (b'{"as": "export", "after": "logs@e/0/1/0/0"}', "filters.since_ms"),
    "an export from no place": (b'{"as": "export", "after": "logs", "filters": {"since_ms": 1}}', "after"),
    "a tail from a place": (b'{"as": "tail", "after": "logs@e/0/1/0/0"}', "after"),
    "a tail from a cursor of a megabyte": (json.dumps({"as": "tail", "after": "0" * 1_000_000}).encode(), "after"),
    "hits after a place": (b'{"text": "a", "after": "0123abcd.1"}', "after"),
    "a tail around a line": (b'{"as": "tail", "around": {"topic": "logs", "partition": 0, "offset": 1}}', "as"),
    "lines grouped": (b'{"text": "a", "by": ["time"]}', "by"),
    "templates in buckets": (b'{"as": "templates", "buckets": 5}', "buckets"),
    "counts by what is unknown": (b'{"as": "counts", "by": ["host"]}', "by.0"),
    "counts by a field without a name": (b'{"as": "counts", "by": ["field:"]}', "by.0"),
    "counts by a field with a name of a megabyte": (json.dumps({"as": "counts", "by": ["field:" + "x" * 1_000_000]}).encode(), "by.0"),
    "counts by nothing": (b'{"as": "counts", "by": []}', "by"),
    "counts by three": (b'{"as": "counts", "by": ["time", "level", "topic"]}', "by"),
    "counts by the same twice": (b'{"as": "counts", "by": ["level", "level"]}', "by"),
    "buckets without time": (b'{"as": "counts", "by": ["level"], "buckets": 5}', "buckets"),
    "several counts without time in buckets": (b'{"as": "counts", "by": [["level"], ["topic"]], "buckets": 5}', "buckets"),
    "several counts, one by what is unknown": (b'{"as": "counts", "by": [["level"], ["host"]]}', "by.1.0"),
    "several counts, one by the same twice": (b'{"as": "counts", "by": [["level"], ["topic", "topic"]]}', "by"),
    "several counts, one by nothing": (b'{"as": "counts", "by": [["level"], []]}', "by.1"),
    "several counts and one": (b'{"as": "counts", "by": ["level", ["topic"]]}', "by.1"),
    "too many counts": (json.dumps({"as": "counts", "by": [["level"]] * 33}).encode(), "by"),
    "counts of all time": (b'{"as": "counts", "widen": true}', "widen"),
    "facets of lines": (b'{"text": "a", "facets": true}', "facets"),
    "a single bucket": (b'{"as": "counts", "buckets": 1}', "buckets"),
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


def test_filters_become_what_the_reader_understands() -> None:
    filters = {"since_ms": -5, "until_ms": 7, "service": ["a", "b"], "level": ["WARN"], "topic": ["logs"]}
    query = parse_query(json.dumps({"text": "a", "filters": filters}).encode())
    assert line_filter(query.filters) == LineFilter(-5, 7, ("a", "b"), ("WARN",), ("logs",))
    query = parse_query(b'{"text": "a", "filters": {"fields": {"host": ["h1", "h2"]}, "trace_id": "t"}}')
    assert line_filter(query.filters) == LineFilter(fields=(("host", "h1"), ("host", "h2"), ("trace_id", "t")))


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


def test_excluding_filters_become_what_the_reader_understands() -> None:
    filters = {"not_service": ["a", ""], "not_level": ["INFO"], "not_topic": ["logs"], "not_fields": {"pod": ["x", "y"], "code": 503}}
    query = parse_query(json.dumps({"text": "a", "filters": filters}).encode())
    assert line_filter(query.filters) == LineFilter(
        not_services=("a", ""), not_levels=("INFO",), not_topics=("logs",), not_fields=(("pod", "x"), ("pod", "y"), ("code", "503"))
    )
    assert not query.filters.names_templates
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


def test_where_a_request_is_sent_may_fix_what_it_asks_for() -> None:
    assert parse_query(b"{}", "counts").form == "counts"
    assert parse_query(b'{"as": "counts", "top": 3}', "counts").top == 3
    with pytest.raises(BadQuery) as refused:
        parse_query(b'{"as": "lines", "text": "a"}', "counts")
    assert refused.value.field == "as"


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
