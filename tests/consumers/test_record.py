"""The size of a record is the memory that Python needs for it; columns hold the same records."""

import tracemalloc

import numpy as np
import pytest

from consumers.record import HEADER_BYTES, Header, Record, records_of
from tests.consumers.records import LOGS_0, record


@pytest.mark.parametrize(
    ("key", "value", "headers", "size_bytes"),
    [
        (None, None, (), 0),
        (b"key", None, (), 3),
        (None, b"value", (), 5),
        (b"key", b"value", (("name", b"content"), ("none", None)), 23 + 2 * HEADER_BYTES),
    ],
)
def test_key_value_and_headers_count(key: bytes | None, value: bytes | None, headers: tuple[Header, ...], size_bytes: int) -> None:
    assert record(key=key, value=value, headers=headers).size_bytes() == size_bytes


def test_fifty_thousand_headers_count_as_what_they_take() -> None:
    tracemalloc.start()
    before_bytes, _ = tracemalloc.get_traced_memory()
    headers = tuple((f"name {n}", b"content %d" % n) for n in range(50_000))
    taken_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
    tracemalloc.stop()
    assert taken_bytes == pytest.approx(record(value=None, headers=headers).size_bytes(), rel=0.15)


MIXED = [
    record(3, b"a line")._replace(leader_epoch=4),
    record(7, None, key=b"key")._replace(leader_epoch=4),
    record(8, b"", headers=(("name", b"content"), ("none", None)))._replace(leader_epoch=5),
    record(20, b"another line", key=b"", headers=(("name", b""),)),
]
PLAIN = [record(offset, b"line %d" % offset) for offset in (1, 2, 5)]


@pytest.mark.parametrize("singles", [MIXED, PLAIN, MIXED[:1]], ids=["mixed", "plain", "one"])
def test_columns_hold_the_records_in_their_order_and_size(singles: list[Record]) -> None:
    columns = records_of(singles)
    assert (columns.size, columns.source) == (len(singles), LOGS_0)
    assert [columns.record(row) for row in range(columns.size)] == singles
    assert columns.sizes_bytes().tolist() == [one.size_bytes() for one in singles]


def test_columns_without_keys_and_headers_have_none() -> None:
    columns = records_of(PLAIN)
    assert (columns.key, columns.headers) == (None, None)


@pytest.mark.parametrize("singles", [MIXED, PLAIN], ids=["mixed", "plain"])
def test_a_range_and_a_choice_of_records_are_those_records(singles: list[Record]) -> None:
    columns = records_of(singles)
    part = columns.between(1, 3)
    assert (part.size, len(part.offset), len(part.time_ms)) == (2, 2, 2)
    assert [part.record(row) for row in range(part.size)] == singles[1:3]
    mask = np.arange(len(singles)) != 1
    chosen = columns.where(mask)
    assert [chosen.record(row) for row in range(chosen.size)] == [one for one, is_chosen in zip(singles, mask, strict=True) if is_chosen]


def test_chosen_records_are_copied_out_of_their_columns() -> None:
    columns = records_of(PLAIN)
    chosen = columns.where(np.array([True, False, True]))
    assert chosen.value is not columns.value
    assert not np.shares_memory(chosen.offset, columns.offset)
    assert not np.shares_memory(chosen.time_ms, columns.time_ms)
