"""The size of a record is the memory that Python needs for it."""

import tracemalloc

import pytest

from consumers.record import HEADER_BYTES, Header
from tests.consumers.records import record


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
