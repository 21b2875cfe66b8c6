"""The reference model computes BERT's formulas."""

from pathlib import Path

import numpy as np
import pytest

from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import read_folder
from worker.embedding.model.reference_model import ReferenceModel
from worker.embedding.model.weights import read_weights


def reference(folder: Path) -> ReferenceModel:
    return ReferenceModel(read_folder(folder), read_weights([folder / "model.safetensors"]))


def test_the_activation_matters_a_little(tmp_path: Path) -> None:
    exact, by_tanh = (reference(make_folder(tmp_path / name, Tiny(activation=name))) for name in ("gelu", "gelu_new"))
    ids = np.array([2, 40, 41, 42, 3], dtype=np.int32)
    assert 5e-5 < np.linalg.norm(exact.embed(ids) - by_tanh.embed(ids)) < 1e-2  # in float32 their cosine is 1


@pytest.mark.process
def test_weights_that_give_no_direction_are_refused(tmp_path: Path) -> None:
    folder = read_folder(make_folder(tmp_path / "tiny"))
    silent = {name: np.zeros_like(weight) for name, weight in read_weights(folder.weights).items()}
    with pytest.raises(ModelError, match=r"the weights in .*tiny give vectors of length 0\.0"):
        ReferenceModel(folder, silent).embed(np.array([2, 3], dtype=np.int32))
