"""The model that is installed with vectail, prepared once for all test runs (in `.cache/model`, which git ignores)."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.model.prepared import PreparedModel, prepare_model

CACHE = Path(__file__).parents[1] / ".cache" / "model"


@pytest.fixture(scope="session")
def prepared_model() -> Iterator[PreparedModel]:
    """The default model, all-MiniLM-L6-v2."""
    yield prepare_model(None, CACHE)
    _close_bindings_files()


def _close_bindings_files() -> None:
    """llama-cpp-python opens /dev/null twice when it is imported and leaves it to the interpreter's end, which then warns."""
    opened = sys.modules.get("llama_cpp._utils")
    if opened is not None:
        opened.outnull_file.close()
        opened.errnull_file.close()
