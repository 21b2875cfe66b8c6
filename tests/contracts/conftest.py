"""The sinks that most contracts run on, made and opened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sinks.sink import Sink
from tests.contracts.sinks import EACH_SINK, SINKS


@pytest.fixture(params=EACH_SINK)
def closed_sink(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    """A new sink of each kind, not open yet."""
    with SINKS[request.param](tmp_path, lambda: request.getfixturevalue("milvus")) as sink:
        yield sink
        sink.close()


@pytest.fixture
def sink(closed_sink: Sink) -> Sink:
    closed_sink.open()
    return closed_sink
