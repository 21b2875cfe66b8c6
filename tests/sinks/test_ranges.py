"""A range is read whole, in pages, by a backend that returns any rows of a span and no more than it was asked for."""

import random
from collections.abc import Callable

import pytest

from sinks.milvus.ranges import PAGE_ROWS, Enough, Span, read_all
from sinks.row import LineRow
from sinks.sink import never
from tests.sinks.rows import line

NAMES = ("offset", "sub", "chunk")
ALL = Enough(None, never)


def rows_of(offsets: int, subs: int = 1, chunks: int = 1, epochs: int = 1) -> list[LineRow]:
    return [
        line(offset, id=f"{offset}/{sub}/{chunk}/{epoch}", sub=sub, chunk=chunk)
        for offset in range(offsets)
        for sub in range(subs)
        for chunk in range(chunks)
        for epoch in range(epochs)
    ]


def reader(rows: list[LineRow], asked: list[int], order: Callable[[list[LineRow]], None]) -> Callable[[Span, int], list[LineRow]]:
    """Answer as Milvus does; the expression is read as Python, which it is too."""

    def read(span: Span, most: int) -> list[LineRow]:
        asks = compile(span.expression, "span", "eval")
        found = [row for row in rows if eval(asks, {"__builtins__": {}}, {name: getattr(row, name) for name in NAMES})]  # noqa: S307 (our own)
        order(found)
        asked.append(len(found[:most]))
        return found[:most]

    return read


SHAPES = {
    "one a record": rows_of(1_200),
    "one record of many entries": rows_of(1, 1_100),
    "one entry of many chunks": rows_of(1, 1, 1_100),
    "one chunk of many epochs": rows_of(1, 1, 1, 700),
    "all at once": [*rows_of(400), *rows_of(1, 600), *rows_of(1, 1, 600), *(line(3, id=f"z{number}") for number in range(600))],
}
ORDERS: dict[str, Callable[[list[LineRow]], None]] = {
    "ascending": lambda _found: None,
    "descending": list.reverse,
    "any": random.Random(7).shuffle,
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("rows", SHAPES.values(), ids=SHAPES)
def test_every_row_comes_once_whatever_rows_a_full_page_holds(rows: list[LineRow], order: Callable[[list[LineRow]], None]) -> None:
    asked: list[int] = []
    found, complete = read_all(reader(rows, asked, order), "True", 0, 1_500, ALL, about_rows=len(rows), page_rows=PAGE_ROWS)
    assert complete
    assert sorted(found) == sorted(rows)
    assert sum(asked) <= 4 * len(rows)


@pytest.mark.parametrize("most_rows", [0, 1, 500, 699])
@pytest.mark.parametrize("rows", SHAPES.values(), ids=SHAPES)
def test_a_bound_on_rows_is_one_on_what_is_read(rows: list[LineRow], most_rows: int) -> None:
    asked: list[int] = []
    enough = Enough(most_rows, never)
    read = reader(rows, asked, random.Random(7).shuffle)
    found, complete = read_all(read, "True", 0, 1_500, enough, about_rows=len(rows), page_rows=PAGE_ROWS)
    assert not complete
    assert len(set(found) & set(rows)) == len(found) == most_rows
    assert sum(asked) <= 1 + 8 * most_rows
    assert len(asked) <= 12


@pytest.mark.parametrize("rows", SHAPES.values(), ids=SHAPES)
def test_time_that_is_up_leaves_what_was_read(rows: list[LineRow]) -> None:
    asked: list[int] = []
    enough = Enough(None, lambda: len(asked) > 0)
    found, complete = read_all(reader(rows, asked, list.reverse), "True", 0, 1_500, enough, about_rows=1, page_rows=PAGE_ROWS)
    assert not complete
    assert len(set(found) & set(rows)) == len(found) == PAGE_ROWS
    assert asked == [PAGE_ROWS]


def test_a_range_that_is_wide_and_nearly_empty_takes_few_questions() -> None:
    asked: list[int] = []
    rows = [line(1 << 40)]
    read = reader(rows, asked, lambda _found: None)
    assert read_all(read, "True", 0, 1 << 60, ALL, about_rows=1 << 60, page_rows=PAGE_ROWS) == (rows, True)
    assert len(asked) == 100
