"""Filters mean what their values say, whatever they hold."""

from typing import Any

import pytest

from sinks.block import BlockPlace
from sinks.milvus.expressions import after, any_of, any_of_each, block_expression, literal, unseen_expressions
from sinks.sink import BlockFilter, OffsetSpan, RunSpan, SeenRun
from tests.rows import rows


def test_texts_are_quoted_so_that_they_end_where_they_end() -> None:
    assert literal('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert any_of("level", ["INFO", "INFO", "\ud800"]) == 'level in ["INFO"]'
    assert any_of("level", ["\ud800"]) is None
    assert list(any_of_each("id", ["a", "b", "a", "c", "\ud800"], 2)) == ['id in ["a", "b"]', 'id in ["c"]']
    assert list(any_of_each("id", [], 2)) == []
    assert after("id", 'a"') == 'id > "a\\""'
    assert after("id", "", "lines > 1") == 'id > "" and lines > 1'


@pytest.mark.parametrize(("only", "expression"), rows("milvus/expressions"))
def test_a_filter_is_an_expression_or_nothing_when_no_block_can_pass(only: dict[str, Any], expression: str | None) -> None:
    built: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in only.items()}
    if "spans" in only:
        built["spans"] = tuple(OffsetSpan(*span) for span in only["spans"])
    if "besides" in only:
        built["besides"] = tuple(RunSpan(BlockPlace(*place), *span) for place, *span in only["besides"])
    assert block_expression(BlockFilter(**built)) == expression


def test_what_is_unseen_are_the_ranges_of_ids_between_what_was_seen_and_what_comes_next() -> None:
    one, two = BlockPlace("logs", "e", 1), BlockPlace("logs", "e", 10)
    assert list(unseen_expressions(())) == ['(id > "" and id < "~")']
    seen = [SeenRun(two, "b" * 20, -1), SeenRun(one, "c" * 20, 7), SeenRun(one, "a" * 20, 123_456_789)]
    assert "".join(unseen_expressions(seen)).split(" or ") == [
        '(id > "" and id < "logs@e/1/")',
        f'(id > "logs@e/1/{"a" * 20}/123456789-~" and id < "logs@e/1/{"a" * 20}/~")',
        f'(id > "logs@e/1/{"c" * 20}/00000007-~" and id < "logs@e/10/")',
        f'(id > "logs@e/10/{"b" * 20}/" and id < "~")',
    ]
    many = [SeenRun(BlockPlace("logs", "e", partition), "a" * 20, 1) for partition in range(600)]
    assert [expression.count(" or ") for expression in unseen_expressions(many)] == [255, 255, 88]
