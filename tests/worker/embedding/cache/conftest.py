"""A Redis that these tests share: each writes under its own embedding space."""

from collections.abc import Iterator

import pytest

from tests.services.shared import open_redis


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a running server."""
    with open_redis() as url:
        yield url
