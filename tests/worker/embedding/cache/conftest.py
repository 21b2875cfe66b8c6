"""A Redis that tests of this room share: each writes under an embedding space of its own."""

from collections.abc import Iterator

import pytest

from tests.services.redis import open_redis


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a running server."""
    with open_redis() as url:
        yield url
