"""An embedding service for each test that asks for one."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.worker.serving.embeddings.embedding_server import EmbeddingServer
from worker.embedding.model.prepared import PreparedModel

NewServer = Callable[..., EmbeddingServer]


@pytest.fixture
def new_server(plain_model: PreparedModel) -> Iterator[NewServer]:
    """Make a server: `new_server({"max_wait_s": 1})`."""
    running: list[EmbeddingServer] = []

    def make(serve: dict[str, Any] | None = None, **tables: Any) -> EmbeddingServer:  # noqa: ANN401 - settings
        running.append(EmbeddingServer(plain_model, serve, **tables))
        return running[-1]

    yield make
    for server in running:
        server.close()


@pytest.fixture
def server(new_server: NewServer) -> EmbeddingServer:
    """One with the default settings."""
    return new_server()
