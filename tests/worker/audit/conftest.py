"""What tests of the accounts share: books that nobody has written into yet."""

from collections.abc import Iterator

import pytest

from tests.worker.audit.books import Books
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer


@pytest.fixture
def books(prepared_model: PreparedModel, words: Tokenizer) -> Iterator[Books]:
    books = Books(prepared_model, words)
    yield books
    books.mender.close()
