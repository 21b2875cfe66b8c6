"""Batches are bounded by rows and by bytes, and are whole columns."""

import numpy as np
import pytest

from sinks.milvus.fields import lines_layout, templates_layout
from sinks.milvus.writing import BATCH_BYTES, BATCH_ROWS, line_batches, template_batches
from sinks.row import TEXT_BYTES, LineRow
from sinks.sink import SinkRejected
from tests.sinks.rows import DIM, line, template, unit

LINES = lines_layout("vectail")
TEMPLATES = templates_layout("vectail", DIM)


def test_columns_are_those_of_the_layout_in_its_order() -> None:
    (columns,) = line_batches([line(1), line(2)], LINES)
    assert LINES.names == (*LineRow._fields, "pad")
    assert [list(values) for values in columns[:-1]] == [list(values) for values in zip(line(1), line(2), strict=True)]
    assert np.shape(columns[-1]) == (2, 2)


def test_template_columns_carry_the_vectors_last() -> None:
    (columns,) = template_batches([template("a", unit(1.0), "one"), template("b", unit(0.0, 1.0), "two")], TEMPLATES)
    assert columns[:2] == (("a", "b"), ("one", "two"))
    assert np.array_equal(columns[2], np.stack([unit(1.0), unit(0.0, 1.0)]))


def test_an_id_stands_once_in_all_batches_together() -> None:
    batches = list(line_batches([line(1), *(line(offset) for offset in range(2, 3_000)), line(1, text="last")], LINES))
    ids = [one for columns in batches for one in columns[0]]
    assert len(ids) == len(set(ids)) == 2_999
    assert batches[0][2][0] == "last"


def test_no_batch_has_more_rows_than_the_bound() -> None:
    sizes = [len(columns[0]) for columns in line_batches([line(offset) for offset in range(2 * BATCH_ROWS + 1)], LINES)]
    assert sizes == [BATCH_ROWS, BATCH_ROWS, 1]


@pytest.mark.parametrize("text", ["x" * TEXT_BYTES, "é" * (TEXT_BYTES // 2)])
def test_no_batch_has_more_bytes_than_the_bound(text: str) -> None:
    batches = list(line_batches([line(offset, text=text) for offset in range(600)], LINES))
    sizes = [sum(len(str(one).encode()) for one in columns[2]) for columns in batches]
    assert sum(len(columns[0]) for columns in batches) == 600
    assert max(sizes) <= BATCH_BYTES
    assert len(batches) == 3


def test_vectors_count_as_bytes() -> None:
    dim = 1 << 20
    rows = [template(f"{number}", np.ones(dim, np.float32)) for number in range(5)]
    assert [len(columns[0]) for columns in template_batches(rows, templates_layout("vectail", dim))] == [3, 2]


def test_no_rows_are_no_batch() -> None:
    assert list(line_batches([], LINES)) == []
    assert list(template_batches([], TEMPLATES)) == []


def test_a_bad_row_is_named_before_any_batch_leaves_and_its_text_is_not_told() -> None:
    rows = [line(offset) for offset in range(3_000)]
    rows[2_999] = line(2_999, text="secret" * 20_000)
    with pytest.raises(SinkRejected) as error:
        next(line_batches(rows, LINES))
    assert str(error.value) == "row 'logs@0a0b0c0d/0/2999/0/0': text has 120000 bytes, its column takes 65535"


@pytest.mark.parametrize("value", [(1 << 31) - 1, -(1 << 31)])
def test_the_outermost_integers_fit(value: int) -> None:
    assert list(line_batches([line(1, partition=value)], LINES))
    with pytest.raises(SinkRejected, match="partition does not fit an int32"):
        list(line_batches([line(1, partition=value + (1 if value > 0 else -1))], LINES))
