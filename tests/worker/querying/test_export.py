"""Exports: every line that passes, answer by answer, in the order of time."""

import json
from typing import Any

import pytest

from sinks.line import Line
from sinks.lines import cut_of
from tests.world import block, index_of, line, open_sink, run, template, unit, write
from worker.querying.answer_documents import MOST_REPLY_BYTES, json_bytes
from worker.querying.export import export_lines
from worker.querying.forms import parse_query
from worker.querying.query_words import words_of
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery


def ask(index: Index, *, passed: bool = False, **request: Any) -> Any:  # noqa: ANN401 - any part of a query
    query = parse_query(json.dumps({"as": "export", **request}).encode())
    is_exact = words_of(query.text or "").is_exact
    vector = None if query.text is None or is_exact or query.mode == "words" else unit(1.0)
    answer = export_lines(index, PreparedQuery(query, vector, is_exact), lambda: passed)
    assert len(json_bytes(answer)) < MOST_REPLY_BYTES
    return answer


def everything(index: Index, **request: Any) -> tuple[list[dict[str, Any]], int]:  # noqa: ANN401
    """Ask on until all is there; return the lines, and how many answers there were."""
    question: dict[str, Any] | None = request
    lines: list[dict[str, Any]] = []
    answers = 0
    while question is not None:
        answer = ask(index, **question)
        assert answer["complete"]
        assert answer["next"] != question, "it does not move on"
        assert (answer["next"] is None) == (answer["until_ms"] == answer["end_ms"])
        lines += answer["lines"]
        question = answer["next"]
        answers += 1
    return lines, answers


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [one["text"] for one in lines]


def some_lines() -> list[Line]:
    return [line(n, time=100 * (n * 37 % 50), service="web" if n % 3 else "db", text=f"line {n}") for n in range(50)]


def test_open_ends_are_those_of_the_lines_and_stay_as_the_first_answer_found_them() -> None:
    index = index_of(open_sink(), some_lines())
    first = ask(index, k=7)
    assert [one["time"] for one in first["lines"]] == [0, 100, 200, 300, 400, 500, 600]
    assert (first["until_ms"], first["end_ms"]) == (700, 4_901)
    assert first["next"] == {"as": "export", "k": 7, "filters": {"since_ms": 700, "until_ms": 4_901}}
    sink = index.sink
    sink.write_blocks([block([line(900, time=9_000), line(901, time=100)], run(1_000))])
    lines = first["lines"] + everything(index, **first["next"])[0]
    assert texts(lines) == [one.text for one in sorted(some_lines(), key=lambda one: one.time)]


def test_an_answer_ends_between_two_milliseconds_unless_one_has_more_lines_than_it_may_hold() -> None:
    index = index_of(open_sink(), [line(n, time=5 if n < 3 else 6 if n < 20 else 7) for n in range(24)])
    first = ask(index, k=10)
    assert (len(first["lines"]), first["until_ms"]) == (3, 6)
    assert "after" not in first["next"]
    second = ask(index, **first["next"])
    assert (len(second["lines"]), second["until_ms"]) == (10, 6)
    assert second["next"]["after"]
    lines, _ = everything(index, k=10)
    assert [one["offset"] for one in lines] == list(range(24))


def test_what_a_text_means_is_decided_once() -> None:
    sink = open_sink([template("disk full", unit(1.0)), template("disk slow", unit(1.0, 0.3))])
    lines = [line(n, template_text="disk full" if n % 2 else "disk slow", text=f"disk {n}") for n in range(20)]
    index = index_of(sink, lines)
    first = ask(index, text="disk", mode="dense", k=4)
    assert len(first["next"]["filters"]["template"]) == 2
    assert "text" not in first["next"]
    sink.templates.upsert([template("disk gone", unit(1.0))])
    write(sink, line(100, time=15_500, template_text="disk gone"))
    assert texts(first["lines"] + everything(index, **first["next"])[0]) == [one.text for one in lines]


def test_of_identifiers_exactly_the_lines_that_have_them_come() -> None:
    lines = [line(n, text=f"request req-{1_000 + n % 4} took {n} ms") for n in range(40)]
    lines.append(line(40, text="whole", template_text="request req-1003 failed"))
    index = index_of(open_sink([template(), template("request req-1003 failed")]), lines)
    found, _ = everything(index, text="req-1003", k=3)
    assert [one["offset"] for one in found] == [n for n in range(40) if n % 4 == 3]


def test_a_long_line_comes_whole_where_all_of_its_chunks_do() -> None:
    parts = ["first, ", "second, ", "third"]
    chunks = [
        line(2, chunk=at, chunks=3, text=text, cut=cut_of(parts), template_text=f"part {at}", fields='{"a":1}' if not at else None)
        for at, text in enumerate(parts)
    ]
    index = index_of(open_sink([template(f"part {at}") for at in range(3)]), [line(1), *chunks, line(3)])
    lines, _ = everything(index, k=2)
    assert texts(lines) == ["line 1", "first, second, third", "line 3"]
    assert (lines[1]["chunk"], lines[1]["chunks"], lines[1]["fields"]) == (0, 1, {"a": 1})
    (alone,), _ = everything(index, filters={"template": [chunks[1].template]})
    assert (alone["text"], alone["chunk"], alone["chunks"]) == ("second, ", 1, 3)


def test_an_answer_never_exceeds_what_a_reply_may_hold_and_nothing_is_lost() -> None:
    texts_of = ["\x01" * 9_000 + f" {n}" for n in range(60)]
    huge = ["\x02" * 38_000] * 5
    long = [line(61, chunk=at, chunks=5, text=text, cut=cut_of(huge)) for at, text in enumerate(huge)]
    for time in (None, 7):
        lines = [line(n, text=text, **({} if time is None else {"time": time})) for n, text in enumerate(texts_of)] + long
        index = index_of(open_sink(), [])
        index.sink.write_blocks([block(lines[at : at + 1], run(1), at) for at in range(len(lines))])
        found, answers = everything(index)
        assert answers > 3
        assert "".join(texts(found)) == "".join([*texts_of, *huge])


def test_when_time_is_up_what_was_read_is_the_answer_and_it_moves_on() -> None:
    index = index_of(open_sink(), [line(n, time=n) for n in range(300)])
    answer = ask(index, passed=True, filters={"since_ms": 0, "until_ms": 300})
    assert 0 < len(answer["lines"]) < 300
    assert answer["complete"]
    assert answer["until_ms"] == len(answer["lines"])


@pytest.mark.parametrize("far_ms", [(1 << 63) - 1, (1 << 62) + 1, 1 << 62, -1 << 62, -1 << 63])
def test_a_stored_line_of_a_far_time_ends_no_export_whether_a_query_can_name_its_time_or_not(far_ms: int) -> None:
    index = index_of(open_sink(), [*some_lines(), line(500, time=far_ms, text="far")])
    lines, _ = everything(index, k=7)
    assert [one for one in texts(lines) if one != "far"] == [one.text for one in sorted(some_lines(), key=lambda one: one.time)]
    assert ("far" in texts(lines)) == (far_ms == -1 << 62), "other ends are exclusive, and no query can name them"


def test_without_lines_it_ends_at_once() -> None:
    index = index_of(open_sink(), some_lines())
    assert everything(index, filters={"service": ["none"]}) == ([], 1)
    assert everything(index, filters={"since_ms": 90_000, "until_ms": 80_000}) == ([], 1)
    assert everything(index, text="nothing-1234567 like it") == ([], 1)
    assert everything(index_of(open_sink()), k=1) == ([], 1)
