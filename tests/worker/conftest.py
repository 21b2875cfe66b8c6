"""What tests of the worker share: a tokenizer, the steps in a row, and whole services on a broker of their own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.worker.chain import Chain
from tests.worker.running import World
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer

NewChain = Callable[..., Chain]


@pytest.fixture(scope="session")
def words(prepared_model: PreparedModel) -> Iterator[Tokenizer]:
    """The model's tokenizer, for the thread of the tests."""
    tokenizer = Tokenizer(prepared_model)
    yield tokenizer
    tokenizer.close()


@pytest.fixture
def new_chain(words: Tokenizer) -> NewChain:
    """Make a chain: `new_chain(max_chunks=2)`."""

    def make(**switches: Any) -> Chain:  # noqa: ANN401 - as Chain takes them
        return Chain(words, **switches)

    return make


@pytest.fixture
def chain(new_chain: NewChain) -> Chain:
    return new_chain()


@pytest.fixture
def world(prepared_model: PreparedModel, words: Tokenizer) -> Iterator[World]:
    """A broker, and what services need to run on it."""
    world = World(prepared_model, words)
    yield world
    world.close()
