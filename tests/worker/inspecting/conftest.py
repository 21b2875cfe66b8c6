"""An empty index to audit."""

from collections.abc import Iterator

import pytest

from tests.worker.inspecting.audited_index import AuditedIndex
from tests.worker.inspecting.replay_desk import Desk
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer


@pytest.fixture
def audited(prepared_model: PreparedModel, words: Tokenizer) -> Iterator[AuditedIndex]:
    audited = AuditedIndex(prepared_model, words)
    yield audited
    audited.repairer.close()


@pytest.fixture
def desk(audited: AuditedIndex) -> Desk:
    return Desk(audited)
