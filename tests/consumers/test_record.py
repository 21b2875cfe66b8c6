"""A record's size is all that it brings along."""

import pytest

from consumers.record import Header
from tests.consumers.records import record


@pytest.mark.parametrize(
    ("key", "value", "headers", "size_bytes"),
    [
        (None, None, (), 0),
        (b"key", None, (), 3),
        (None, b"value", (), 5),
        (b"key", b"value", (("name", b"content"), ("none", None)), 23),
    ],
)
def test_key_value_and_headers_count(key: bytes | None, value: bytes | None, headers: tuple[Header, ...], size_bytes: int) -> None:
    assert record(key=key, value=value, headers=headers).size_bytes() == size_bytes
