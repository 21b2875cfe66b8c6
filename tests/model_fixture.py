"""The model that is installed with vectail, prepared once for all test runs (in `.cache/model`, which git ignores)."""

from pathlib import Path

import pytest

from worker.model.prepared import PreparedModel, prepare_model

CACHE = Path(__file__).parents[1] / ".cache" / "model"


@pytest.fixture(scope="session")
def prepared_model() -> PreparedModel:
    """The default model, all-MiniLM-L6-v2."""
    return prepare_model(None, CACHE)
