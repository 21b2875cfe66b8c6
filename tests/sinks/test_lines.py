"""Lines become columns and come back, and columns are cut, joined and ordered."""

import numpy as np

from sinks.block import BlockPlace, CodedColumn
from sinks.line import Line
from sinks.lines import (
    NO_LINES,
    all_lines,
    coded,
    cut_of,
    join_coded,
    join_lines,
    lines_between,
    lines_of,
    sorted_rows,
    take_lines,
)
from sinks.row import TemplateText

PLACE = BlockPlace("logs", "0a0b0c0d", 3)
LINES = [
    Line(*PLACE, 7, 0, 0, 1, "one", TemplateText("t1"), 1_000, 1_001, "sshd", "INFO", '{"a":1}', 0, 1),
    Line(*PLACE, 7, 1, 0, 2, "two", TemplateText("t2"), 900, 901, "", "", None, 2**64 - 1, 3),
    Line(*PLACE, 7, 1, 1, 2, "three", TemplateText("t1"), 900, 901, "cron", "WARN", None, 2**64 - 1, 3),
    Line(*PLACE, 2**62, 0, 0, 1, "", TemplateText(""), -5, 2**62, "sshd", "INFO", None, 0, 1),
]


def test_rows_are_taken_in_any_order_and_only_with_the_values_they_use() -> None:
    taken = take_lines(lines_of(LINES), np.array([2, 0]))
    assert all_lines(PLACE, taken) == [LINES[2], LINES[0]]
    assert (taken.service.values, taken.level.values, taken.template.values) == (("sshd", "cron"), ("INFO", "WARN"), ("t1",))
    assert take_lines(lines_of(LINES), np.array([], np.int64)).template.values == ()


def test_what_is_taken_shares_no_memory() -> None:
    columns = lines_of(LINES)
    taken = take_lines(columns, np.arange(4))
    assert not any(np.shares_memory(one, other) for one, other in zip(taken[:8], columns[:8], strict=True))
    assert not np.shares_memory(taken.template.codes, columns.template.codes)
    assert taken.text.buffers()[2].address != columns.text.buffers()[2].address


def test_rows_between_two_are_the_same_memory_with_the_values_they_use() -> None:
    columns = lines_of(LINES)
    between = lines_between(columns, 1, 3)
    assert all_lines(PLACE, between) == LINES[1:3]
    for column in (between.service, between.level, between.template):
        assert sorted(set(column.codes.tolist())) == list(range(len(column.values)))
    assert all(np.shares_memory(one, other) for one, other in zip(between[:8], columns[:8], strict=True))
    assert between.text.buffers()[2].address == columns.text.buffers()[2].address
    assert lines_between(columns, 0, 4) is columns
    assert all_lines(PLACE, lines_between(columns, 2, 2)) == []


def test_parts_are_joined_in_their_order() -> None:
    parts = [lines_of(LINES[:1]), lines_of(LINES[1:3]), NO_LINES, lines_of(LINES[3:])]
    joined = join_lines(parts)
    assert all_lines(PLACE, joined) == LINES
    assert joined.template.values == ("t1", "t2", "")
    assert join_lines([]).size == 0
    assert join_lines(parts[:1]) is parts[0]


def test_equal_dictionaries_are_joined_without_a_look_at_their_values() -> None:
    values = ("a", "b")
    joined = join_coded([CodedColumn(np.array([0, 1], np.int32), values), CodedColumn(np.array([1, 0], np.int32), values)])
    assert joined.values is values
    assert [joined.text(i) for i in range(4)] == ["a", "b", "b", "a"]


def test_values_are_coded_in_the_order_of_their_first_use() -> None:
    column = coded(["b", "a", "b", ""])
    assert (column.codes.tolist(), column.values) == ([0, 1, 0, 2], ("b", "a", ""))
    assert column.codes.dtype == np.int32


def test_rows_are_sorted_by_offset_then_entry_then_chunk() -> None:
    columns = lines_of([LINES[i] for i in (3, 2, 0, 1)])
    assert sorted_rows(columns).tolist() == [2, 3, 1, 0]
    assert sorted_rows(lines_of(LINES)).tolist() == [0, 1, 2, 3]
    assert sorted_rows(lines_of([LINES[0], LINES[3]])).tolist() == [0, 1]
    assert sorted_rows(lines_of([LINES[1], LINES[0]])).tolist() == [1, 0]
    assert sorted_rows(NO_LINES).tolist() == []


def test_a_cut_depends_on_where_the_text_is_cut() -> None:
    assert (cut_of([]), cut_of(["all of it"])) == (0, 0)
    cuts = {cut_of(["ab", "c"]), cut_of(["a", "bc"]), cut_of(["a", "b", "c"]), cut_of(["ab", "d"])}
    assert len(cuts) == 4
    assert all(0 < cut < 2**64 for cut in cuts)
    assert cut_of(["\ud800", "b"]) == cut_of(["?", "b"])
