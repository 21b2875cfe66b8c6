"""The model that is installed with vectail, prepared once for all test runs (in `.cache/model`, which git ignores)."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.tokenizer import Tokenizer

CACHE = Path(__file__).parents[1] / ".cache" / "model"


@pytest.fixture(scope="session")
def prepared_model() -> PreparedModel:
    """The default model, all-MiniLM-L6-v2."""
    return prepare_model(None, CACHE)


@pytest.fixture(scope="module")
def tokenizer(prepared_model: PreparedModel) -> Iterator[Tokenizer]:
    """What the service would use on one thread."""
    tokenizer = Tokenizer(prepared_model)
    yield tokenizer
    tokenizer.close()


@pytest.fixture(scope="module")
def own(prepared_model: PreparedModel) -> ReferenceTokenizer:
    """The model's own, which is always right."""
    return ReferenceTokenizer(prepared_model.tokenizer_json.read_text(encoding="utf-8"))


def close_bindings_files() -> None:
    """llama-cpp-python opens /dev/null twice when it is imported and leaves it to the interpreter's end, which then warns."""
    opened = sys.modules.get("llama_cpp._utils")
    if opened is not None:
        opened.outnull_file.close()
        opened.errnull_file.close()
