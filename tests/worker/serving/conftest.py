"""Servers for the tests of HTTP; each ends with its test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.worker.serving.serving import Serving

Serve = Callable[..., Serving]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Make a server: `serve(takes=False)`. At the end `crashes` must be empty; a test removes those it expects."""
    running: list[Serving] = []

    def make(**settings: Any) -> Serving:  # noqa: ANN401 - as Serving takes them
        running.append(Serving(**settings))
        return running[-1]

    yield make
    for serving in running:
        serving.close()
    assert [serving.crashes for serving in running] == [[]] * len(running)
