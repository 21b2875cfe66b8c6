"""What the tests of HTTP share: servers that end with their test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.worker.http.serving import Serving

Serve = Callable[..., Serving]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Make a server: `serve(concurrency=4, takes=False)`; nothing may have crashed but what the test takes out of `crashes`."""
    running: list[Serving] = []

    def make(**settings: Any) -> Serving:  # noqa: ANN401 - as Serving takes them
        running.append(Serving(**settings))
        return running[-1]

    yield make
    for serving in running:
        serving.close()
    assert [serving.crashes for serving in running] == [[]] * len(running)
