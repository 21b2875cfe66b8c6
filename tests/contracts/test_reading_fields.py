"""Kept fields and lines without a text read the same on every sink, whatever names and values producers choose."""

from collections import Counter
from random import Random

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from sinks.block import Column
from sinks.line import Line
from sinks.reading.between import RecordRange
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter
from sinks.reading.ordered import Reach
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from sinks.sink import Sink
from sinks.words import word_keys
from tests.world import block, line, run

HOSTILE = ("a.b.c", 'quo"te', "nul\0byte", "back\\slash", "日志.é", ":", ",", "{}", "", "x" * 256, "line\nfeed", '":"', "field:x")
TEMPLATES = ("failed password for <user>", "session opened")


def stored_lines() -> list[Line]:
    """Return lines with several fields each: shared ones, unique ones, numbers, booleans, and one with a hostile name and value."""
    draw = Random(7)
    lines = []
    for offset in range(60):
        fields = {
            "trace_id": f"{offset:032x}",
            "k8s.pod.name": f"web-{draw.randrange(3)}",
            "http.response.status_code": draw.choice((200, 503)),
            "duration_ms": offset / 7,
            "ok": offset % 2 == 0,
            HOSTILE[offset % len(HOSTILE)]: HOSTILE[offset % 5],
        }
        has_fields, has_text = offset % 10 != 9, offset % 6 != 5
        lines.append(
            line(
                offset,
                text=f"request req-{1_000 + offset} ok" if has_text else None,
                template_text=TEMPLATES[offset % 2],
                service=f"s{offset % 3}",
                fields=orjson.dumps(fields).decode() if has_fields else None,
            )
        )
    return lines


LINES = stored_lines()


def value_of(one: Line, name: str) -> str:
    """Return a field as text, by parsing it; empty if there is none."""
    value = orjson.loads(one.fields or "{}").get(name, "")
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def has_field(one: Line, name: str) -> bool:
    return name in orjson.loads(one.fields or "{}")


@pytest.fixture
def reader(sink: Sink) -> BlockReader:
    """Return a reader of the lines in blocks of ten, and of a copy of some of them by a later run."""
    sink.write_blocks([block(LINES[at : at + 10], run(1), at // 10) for at in range(0, 60, 10)])
    sink.write_blocks([block(LINES[25:38], run(2))])
    return BlockReader(sink, page_blocks=2)


def newest(reader: BlockReader, only: LineFilter) -> list[Line]:
    templates = sorted({one.template for one in LINES})
    found = reader.newest_lines(templates, 100, only)
    assert found.complete
    return sorted((one for lines in found.lines.values() for one in lines), key=lambda one: one.offset)


def test_a_filter_by_any_field_finds_exactly_its_lines(reader: BlockReader) -> None:
    pairs = {(name, value_of(one, name)) for one in LINES for name in orjson.loads(one.fields or "{}")}
    shared = [pair for pair in sorted(pairs) if pair[0] not in ("trace_id", "duration_ms")]
    unique = [("trace_id", f"{31:032x}"), ("duration_ms", value_of(LINES[31], "duration_ms")), ("trace_id", "nothing"), ("none", "")]
    for name, value in (*shared, *unique):
        expected = [one for one in LINES if has_field(one, name) and value_of(one, name) == value]
        assert newest(reader, LineFilter(fields=((name, value),))) == expected, (name, value)
        assert sum(row.lines for row in reader.count(CountQuery(LineFilter(fields=((name, value),)))).rows) == len(expected)


def test_a_line_has_one_of_the_values_of_each_name(reader: BlockReader) -> None:
    wanted = (("k8s.pod.name", "web-1"), ("k8s.pod.name", "web-2"), ("http.response.status_code", "503"))
    expected = [one for one in LINES if value_of(one, "k8s.pod.name") in ("web-1", "web-2") and value_of(one, wanted[2][0]) == "503"]
    assert newest(reader, LineFilter(fields=wanted)) == expected


def test_an_excluded_field_value_leaves_out_exactly_its_lines(reader: BlockReader) -> None:
    for name, value in (("k8s.pod.name", "web-1"), ("ok", "true"), ("trace_id", f"{31:032x}"), (HOSTILE[1], HOSTILE[1]), ("none", "")):
        without = LineFilter(not_fields=((name, value),))
        expected = [one for one in LINES if not (has_field(one, name) and value_of(one, name) == value)]
        assert newest(reader, without) == expected, (name, value)
        assert sum(row.lines for row in reader.count(CountQuery(without, by=("service",))).rows) == len(expected)
    both = LineFilter(fields=(("k8s.pod.name", "web-1"),), not_fields=(("k8s.pod.name", "web-1"),))
    assert newest(reader, both) == []


def test_names_of_fields_are_counted_once_a_line(reader: BlockReader) -> None:
    only = LineFilter(since_ms=5_000, not_services=("s2",))
    passing = [one for one in LINES if one.time >= 5_000 and one.service != "s2"]
    by_hand = Counter(name for one in passing for name in orjson.loads(one.fields or "{}"))
    found = reader.count(CountQuery(only, by=("field",)))
    assert found.complete
    assert {row.key[0]: row.lines for row in found.rows} == by_hand
    times = [one.time for one in passing if has_field(one, "trace_id")]
    row = next(row for row in found.rows if row.key == ("trace_id",))
    assert (row.first_ms, row.last_ms) == (min(times), max(times))
    most = max(by_hand.values())
    assert [row.lines for row in reader.count(CountQuery(only, by=("field",), top=2)).rows] == [most, most]


def test_counts_by_any_field_are_those_of_counting_by_hand(reader: BlockReader) -> None:
    for name in ("k8s.pod.name", "http.response.status_code", "ok", "trace_id", "duration_ms", "none", *HOSTILE):
        counts = reader.count(CountQuery(by=(f"field:{name}",)))
        assert counts.complete
        assert {row.key[0]: row.lines for row in counts.rows} == Counter(value_of(one, name) for one in LINES), name


def test_counts_by_a_field_and_something_else_have_both_in_their_keys(reader: BlockReader) -> None:
    only = LineFilter(since_ms=5_000, until_ms=50_000, services=("s0", "s1"))
    passing = [one for one in LINES if 5_000 <= one.time < 50_000 and one.service in only.services]
    pod = "field:k8s.pod.name"
    by_hand = Counter((value_of(one, "k8s.pod.name"), one.service) for one in passing)
    assert {row.key: row.lines for row in reader.count(CountQuery(only, by=(pod, "service"))).rows} == by_hand
    by_time = Counter((one.time // 20_000 * 20_000, value_of(one, "k8s.pod.name")) for one in passing)
    found = reader.count(CountQuery(only, by=("time", pod), bucket_ms=20_000))
    assert {row.key: row.lines for row in found.rows} == by_time
    two = reader.count(CountQuery(by=(pod, "field:ok"), top=1)).rows
    (best, lines), *_ = Counter((value_of(one, "k8s.pod.name"), value_of(one, "ok")) for one in LINES).most_common(1)
    assert [(row.key, row.lines) for row in two] == [(best, lines)]


def test_a_line_without_its_text_keeps_everything_else(reader: BlockReader) -> None:
    found = reader.lines_between(RecordRange("logs", 0, 0, 100), strong=True)
    assert found.lines == LINES
    assert newest(reader, LineFilter()) == LINES
    assert {one.offset for one in found.lines if one.text is None} == set(range(5, 60, 6))
    assert sum(row.lines for row in reader.count(CountQuery(by=("service",))).rows) == 60


def test_no_word_is_in_a_line_without_its_text(reader: BlockReader) -> None:
    def has_ok(texts: Column) -> NDArray[np.bool_]:
        return np.array([text.endswith("ok") for text in texts.to_pylist()], np.bool_)

    with_texts = [one for one in LINES if one.text is not None]
    assert reader.lines_with(Selection(LineFilter(), is_match=has_ok), 100).lines == with_texts[::-1]
    templates = frozenset(one.template for one in LINES)
    assert reader.lines_with(Selection(LineFilter(), templates=templates, is_match=has_ok), 100).lines == with_texts[::-1]
    assert reader.lines_with(Selection(LineFilter(), is_match=has_ok, keys=word_keys("req-1005")), 100).lines == []


def test_a_phrase_that_is_excluded_leaves_lines_without_their_text(reader: BlockReader) -> None:
    only = LineFilter(phrases=(("req-1031", "REQ-1032 ok"),))
    assert [one.offset for one in newest(reader, only)] == [31, 32]
    assert newest(reader, only._replace(not_phrases=("ok",))) == []
    assert newest(reader, LineFilter(not_phrases=("ok",))) == [one for one in LINES if one.text is None]
    assert newest(reader, LineFilter(not_phrases=("req-103",))) == LINES, "no whole word"
    assert sum(row.lines for row in reader.count(CountQuery(LineFilter(phrases=(("ok",),)))).rows) == 50
    in_order = reader.lines_in_order(Selection(only), Reach(0), 100_000, 10).lines
    assert [one.offset for one in in_order] == [31, 32]
