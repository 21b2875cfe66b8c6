"""The models that are installed with vectail, prepared once for all test runs (in `.cache/model`, which git ignores)."""

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from worker.embedding.model.folder import PLAIN
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.tokenizer import Tokenizer

CACHE = Path(__file__).parents[1] / ".cache" / "model"


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let one process of a run prepare models, so that the others find what it has made."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def prepared_model() -> PreparedModel:
    """The model of a new index, all-MiniLM-L6-v2-logs."""
    with one_at_a_time():
        return prepare_model(None, CACHE)


@pytest.fixture(scope="session")
def plain_model() -> PreparedModel:
    """The model that it was trained from, all-MiniLM-L6-v2."""
    with one_at_a_time():
        return prepare_model(None, CACHE, installed=PLAIN)


@pytest.fixture(scope="module")
def tokenizer(plain_model: PreparedModel) -> Iterator[Tokenizer]:
    """One that leaves texts as they are."""
    tokenizer = Tokenizer(plain_model)
    yield tokenizer
    tokenizer.close()


@pytest.fixture(scope="module")
def own(plain_model: PreparedModel) -> ReferenceTokenizer:
    """The model's own, which is always right."""
    return ReferenceTokenizer(plain_model.tokenizer_json.read_text(encoding="utf-8"))


def close_bindings_files() -> None:
    """llama-cpp-python opens /dev/null twice when it is imported and leaves it to the interpreter's end, which then warns."""
    opened = sys.modules.get("llama_cpp._utils")
    if opened is not None:
        opened.outnull_file.close()
        opened.errnull_file.close()
