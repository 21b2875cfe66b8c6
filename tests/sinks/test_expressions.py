"""Filters mean what their values say, whatever they hold."""

import pytest

from sinks.block import BlockPlace
from sinks.milvus.expressions import after, any_of, any_of_each, block_expression, literal, unseen_expressions
from sinks.row import TemplateKey
from sinks.sink import BlockFilter, OffsetSpan, RunSpan, SeenRun


def test_texts_are_quoted_so_that_they_end_where_they_end() -> None:
    assert literal('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert any_of("level", ["INFO", "INFO", "\ud800"]) == 'level in ["INFO"]'
    assert any_of("level", ["\ud800"]) is None
    assert list(any_of_each("id", ["a", "b", "a", "c", "\ud800"], 2)) == ['id in ["a", "b"]', 'id in ["c"]']
    assert list(any_of_each("id", [], 2)) == []
    assert after("id", 'a"') == 'id > "a\\""'
    assert after("id", "", "lines > 1") == 'id > "" and lines > 1'


@pytest.mark.parametrize(
    ("only", "expression"),
    [
        (BlockFilter(), ""),
        (
            BlockFilter(("logs", "b"), "e", 3, 5, 9, -1),
            'topic in ["logs", "b"] and epoch in ["e"] and partition == 3 and last_offset >= 5 and first_offset < 9 and last_ms >= -1',
        ),
        (BlockFilter(until_ms=7), "first_ms < 7"),
        (BlockFilter(templates=tuple(map(TemplateKey, (-5, 6, -5)))), "array_contains_any(templates, [-5, 6])"),
        (BlockFilter(words=(7, 8)), "array_contains_any(words, [7, 0]) and array_contains_any(words, [8, 0])"),
        (
            BlockFilter(services=("a", '"'), levels=("",)),
            'array_contains_any(services, ["a", "\\""]) and array_contains_any(levels, [""])',
        ),
        (BlockFilter(since_ms=-(1 << 63), until_ms=1 << 63), ""),
        (BlockFilter(first_offset=-(1 << 70), end_offset=1 << 70), ""),
        (BlockFilter(templates=()), None),
        (BlockFilter(topics=("\ud800",)), None),
        (BlockFilter(epoch="\ud800"), None),
        (BlockFilter(services=("\ud800",), templates=(TemplateKey(1),)), None),
        (BlockFilter(since_ms=1 << 63), None),
        (BlockFilter(end_offset=-(1 << 63)), None),
        (
            BlockFilter(("b",), spans=(OffsetSpan(3, 5, 9), OffsetSpan(4, -(1 << 63), 7), OffsetSpan(5, 1 << 63, 1 << 63))),
            'topic in ["b"] and ((partition == 3 and last_offset >= 5 and first_offset < 9) or (partition == 4 and first_offset < 7))',
        ),
        (BlockFilter(spans=()), None),
        (BlockFilter(besides=()), None),
        (
            BlockFilter(besides=(RunSpan(BlockPlace("b", "e", 3), "a" * 20, 5, 9),)),
            (
                f'((((id > "b@e/3/" and id < "b@e/3/{"a" * 20}/") or (id > "b@e/3/{"a" * 20}/~" and id < "b@e/3/~")) '
                "and last_offset >= 5 and first_offset < 9))"
            ),
        ),
        (BlockFilter(("b",), not_topics=("a", '"')), 'topic in ["b"] and topic not in ["a", "\\""]'),
        (
            BlockFilter(not_services=("a", "b"), not_levels=("",)),
            (
                '(array_length(services) != 1 or not array_contains_any(services, ["a", "b"])) and '
                '(array_length(levels) != 1 or not array_contains_any(levels, [""]))'
            ),
        ),
        (BlockFilter(not_topics=("\ud800",), not_services=("\ud800",)), ""),
        (BlockFilter(spans=(OffsetSpan(3, 1 << 63, 1 << 63),)), None),
    ],
)
def test_a_filter_is_an_expression_or_nothing_when_no_block_can_pass(only: BlockFilter, expression: str | None) -> None:
    assert block_expression(only) == expression


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
